"""Numeric check of a fusion against the body of its composite: both run in the TFLite runtime on the same random
operands.

A name is no proof of what a function computes. The body, lowered as if there were no fusion, and the fused ops are each
written as a small model. Operands that are constant in the model keep their values, the others are drawn at several
scales (a clip shows on large numbers, a guard against division by zero on small ones), one invoke after the other in
one interpreter, so that state that leaks from one to the next shows as well. All runs in a child process: the body is
the model's, and a model may be anybody's.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fuseconv.errors import FuseconvError, UnsupportedError
from fuseconv.fuse import sampling
from fuseconv.fuse.isolation import ChildEnded, Failed, Sandbox
from fuseconv.fuse.match import Fusion, Match, Refused
from fuseconv.fuse.output_difference import Difference, NeverComparable, Unverifiable
from fuseconv.ir.dims import substitute_dim
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, copy_graph
from fuseconv.report.records import AGREES
from fuseconv.tf.composites import original
from fuseconv.tf.side_effects import bodies

MODES = ("auto", "always", "never")
BUDGET_SECONDS = 1.0
# How long a run is waited for, by the wall clock: a loop may never end.
_PATIENCE = {"auto": 5.0, "always": 120.0}

_SCALES = (1.0, 32.0, 256.0, 1 / 64)
# What a fusion draws itself is mostly chosen from, and a choice that another limit would make differs only at times.
_OWN_SCALES = _SCALES * 4
# Constants with no more elements than this may be limits or sizes.
_FEW_ELEMENTS = 64
# What a check was measured to cost: for each op of the body, each byte of the constants, each product of a run.
_SECONDS_PER_OP = 1.5e-4
_SECONDS_PER_BYTE = 1e-9
_SECONDS_PER_PRODUCT = 5e-11
# More elements than this are not drawn.
_MAX_DRAWN = 1 << 25

ToFile = Callable[[Module], bytes]
FuseAlone = Callable[[Fusion, Op, Graph, Module], Match]


class _Overtime(Exception):
    """The time is used up."""


@dataclass(frozen=True)
class _Verdict:
    agrees: bool
    why: str


class BodyCheck:
    """The checks of one conversion.

    mode: `auto` stops checking when a second is used up, or would be; `always` and `never` say themselves.
    to_file: lowers a small module and writes it. seconds: the time that is used up, as the processor counts it, so that
    a busy machine checks as much as an idle one. skipped: the fusions that time did not suffice for.
    """

    def __init__(self, mode: str, to_file: ToFile) -> None:
        self.mode = mode
        self.to_file = to_file
        self.seconds = 0.0
        self.skipped: list[str] = []
        self.sandbox = Sandbox()
        self._start = 0.0
        self._verdicts: dict[tuple, _Verdict | None] = {}

    def __call__(self, fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone) -> str:
        """Return a sentence on what was found, for the report. Raises Refused if body and fusion differ.

        op: the call of a composite, callee: the function that it calls; both stay as they are. Each function of the
        model is checked once for each fusion, however often it is called, unless the calls differ in what a check
        sees: results that are read, shapes, an operand that stands twice or is a constant."""
        if self.mode == "never":
            return ""
        key = fusion.name, original(callee), _seen(op)
        if key not in self._verdicts:
            self._verdicts[key] = self._judge_in_time(fusion, op, callee, module, fuse_alone)
        verdict = self._verdicts[key]
        if verdict is None:
            return "it was not checked against the body, which would take longer than a second in all"
        if not verdict.agrees:
            raise Refused(verdict.why)
        return verdict.why

    def warning(self) -> str:
        """Return the warning about checks that were skipped; empty if none was."""
        if not self.skipped:
            return ""
        first = ", ".join(self.skipped[:3]) + (" and others" if len(self.skipped) > 3 else "")
        return (
            f"{len(self.skipped)} fusions were not checked against the bodies that they replace ({first}), which would "
            f"take longer than {BUDGET_SECONDS:g} s in all; --verify-fusions always checks them"
        )

    def _judge_in_time(
        self, fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone
    ) -> _Verdict | None:
        """Return the verdict; None if there is no time for it."""
        constants = _constants(op, callee, module)
        self._start = self._clock() - self.seconds
        # The small models share the constants of the model, which must not know these readers.
        readers = {value: dict(value.uses) for value in constants}
        try:
            self._require_time(_estimate(op, callee, module, constants))
            return self._judge(fusion, op, callee, module, fuse_alone)
        except _Overtime:
            self.skipped.append(f"{fusion.name} of {original(callee)}")
            return None
        finally:
            self.sandbox.forget()
            for value, uses in readers.items():
                value.uses = uses
            self.seconds = self._clock() - self._start

    def _clock(self) -> float:
        """Return the CPU seconds that the processor has worked for this thread and for the sandbox."""
        return time.thread_time() + self.sandbox.seconds

    def close(self) -> None:
        """End the sandbox."""
        self.sandbox.close()

    def _has_time(self, seconds: float = 0.0) -> bool:
        return self.mode != "auto" or self._clock() - self._start + seconds <= BUDGET_SECONDS

    def _require_time(self, seconds: float = 0.0) -> None:
        if not self._has_time(seconds):
            raise _Overtime

    def _judge(self, fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone) -> _Verdict:
        reasons: list[str] = []
        for sizes in sampling.sizes(op):
            self._require_time()
            try:
                alone, body = _alone(op, module, sizes), _alone(op, module, sizes)
                difference = self._compare(fusion, alone, body, callee, fuse_alone)
                break
            except NeverComparable as hopeless:
                return _Verdict(True, f"it cannot be verified: {hopeless}")
            except Unverifiable as unverifiable:
                reasons.append(str(unverifiable))
        else:
            return _Verdict(True, f"it cannot be verified: {reasons[0]}")
        if difference.why:
            return _Verdict(False, f"the body computes something else than the fused op: {difference.why}")
        return _Verdict(True, f"{AGREES} to {difference.largest:.1e}")

    def _compare(
        self, fusion: Fusion, alone: Module, body: Module, callee: Graph, fuse_alone: FuseAlone
    ) -> Difference:
        try:
            match = fuse_alone(fusion, alone.signatures[0].graph.ops[0], callee, alone)
        except Refused as refusal:
            raise Unverifiable(f"with small sizes for the unknown ones it is not made: {refusal}") from refusal
        specs = [(value.name, value.dtype, value.shape) for value in body.signatures[0].graph.inputs]
        fused_file, body_file = self._file(alone, "the fused op"), self._file(body, "the body")
        if not _depends_on_inputs(body.signatures[0].graph):
            raise NeverComparable("the body is a placeholder, its results are constant")
        patience = _PATIENCE[self.mode]
        runners = (
            _Runner(self.sandbox, alone, fused_file, "the fused op", patience),
            _Runner(self.sandbox, body, body_file, "the body", patience),
        )
        places = [sampling.index_operands(model.signatures[0].graph) for model in (alone, body)]
        data = [value not in places[0] and inner not in places[1] for value, inner in zip(*map(_inputs, (alone, body)))]

        def draw(data: list[bool], rng: np.random.Generator, scale: float) -> list[np.ndarray]:
            """Return data: of which inputs the numbers are neither places nor sizes."""
            drawn = sampling.draw_special(fusion, rng, match)
            return [
                drawn[value] if value in drawn else sampling.draw(rng, dtype.numpy, shape, scale, plain)
                for value, (_, dtype, shape), plain in zip(_inputs(alone), specs, data)
            ]

        try:
            return self._run(fusion, runners, partial(draw, data))
        except Unverifiable:
            # Nothing is divided by zero, and no power is negative.
            if not any(dtype.is_integer and plain for (_, dtype, _), plain in zip(specs, data)):
                raise
            return self._run(fusion, runners, partial(draw, [False] * len(data)))

    def _run(self, fusion: Fusion, runners: tuple[_Runner, _Runner], draw: Callable[..., list]) -> Difference:
        """Run the fused op and the body on the drawn inputs."""
        fused, body = runners
        difference = Difference()
        rng = np.random.default_rng(0)
        for number, scale in enumerate(_SCALES if fusion.draw is None else _OWN_SCALES):
            if number < len(_SCALES):
                self._require_time()
            elif not self._has_time():
                break
            arrays = draw(rng, scale)
            difference.add(fused, body, arrays, overflows=scale > 1)
            if difference.why:
                return difference
        if not difference.draws:
            raise Unverifiable("what the body computes hangs on how numbers are rounded")
        return difference

    def _file(self, module: Module, what: str) -> bytes:
        try:
            return self.to_file(module)
        except UnsupportedError as error:
            kinds = ", ".join(sorted({op for op, _, _ in error.ops}))
            raise Unverifiable(f"{what} has operations that cannot be lowered: {kinds}") from error
        except (FuseconvError, ValueError) as error:
            # Shapes that do not fit, now that each has a size, are a ValueError.
            raise Unverifiable(f"{what} cannot be written: {error}") from error


def _seen(op: Op) -> tuple:
    """Return the key of a call by which verdicts are cached: calls with equal keys get the same verdict. Of large
    constants, which are weights, it is only whether they are zero: they hide what the body does with them."""
    operands: list[Any] = []
    for value in op.operands:
        if value is None or value.shape is None:
            operands.append(None)
            continue
        constant: Any = op.operands.index(value)
        if value.data is not None:
            small = value.data.size <= _FEW_ELEMENTS
            constant = value.data.tolist() if small else bool(value.data.any())
        shape = tuple(dim if isinstance(dim, int) else None for dim in value.shape)
        operands.append((shape, value.is_const, repr(constant)))
    return tuple(operands), tuple(bool(result.uses) for result in op.results)


def _alone(op: Op, module: Module, sizes: dict[str, int]) -> Module:
    """Return a model that holds only this call, on inputs of static shapes, with the results that the original model
    reads."""
    graph = Graph("body_check")
    inputs: dict[Value, Value] = {}
    for value in op.operands:
        if value is None or value.is_const or value in inputs:
            continue
        if value.shape is None or value.dtype.is_handle:
            raise Unverifiable(f"{value.name} is a handle" if value.shape else f"the rank of {value.name} is not known")
        shape = tuple(substitute_dim(dim, sizes) for dim in value.shape)
        inputs[value] = graph.add_input(value.dtype, shape, f"x{len(inputs)}")
    call = Op(op.kind, [inputs.get(v, v) if v is not None else None for v in op.operands], dict(op.attrs), op.name)
    for result in op.results:
        call.add_result(result.dtype, result.shape if result.is_static else None)
    graph.ops = [call]
    graph.outputs = [new for old, new in zip(op.results, call.results) if old.uses]
    names = [f"x{number}" for number in range(len(graph.inputs))], [f"y{n}" for n in range(len(graph.outputs))]
    if not graph.outputs:
        raise Unverifiable("nothing reads its results")
    if sum(_elements(value) for value in graph.inputs) > _MAX_DRAWN:
        raise NeverComparable("its operands are too large to be drawn at random")
    return Module([Signature(["check"], graph, *names)], _functions(op, module), module.variables, module.tables)


def _elements(value: Value) -> int:
    return math.prod(dim for dim in value.shape or () if isinstance(dim, int))


def _functions(op: Op, module: Module) -> dict[str, Graph]:
    """Copy of the functions that an op runs, to any depth: making a file of them takes them apart."""
    copies: dict[str, Graph] = {}
    pending = [op]
    while pending:
        for graph, _ in bodies(pending.pop(), module):
            if graph.name not in copies:
                copies[graph.name] = copy_graph(graph)
                pending += graph.ops
    return copies


def _has_loop(module: Module) -> bool:
    return any(op.kind == "tfl.WHILE" for graph in module.graphs() for op in graph.ops)


def _depends_on_inputs(graph: Graph) -> bool:
    """Return True if any result is made from an input."""
    inputs = set(graph.inputs)
    pending = list(graph.outputs)
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in inputs:
            return True
        if value not in seen and value.op is not None:
            pending += [operand for operand in value.op.operands if operand is not None]
        seen.add(value)
    return False


class _Runner:
    """A file that the sandbox has loaded. patience: how long it may take, in seconds; it is what `_PATIENCE` says."""

    def __init__(self, sandbox: Sandbox, module: Module, data: bytes, what: str, patience: float) -> None:
        self.sandbox = sandbox
        self.what = what
        self.takes = "a loop" if _has_loop(module) else what
        self.patience = patience
        with self._told("load"):
            self.number = sandbox.load(data, patience)

    def __call__(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        with self._told("run"):
            return self.sandbox.run(self.number, arrays, self.patience)

    @contextmanager
    def _told(self, does: str) -> Iterator[None]:
        try:
            yield
        except Failed as error:
            kind = NeverComparable if does == "load" and "unresolved custom op" in str(error) else Unverifiable
            raise kind(f"the runtime cannot {does} {self.what}: {_first_line(error)}") from error
        except ChildEnded as end:
            late = f"{self.takes} has not ended after {self.patience:g} s"
            raise NeverComparable(late if end.overdue else f"the runtime crashed on {self.what}") from end


def _estimate(op: Op, callee: Graph, module: Module, constants: set[Value]) -> float:
    """Estimate the seconds that a check takes. All that is constant is thought of as weights, which each row is
    multiplied by."""
    rows = max((_rows(value) for value in op.operands if value is not None and not value.is_const), default=1)
    weights = sum(value.data.size for value in constants if value.data is not None)
    return (
        _SECONDS_PER_OP * sum(1 for _ in _ops(callee, module))
        + _SECONDS_PER_BYTE * sum(value.data.nbytes for value in constants if value.data is not None)
        + _SECONDS_PER_PRODUCT * 2 * len(_SCALES) * weights * rows
    )


def _rows(value: Value) -> int:
    return math.prod(dim if isinstance(dim, int) else 3 for dim in (value.shape or ())[:-1])


def _constants(op: Op, callee: Graph, module: Module) -> set[Value]:
    """Return the constants that a call takes, and those of the function that it calls."""
    inner = list(_ops(callee, module))
    ends = [body.terminator for part in inner for body, _ in bodies(part, module)]
    parts = (op, callee.terminator, *inner, *ends)
    return {value for part in parts for value in part.operands if value is not None and value.is_const}


def _ops(graph: Graph, module: Module) -> Iterator[Op]:
    for op in graph.ops:
        yield op
        for body, _ in bodies(op, module):
            yield from _ops(body, module)


def _inputs(module: Module) -> list[Value]:
    return module.signatures[0].graph.inputs


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
