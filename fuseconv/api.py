"""The conversion, from a model on disk to a .tflite file and a report."""

from __future__ import annotations

import gc
import io
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from fuseconv.errors import InputError, UnsupportedError
from fuseconv.fuse.body_check import MODES as CHECK_MODES
from fuseconv.fuse.body_check import BodyCheck
from fuseconv.fuse.engine import report_unknown_ops
from fuseconv.fuse.plugins import load_registry
from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check
from fuseconv.load import load
from fuseconv.load.node_def import node_def
from fuseconv.load.op_defs import op_names
from fuseconv.lower.engine.custom import CustomOps
from fuseconv.pass_manager import Context, PassManager, check_names, insert
from fuseconv.pipeline import BODY_CHECK, CONVERT
from fuseconv.report.records import Report
from fuseconv.transforms.loops.unroll_policy import MODES as RNN_MODES
from fuseconv.transforms.loops.unroll_policy import UnrollPolicy
from fuseconv.transforms.rnn.persist_states import MODES as STATE_MODES
from fuseconv.write.flatbuffer import to_bytes, write
from fuseconv.write.target import replacing, target

# What `rnn` other than "fused" does without.
RECURRENT = frozenset({
    "BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN", "LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM",
    "UNIDIRECTIONAL_SEQUENCE_RNN",
})  # fmt: skip


@dataclass(frozen=True)
class Conversion:
    """What `convert` returns: the report, and the file's path if one was asked for, else its bytes."""

    report: Report
    path: Path | None = None
    data: bytes | None = None


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Leaves garbage until the end: there is little, and in a graph of small objects that refer to each other, Python's
    search for it takes up to a third of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@_collector_paused()
