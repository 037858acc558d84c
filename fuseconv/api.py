"""The conversion, from a model on disk to a .tflite file and a report."""

from __future__ import annotations

import io
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fuseconv.arguments import checked_arguments
from fuseconv.collector import collector_paused
from fuseconv.errors import FuseconvError, InputError, UnsupportedError, needing_packages
from fuseconv.files import MODEL_SUFFIXES, tflite_contents
from fuseconv.fuse.body_check import BodyCheck
from fuseconv.fuse.match import Fusion
from fuseconv.fuse.misfits import report_misfits
from fuseconv.fuse.numeric_check import NumericCheck
from fuseconv.fuse.outline_composites import COMPOSITE, choose_composites, taken_by
from fuseconv.fuse.pattern_check import PatternCheck
from fuseconv.fuse.plugins import load_registry
from fuseconv.fuse.registry import Registry
from fuseconv.ir.budget import limited, size_on_disk
from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check
from fuseconv.load import load
from fuseconv.load.live import Source, is_path, model_name, opened
from fuseconv.load.node_def import node_def
from fuseconv.load.op_defs import op_names, operand_count
from fuseconv.load.stablehlo.exported import ExportedModel, exported_model, is_exported
from fuseconv.lower.engine.custom import CustomOps
from fuseconv.options import Options, QuantizeOptions
from fuseconv.pass_manager import Context, PassManager, check_names, insert
from fuseconv.pipeline import BODY_CHECK, CONVERT, QUANTIZE_FILE
from fuseconv.quantize import MEASURED, QUANTIZATIONS
from fuseconv.quantize.calibrate import MINMAX
from fuseconv.quantize.existing import all_quantized, computes_floats, quantized_ops
from fuseconv.quantize.io_types import FLOAT
from fuseconv.report.defects import defect
from fuseconv.report.micro import head
from fuseconv.report.records import Report
from fuseconv.targets.target import Target
from fuseconv.tf.shape_functions import first_contradiction
from fuseconv.tfl.traits import FUSED_RECURRENT
from fuseconv.transforms.loops.unroll_policy import UnrollPolicy
from fuseconv.write.buffer_data import size
from fuseconv.write.c_array import become_c_array, is_c_array
from fuseconv.write.flatbuffer_export import to_bytes, write
from fuseconv.write.output_file import atomic_write, resolve_model, temporary_path

if TYPE_CHECKING:
    from fuseconv.quantize.samples import Sample

# What `rnn` other than "fused" does without.
RECURRENT = frozenset({*FUSED_RECURRENT, "LSTM"})
# What has no integer kernel, by what is computed with: its layers become other fused ops, or loops.
FLOAT_RECURRENT = {"int8": RECURRENT - {"UNIDIRECTIONAL_SEQUENCE_LSTM"}, "int16x8": RECURRENT}


@dataclass(frozen=True, repr=False)
class Conversion:
    """What `convert` returns: the report, the file's path or its bytes, and some of the calibration samples."""

    report: Report
    path: Path | None = None
    data: bytes | None = None
    samples: Sequence[Sample] = ()

    def __repr__(self) -> str:
        where = f"{len(self.data)} bytes" if self.data is not None else f"{self.path}"
        warned = f", {len(self.report.warnings)} warnings" if self.report.warnings else ""
        return f"<Conversion of {self.report.model}: {len(self.report.emitted)} ops, {where}{warned}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the line of `repr`, a table of the ops by type, and the warnings."""
        from html import escape  # and only a notebook needs the tables that come with it

        counts = Counter(op.type for op in self.report.emitted).most_common()
        rows = "".join(f"<tr><td>{escape(name)}</td><td>{count}</td></tr>" for name, count in counts)
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in self.report.warnings)
        table = f"<table><thead><tr><th>Op</th><th>Count</th></tr></thead><tbody>{rows}</tbody></table>"
        return f"<p>{escape(repr(self)[1:-1])}</p>{table}" + (f"<ul>{warnings}</ul>" if warnings else "")


