"""The conversion, from a model on disk to a .tflite file and a report."""

from __future__ import annotations

import gc
import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from fuseconv.errors import FuseconvError, InputError, UnsupportedError
from fuseconv.fuse.body_check import MODES, BodyCheck
from fuseconv.fuse.composites import fuse_composites
from fuseconv.fuse.engine import fuse_patterns, report_unknown_ops
from fuseconv.fuse.plugins import load_registry
from fuseconv.fuse.registry import Registry
from fuseconv.ir.budget import Budget, limited, parse_size, size_on_disk
from fuseconv.ir.graph import Module
from fuseconv.ir.verifier import check
from fuseconv.load import load
from fuseconv.load.node_def import node_def
from fuseconv.load.op_defs import op_names
from fuseconv.lower.custom import CustomOps
from fuseconv.lower.lower import lower
from fuseconv.passes.block_lstm import express_block_lstms
from fuseconv.passes.control_flow import has_known_branch, prune_control_flow, take_known_branches
from fuseconv.passes.countdowns import count_up
from fuseconv.passes.dead_state import remove_dead_state
from fuseconv.passes.downcast import downcast
from fuseconv.passes.float64 import express_float64
from fuseconv.passes.freeze import freeze
from fuseconv.passes.functionalise import functionalise
from fuseconv.passes.inline import dissolve, implements, inline
from fuseconv.passes.inputs import fix_shapes
from fuseconv.passes.layout import move_outwards
from fuseconv.passes.loops import MODES as RNN_MODES
from fuseconv.passes.loops import improve_loops
from fuseconv.passes.remapped import express_remapped
from fuseconv.passes.rows import take_early
from fuseconv.passes.seeds import express_seeds
from fuseconv.passes.shapes import first_contradiction
from fuseconv.passes.simplify import simplify
from fuseconv.passes.staircases import express_staircases
from fuseconv.passes.state import express_state, initialise
from fuseconv.passes.tables import express_tables
from fuseconv.passes.tensor_arrays import express_arrays
from fuseconv.passes.tensor_lists import express_lists, state_elements
from fuseconv.passes.tidy import tidy
from fuseconv.passes.together import take_together
from fuseconv.passes.uniform import read_numbers
from fuseconv.passes.xla import name_reducers
from fuseconv.recognise.bidirectional import pair_directions
from fuseconv.recognise.raise_loops import raise_loops
from fuseconv.recognise.states import MODES as STATE_MODES
from fuseconv.recognise.states import keep_states
from fuseconv.report.defects import defect
from fuseconv.report.records import Report
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
    follow_links: bool = False,
    allow_custom_ops: bool = False,
    custom_ops: Sequence[str] = (),
    select_tf_ops: bool = False,
    downcast_float64: bool = False,
    max_constant_bytes: int | str | None = None,
    explain: bool = False,
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
    follow_links: read files of a SavedModel that are links out of its directory, as caches of models have them.
    allow_custom_ops: write every op that has no rule as a custom one; custom_ops: only these. select_tf_ops: let the
    Flex delegate run those that it knows. downcast_float64: compute in float32 what the model computes in float64.
    max_constant_bytes: what all constants may take that the model holds or that are made from it, in bytes or as "2G"
    (default: 16 times the model's size on disk, at least 256 MB). explain: record what matches a fusion's pattern but
    for one thing. progress: called with the name of each stage as it starts.

    Raises InputError for what cannot be read, UnsupportedError for what cannot be converted, DefectError where fuseconv
    itself fails. Nothing is written then.
    """
    _check_lists(
        signatures=signatures, tags=tags, inputs=inputs, outputs=outputs, plugins=plugins, fuse=fuse, no_fuse=no_fuse,
        custom_ops=custom_ops,
    )
    budget = Budget(
        size_on_disk(Path(model)), None if max_constant_bytes is None else parse_size(max_constant_bytes)
    )
    report = Report(os.fspath(model))
    file = None if out is None else target(out, model, "--output")
    registry = load_registry(plugins)
    fusions = registry.choose_fusions(fuse, no_fuse, report)
    if verify_fusions not in MODES:
        raise InputError(f"verify_fusions is one of {', '.join(MODES)}, not {verify_fusions!r}")
    if rnn not in RNN_MODES:
        raise InputError(f"rnn is one of {', '.join(RNN_MODES)}, not {rnn!r}")
    if rnn != "fused":
        fusions = [fusion for fusion in fusions if fusion.emits not in RECURRENT]
    if rnn_state not in STATE_MODES:
        raise InputError(f"rnn_state is one of {', '.join(STATE_MODES)}, not {rnn_state!r}")
    body_check = BodyCheck(verify_fusions, lambda small: _small_file(small, registry))
    custom = CustomOps(custom_ops, allow_custom_ops, node_def if select_tf_ops else None)

    @contextmanager
    def stage(name: str) -> Iterator[None]:
        if progress:
            progress(name)
        with report.stage(name):
            yield

    module = Module()
    with limited(budget), closing(body_check), _reporting(report, lambda: module):
        with stage("load"):
            module = load(
                model, signatures=signatures, tags=tags, inputs=inputs, outputs=outputs, trust_model=trust_model,
                follow_links=follow_links, custom_objects=registry.custom_objects, warn=report.warnings.append,
            )  # fmt: skip
            report_unknown_ops(module, fusions, registry.rules, op_names, report, explain)
            fix_shapes(module, input_shapes or {}, batch_size)
            if downcast_float64:
                downcast(module, report)
        with stage("simplify"):
            inline(module, report, keep=implements)
            with report.rewriting(module, "control flow", "its loop, branch, array or variable takes another form"):
                functionalise(module, report)
                take_known_branches(module, report)
                express_arrays(module, report)
                express_remapped(module)
                name_reducers(module)
                express_block_lstms(module)
                freeze(module, report)
                express_state(module, report)
                express_tables(module)
                express_seeds(module, report)
                remove_dead_state(module, report)
                prune_control_flow(module, report)
                simplify(module, report)
                while has_known_branch(module):
                    # What it makes may be what another depends on.
                    prune_control_flow(module, report)
                    simplify(module, report)
            if express_float64(module, report) | express_staircases(module, report):
                simplify(module, report)
        with stage("fuse"), report.rewriting(module, "control flow", "its loop or branch takes another form"):
            if module.functions:
                # Composites.
                pair_directions(module, fusions)
                fuse_composites(module, fusions, report, body_check)
                dissolve(module, report)
                simplify(module, report)
                prune_control_flow(module, report)
            if count_up(module):
                prune_control_flow(module, report)
                simplify(module, report)
            while module.functions and state_elements(module):
                simplify(module, report)
            if rnn == "fused":
                raise_loops(module, report)
            if module.functions:
                # Loops that are found to be composites.
                simplify(module, report)
                pair_directions(module, fusions)
                fuse_composites(module, fusions, report, body_check)
                dissolve(module, report)
                simplify(module, report)
            report.warnings += filter(None, [body_check.warning()])
            kept = keep_states(module, report, rnn_state)
            express_lists(module, report)
            if module.functions:
                # Loops and branches.
                prune_control_flow(module, report)
                simplify(module, report)
                improve_loops(module, report, rnn)
            if read_numbers(module, report):
                simplify(module, report)
            if fuse_patterns(module, fusions, report, "tf", explain) or kept or module.functions:
                simplify(module, report)
        with stage("lower"):
            initialise(module, report)
            lower(module, registry.rules, report, custom)
            fuse_patterns(module, fusions, report, "tfl", explain)
            if take_together(module) | move_outwards(module, report):
                fuse_patterns(module, fusions, report, "tfl", explain)
            take_early(module, report)
            tidy(module, report)
        with stage("write"):
            check(module)
            report.finish(module)
            data = _write(module, report, file)
        report.output = "" if out is None else os.fspath(out)
        return Conversion(report, None if out is None else Path(out), data)


@contextmanager
def _reporting(report: Report, module: Callable[[], Module]) -> Iterator[None]:
    """Give an UnsupportedError the report, which tells how far the conversion came. What nobody expected is told of a
    node of the model that contradicts itself, if there is one, else as a defect."""
    try:
        yield
    except UnsupportedError as error:
        error.report = report
        raise
    except (FuseconvError, MemoryError, OSError):
        raise
    except OverflowError as error:
        raise InputError(f"the model has a number or size that TFLite's 32 bits do not hold: {error}") from error
    except RecursionError as error:
        raise InputError("the model nests functions, loops or attributes too deeply; flatten what is nested") from error
    except Exception as error:
        why = first_contradiction(module())
        raise (InputError(why) if why else defect(error)) from error


def _check_lists(**options: Sequence[str | os.PathLike]) -> None:
    """Refuses one text in place of a list, which would be taken letter by letter."""
    for name, value in options.items():
        if isinstance(value, (str, bytes, os.PathLike)):
            raise InputError(f"{name} takes a list: write [{os.fspath(value)!r}]")


def _small_file(module: Module, registry: Registry) -> bytes:
    """The file of a module that holds one composite, all calls inlined and nothing fused."""
    report = Report()
    inline(module, report)
    prune_control_flow(module, report)
    simplify(module, report)
    express_lists(module, report)
    prune_control_flow(module, report)
    simplify(module, report)
    lower(module, registry.rules, report)
    tidy(module, report)
    return to_bytes(module)


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
        # The file may have its name for the time being only.
        why = f"cannot write into {file.parent}: {error.strerror or error}"
        raise InputError(f"{why}; choose another --output") from error
    return None