def convert(
    model: str | os.PathLike,
    out: str | os.PathLike | None = None,
    *,
    signatures: Sequence[str] = (),
    tags: Sequence[str] = (),
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    input_shapes: Mapping[str, Sequence[int | None]] | None = None,
    batch_size: int | None = None,
    plugins: Sequence[str | os.PathLike] = (),
    fuse: Sequence[str] = (),
    no_fuse: Sequence[str] = (),
    verify_fusions: str = "auto",
    rnn: str = "fused",
    rnn_state: str = "written",
    trust_model: bool = False,
    allow_custom_ops: bool = False,
    custom_ops: Sequence[str] = (),
    select_tf_ops: bool = False,
    downcast_float64: bool = False,
    explain: bool = False,
    verify_each: bool | None = None,
    print_ir_before: Sequence[str] = (),
    print_ir_after: Sequence[str] = (),
    progress: Callable[[str], None] | None = None,
) -> Conversion:
    """Converts a SavedModel directory, a Keras file (.h5, .hdf5, .keras) or a frozen GraphDef (.pb) to TFLite.

    signatures: the signatures to convert, each to a subgraph (default: every distinct one). tags: those of the meta
    graph. inputs, outputs: names of a frozen graph's tensors. input_shapes: shapes of inputs by name, None for a
    dimension that stays dynamic; batch_size: the size of every unknown first dimension. plugins: converter modules
    (files or module names) besides the built-in ones. fuse, no_fuse: globs of the fusions to make, and not to make.
    verify_fusions: "always" runs the body of each annotated function that is fused, and what it is fused to, on random
    operands, and refuses fusions that compute something else; "auto" does so for up to a second; "never" trusts the
    annotations. rnn: "fused" makes fused ops of recurrent layers that have a kernel, and loops of the others, unrolled
    where that is faster; "loop", "unroll" and "auto" (whichever is faster) make no fused ones. rnn_state: "written"
    lets the file write the first states of recurrent ops on every invoke; "variable" leaves states of zeros to the
    runtime, which clears them in reset_all_variables only. trust_model: load Lambda layers, which run the model's code.
    allow_custom_ops: write every op that has no rule as a custom one; custom_ops: only these. select_tf_ops: let the
    Flex delegate run those that it knows. downcast_float64: compute in float32 what the model computes in float64.
    explain: record what matches a fusion's pattern but for one thing. verify_each: verify the IR after each pass, and
    the facts that passes require and ensure. print_ir_before, print_ir_after: names of passes, or "all", around which
    the IR is printed to standard error. progress: called with the name of each stage as
    it starts.

    Raises InputError for what cannot be read, UnsupportedError for what cannot be converted. Nothing is written then.
    """
    _check_lists(
        signatures=signatures, tags=tags, inputs=inputs, outputs=outputs, plugins=plugins, fuse=fuse, no_fuse=no_fuse,
        custom_ops=custom_ops, print_ir_before=print_ir_before, print_ir_after=print_ir_after,
    )
    _check_choice("verify_fusions", verify_fusions, CHECK_MODES)
    _check_choice("rnn", rnn, RNN_MODES)
    _check_choice("rnn_state", rnn_state, STATE_MODES)
    report = Report(os.fspath(model))
    file = None if out is None else target(out, model, "--output")
    registry = load_registry(plugins)
    fusions = registry.choose_fusions(fuse, no_fuse, report)
    if rnn != "fused":
        fusions = [fusion for fusion in fusions if fusion.emits not in RECURRENT]
    body_check = BodyCheck(verify_fusions, lambda small: _small_file(small, registry))
    context = Context(Module(), report, {
        "input_shapes": input_shapes or {}, "batch_size": batch_size, "downcasts": downcast_float64,
        "fusions": fusions, "rules": registry.rules, "body_check": body_check, "explain": explain, "rnn": rnn,
        "rnn_state": rnn_state, "unroll_policy": UnrollPolicy(rnn),
        "custom": CustomOps(custom_ops, allow_custom_ops, node_def if select_tf_ops else None),
    })  # fmt: skip
    pipeline = reduce(insert, registry.passes, CONVERT)
    check_names((*print_ir_before, *print_ir_after), pipeline)
    manager = PassManager(
        context, verify_each=verify_each, print_before=print_ir_before, print_after=print_ir_after, stream=sys.stderr,
        progress=progress,
    )  # fmt: skip
    try:
        with manager.stage("load"):
            context.module = load(
                model, signatures=signatures, tags=tags, inputs=inputs, outputs=outputs, trust_model=trust_model,
                custom_objects=registry.custom_objects, warn=report.warnings.append,
            )  # fmt: skip
            report_unknown_ops(context.module, fusions, registry.rules, op_names, report, explain)
        manager.run(pipeline)
        report.warnings += filter(None, [body_check.warning()])
        with manager.stage("write"):
            check(context.module)
            report.finish(context.module)
            data = _write(context.module, report, file)
        report.output = "" if out is None else os.fspath(out)
        return Conversion(report, None if out is None else Path(out), data)
    except UnsupportedError as error:
        error.report = report
        raise


def _small_file(module: Module, registry: Registry) -> bytes:
    """Return the file of a module that holds one composite: all calls inlined, nothing fused."""
    PassManager(Context(module, Report(), {"rules": registry.rules, "custom": CustomOps()})).run(BODY_CHECK)
    return to_bytes(module)


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that an option does not have."""
    if value not in choices:
        raise InputError(f"{name} is one of {', '.join(choices)}, not {value!r}")


def _check_lists(**options: Sequence[str | os.PathLike]) -> None:
    """Refuses one text in place of a list, which would be taken letter by letter."""
    for name, value in options.items():
        if isinstance(value, (str, bytes, os.PathLike)):
            raise InputError(f"{name} takes a list: write [{os.fspath(value)!r}]")


def _write(module: Module, report: Report, file: Path | None) -> bytes | None:
    """Writes the file, or returns its bytes if there is to be none."""
    if file is None:
        buffer = io.BytesIO()
        write(module, buffer)
        report.output_bytes = buffer.tell()
        return buffer.getvalue()
    try:
        with replacing(file) as stream:
            write(module, stream)
            report.output_bytes = stream.tell()
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror or error}; choose another --output") from error
    return None