@checked_arguments
def convert(
    model: Any,
    out: str | os.PathLike | None = None,
    *,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    input_shapes: Mapping[str, Sequence[int | None]] | str | Sequence[str | int | None] | None = None,
    batch_size: int | None = None,
    input_ranges: Mapping[str, Sequence[int]] | str | Sequence[str] | None = None,
    plugins: Sequence[str | os.PathLike] = (),
    fuse: Sequence[str] = (),
    no_fuse: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    verify_fusions: str = "auto",
    rnn: str = "fused",
    rnn_state: str = "written",
    target: str | None = None,
    composites: Sequence[str] = (),
    trust_model: bool = False,
    keras_loader: str = "auto",
    follow_links: bool = False,
    allow_custom_ops: bool = False,
    custom_ops: Sequence[str] = (),
    select_tf_ops: bool = False,
    downcast_float64: bool = False,
    quantize: str | None = None,
    calibration_data: str | os.PathLike | Iterable[Sample] | Mapping[str, Any] | None = None,
    calibration_samples: int | None = None,
    image_mean: float | Sequence[float] | None = None,
    image_scale: float | Sequence[float] | None = None,
    calibrate: str = MINMAX,
    block_size: int | None = None,
    io_types: str = FLOAT,
    no_quantize: Sequence[str] = (),
    quantize_only: Sequence[str] = (),
    compare_quantized: bool = False,
    keep_float_under: float | None = None,
    plan_arena: bool = False,
    strip_names: bool = False,
    max_constant_bytes: int | str | None = None,
    explain: bool = False,
    source_graph: bool = False,
    verify_each: bool | None = None,
    print_ir_before: Sequence[str] = (),
    print_ir_after: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Conversion:
    """Convert a SavedModel directory, a Keras file (.h5, .hdf5, .keras), a frozen GraphDef (.pb), a StableHLO module
    (.mlirbc, .mlir of bytecode) or a model that lives in this process to TFLite.

    model: a path; a Keras model; a tf.function, a ConcreteFunction, a list of some, or a dict of some by the names of
    signatures; a tf.Module or loaded SavedModel; a GraphDef; a jax.export.Exported; or what has a method
    export(directory). out: the file; None returns its bytes. `fuseconv.Options` tells of all other arguments.

    Raises InputError for what cannot be read, UnsupportedError for what cannot be converted, DefectError where fuseconv
    itself fails. Nothing is written then.
    """
    return _trace_and_convert(model, out, Options.of(locals()), progress)


def _trace_and_convert(
    model: Any, out: str | os.PathLike | None, options: Options, progress: Callable[[str], None] | None
) -> Conversion:
    """Convert a model, which TensorFlow traces first if it lives in this process."""
    options.check()
    file = None if out is None else resolve_model(out, model if is_path(model) else None)
    report = Report(model_name(model), graph=options.source_graph, **_for_micro(options, out))
    with ExitStack() as stack:
        if is_path(model):
            source: Source | ExportedModel = Path(model)
        elif is_exported(model):
            source = exported_model(model)
        else:
            if progress:
                progress("trace")
            with report.stage("trace"):
                source = stack.enter_context(opened(model))
        return _convert(source, report, out, file, options, progress)


@collector_paused()
def _convert(
    source: Source | ExportedModel,
    report: Report,
    out: str | os.PathLike | None,
    file: Path | None,
    options: Options,
    progress: Callable[[str], None] | None,
) -> Conversion:
    """Convert a model that `opened` has made a source of: load -> the passes of CONVERT -> the file, or its bytes."""
    budget = options.budget(
        lambda: size_on_disk(source, options.follow_links) if isinstance(source, Path) else source.size
    )
    described = _described(options.metadata) if options.metadata else None
    registry = load_registry(options.plugins)
    report.warnings += registry.warnings
    given = options
    target = None if options.target is None else registry.target(options.target)
    if target is not None:
        options = options.aimed_at(target)
        report.plans_arena |= target.is_whole
    fusions = _choose_fusions(options, registry, target, report)
    pipeline = reduce(insert, registry.passes, CONVERT)
    check_names([*options.print_ir_before, *options.print_ir_after], pipeline)
    checks = NumericCheck(options.verify_fusions, lambda small: _small_file(small, registry))
    context = Context(Module(), report, _pass_options(options, registry, fusions, checks, target))
    manager = _manager(context, options, progress)
    with limited(budget), closing(checks), _reporting(context), registry.offering():
        with manager.stage("load"):
            context.module = load(
                source, signatures=options.signatures, tags=options.tags, inputs=options.inputs,
                outputs=options.outputs, trust_model=options.trust_model, follow_links=options.follow_links,
                custom_objects=registry.custom_objects, keras_layers=registry.keras_layers,
                keras_loader=options.keras_loader, warn=report.warnings.append,
            )  # fmt: skip
            context.module.is_held = context.module.has_stablehlo
            if options.batch_size != given.batch_size and _has_open_batch(context.module):
                report.warnings.append(f"{options.target} wants known sizes: the batch is 1, or that of --batch-size")
            report_misfits(context.module, fusions, registry, op_names, operand_count, report, options.explain)
        manager.run(pipeline)
        if described is not None:
            described.attach(context.module)
        report.warnings += filter(None, [*context.pattern_check.warnings(), checks.warning(), *_told(options, report)])
        return _written(manager, out, file)


def _choose_fusions(options: Options, registry: Registry, target: Target | None, report: Report) -> list[Fusion]:
    """Choose fusions by the options, without those whose ops neither the target nor integers take. Recurrent layers
    that the target refuses become loops."""
    without = RECURRENT if options.rnn != "fused" else FLOAT_RECURRENT.get(options.quantize or "", frozenset())
    if target is not None and not target.on_cpu:
        without |= {type for type in RECURRENT if not target.knows(type)}
    if options.quantize in MEASURED:
        without |= {COMPOSITE}  # composites are of floats
    fusions = registry.choose_fusions(options.fuse, options.no_fuse, report)
    fusions = [fusion for fusion in fusions if fusion.emits not in without]
    return fusions if target is None or target.on_cpu else taken_by(target, fusions, RECURRENT)


@checked_arguments
def quantize_file(
    file: str | os.PathLike | bytes,
    out: str | os.PathLike | None = None,
    *,
    quantize: str,
    calibration_data: str | os.PathLike | Iterable[Sample] | Mapping[str, Any] | None = None,
    calibration_samples: int | None = None,
    image_mean: float | Sequence[float] | None = None,
    image_scale: float | Sequence[float] | None = None,
    calibrate: str = MINMAX,
    block_size: int | None = None,
    io_types: str = FLOAT,
    no_quantize: Sequence[str] = (),
    quantize_only: Sequence[str] = (),
    compare_quantized: bool = False,
    keep_float_under: float | None = None,
    plan_arena: bool = False,
    strip_names: bool = False,
    max_constant_bytes: int | str | None = None,
    verify_each: bool | None = None,
    print_ir_before: Sequence[str] = (),
    print_ir_after: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Conversion:
    """Quantize a .tflite file of floats, whoever made it, as `convert` does with the same options.

    file: its path, or its bytes. out: the file to write; None returns its bytes.
    What is quantized in the file already stays as it is, which a warning says. Of the report, `quantized` tells what
    became of each constant and op; there are no nodes of a model. With "int8" and "int16x8" the file runs in LiteRT.

    Raises InputError for what cannot be read, or has nothing left to quantize, UnsupportedError for ops that are not
    known, DefectError where fuseconv itself fails. Nothing is written then.
    """
    return _quantize_file(file, out, QuantizeOptions.of(locals()), progress)


@collector_paused()
def _quantize_file(
    file: str | os.PathLike | bytes,
    out: str | os.PathLike | None,
    options: QuantizeOptions,
    progress: Callable[[str], None] | None,
) -> Conversion:
    """Do as `quantize_file`: load a .tflite, run the passes of quantization, and write it."""
    from fuseconv.load.tflite.reader import module_of_bytes  # not every conversion loads what reads files

    options.check()
    if options.quantize is None:
        raise InputError(f"quantize is one of {', '.join(QUANTIZATIONS)}")
    if not isinstance(file, bytes) and (Path(file).is_dir() or Path(file).suffix.lower() in MODEL_SUFFIXES):
        how = f"fuseconv convert {file} --quantize {options.quantize}"
        kind = "a directory" if Path(file).is_dir() else "a model"
        raise InputError(f"{file} is {kind}, not a .tflite file: quantize a model as you convert it, {how}")
    settings = options.pass_options()
    contents, name = tflite_contents(file)
    budget = options.budget(lambda: len(contents))
    report = Report(name, **_for_micro(options, out))
    target = None if out is None else resolve_model(out, None if contents is file else name)
    check_names([*options.print_ir_before, *options.print_ir_after], QUANTIZE_FILE)
    fusions = load_registry().choose_fusions((), (), report)
    settings |= {"fusions": fusions, "explain": False, "target": None, "outlined": ()}
    context = Context(Module(), report, settings)
    context.calibration.size = budget.model_bytes
    manager = _manager(context, options, progress)
    with limited(budget), _reporting(context):
        with manager.stage("load"):
            context.module = module_of_bytes(contents, name)
        before = quantized_ops(context.module, options.quantize)
        if before and not computes_floats(context.module, options.quantize):
            raise all_quantized(report.model, before)  # and asks for no samples
        manager.run(QUANTIZE_FILE)
        report.warnings += _told(options, report, before)
        return _written(manager, out, target)


def _told(options: QuantizeOptions, report: Report, before: int = 0) -> list[str]:
    """Return warnings of what was quantized: nothing, or a part. before: how many ops of a file were already.

    Raises InputError if these are all that can be."""
    if options.quantize and all(item.type == "float32" for item in report.quantized):
        if before:
            raise all_quantized(report.model, before)
        return ["nothing was quantized"]
    return [f"quantized already, and left as they are: {before} of the file's ops"] if before else []


def _for_micro(options: QuantizeOptions, out: str | os.PathLike | None) -> dict[str, Any]:
    array = out is not None and is_c_array(Path(out))
    return {"plans_arena": options.plan_arena or array, "strips_names": options.strip_names or array}


def _manager(context: Context, options: QuantizeOptions, progress: Callable[[str], None] | None) -> PassManager:
    if progress:
        context.calibration.progress = lambda count: progress(f"quantize: sample {count}")
    return PassManager(
        context, verify_each=options.verify_each, print_before=options.print_ir_before,
        print_after=options.print_ir_after, stream=sys.stderr, progress=progress,
    )  # fmt: skip


def _written(manager: PassManager, out: str | os.PathLike | None, file: Path | None) -> Conversion:
    """Write the module of a conversion that came to its end. out, file: the path as it was given, and in full."""
    context = manager.context
    report = context.report
    if context.floats.reported:
        from fuseconv.quantize.op_errors import compare_ops  # not every conversion loads what runs files

        with manager.stage("compare"):
            report.compared = compare_ops(context.module, context.floats, context.calibration.samples, report)
    with manager.stage("write"):
        check(context.module)
        array = file if file is not None and is_c_array(file) else None
        with nullcontext(file) if array is None else temporary_path(array) as path:
            data = _write(context.module, report, path, manager.progress)
            if context.target is not None:
                _report_target(context.target, report, data, path)
            if path is not None and array is not None:
                with _writing_into(array.parent):
                    report.bytes_of_c = become_c_array(path, array.name, head(report))
    context.module.take_apart()
    report.output = "" if out is None else os.fspath(out)
    samples = [*context.calibration.first, *getattr(context.calibration.samples, "of_others", ())]
    return Conversion(report, None if out is None else Path(out), data, samples)


def _has_open_batch(module: Module) -> bool:
    """Return whether the first size of an input is not known."""
    inputs = [value for signature in module.signatures for value in signature.graph.inputs]
    return any(value.shape and not isinstance(value.shape[0], int) for value in inputs)


def _described(metadata: Mapping[str, Any]) -> Any:
    from fuseconv.write.model_metadata import ModelMetadata  # few models are described

    return ModelMetadata.of(metadata)


def _report_target(target: Target, report: Report, data: bytes | None, file: Path | None) -> None:
    """Report what a target makes of the file that was written, to `file` or as `data`."""
    from fuseconv.inspecting import check_contents, inspect  # not every conversion loads what reads files
    from fuseconv.targets.check import warnings

    if data is not None:
        report.target = check_contents(data, "the file", target)
    else:
        assert file is not None
        report.target = inspect(file, target)["target"]
    report.warnings += warnings(report.target)


def _pass_options(
    options: Options, registry: Registry, fusions: Sequence[Fusion], checks: NumericCheck, target: Target | None
) -> dict[str, Any]:
    """Return what passes may name as parameters. No loop is left that the target would leave to another processor."""
    loops = target is None or target.on_cpu or target.knows("WHILE") or options.rnn != "fused"
    fusions, outlined = choose_composites(fusions, options.composites, target)
    return {
        **options.pass_options(), "fusions": fusions, "rules": registry.rules,
        "body_check": BodyCheck(checks), "pattern_check": PatternCheck(checks),
        "unroll_policy": UnrollPolicy(options.rnn if loops else "unroll"), "target": target, "outlined": outlined,
        "custom": CustomOps(options.custom_ops, options.allow_custom_ops, options.select_tf_ops, node_def),
    }  # fmt: skip


@contextmanager
def _reporting(context: Context) -> Iterator[None]:
    """Give an UnsupportedError the report, which tells how far the conversion came. An unexpected error is told of a
    node of the model that contradicts itself, if there is one, else as a defect."""
    try:
        with needing_packages("this model"):
            yield
    except UnsupportedError as error:
        error.report = context.report
        raise
    except (FuseconvError, MemoryError, OSError):
        raise
    except OverflowError as error:
        raise InputError(f"the model has a number or size that TFLite's 32 bits do not hold: {error}") from error
    except RecursionError as error:
        raise InputError("the model nests functions, loops or attributes too deeply; flatten what is nested") from error
    except Exception as error:
        why = first_contradiction(context.module)
        raise (InputError(why) if why else defect(error)) from error


def _small_file(module: Module, registry: Registry) -> bytes:
    """Make the file of a module that holds one composite, for a body check: all calls inlined, nothing fused."""
    PassManager(Context(module, Report(), {"rules": registry.rules, "custom": CustomOps()})).run(BODY_CHECK)
    return to_bytes(module)


@contextmanager
def _writing_into(folder: Path) -> Iterator[None]:
    """Say where it is that a file cannot be written, whose name may be one for the time being only."""
    try:
        yield
    except OSError as error:
        why = f"cannot write into {folder}: {error.strerror or error}"
        raise InputError(f"{why}; choose another --output") from error


def _write(module: Module, report: Report, file: Path | None, progress: Callable[[str], None] | None) -> bytes | None:
    """Write the file, or return its bytes if there is to be none; the report tells of what it holds."""
    buffer = io.BytesIO()
    target = nullcontext(buffer) if file is None else atomic_write(file)
    with nullcontext() if file is None else _writing_into(file.parent), target as stream:
        told = (lambda part: progress(f"write {part:.0%}")) if progress else None
        names = not report.strips_names
        contents = write(module, stream, names=names, plans_arena=report.plans_arena, progress=told)
        report.bytes_of_names = contents.saved
        if module.files:
            from fuseconv.write.model_metadata import append_files

            append_files(stream, module.files)
        report.output_bytes = stream.tell()
    report.finish(module, contents.graphs, lambda value: (contents.buffers[value], size(value)))
    return buffer.getvalue() if file is None else None
