"""Numeric comparison of what a fusion builds with what it replaces, its reference: the body of a composite, or the ops
that a pattern matches. Both run on the same random operands.

First in numpy, in this process, if they are small enough (interpreter.py): where they agree, that is all. Else in the
TFLite runtime: each is lowered as if there were no fusion, and written as a small model. Operands that are constant in
the model keep their values. The others are drawn at several scales: a clip shows on large numbers, a guard against
division by zero on small ones. All invokes run in one interpreter, so that state that leaks from one to the next shows
as well. What is run is the model's, and a model may be anybody's: the runtime runs in a child process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np

from fuseconv.errors import FuseconvError, UnsupportedError
from fuseconv.fuse import sampling
from fuseconv.fuse.interpreter import Declined, Interpreter
from fuseconv.fuse.isolation import ChildEnded, Failed, Sandbox
from fuseconv.fuse.match import Refused
from fuseconv.fuse.output_difference import Difference, NeverComparable, Unverifiable
from fuseconv.ir.graph import Graph, Module, Op, Value, copy_graph
from fuseconv.ir.op_slices import forward_slice
from fuseconv.tf.side_effects import bodies

MODES = ("auto", "always", "never")
BUDGET_SECONDS = 1.0
# How long a run is waited for, by the wall clock: a loop may never end.
_PATIENCE = {"auto": 5.0, "always": 120.0}

_SCALES = (1.0, 32.0, 256.0, 1 / 64)
# What a fusion draws itself is mostly chosen from, and a choice that another limit would make differs only at times.
_OWN_SCALES = _SCALES * 4
# Constants with no more elements than this may be limits or sizes.
FEW_ELEMENTS = 64
# What a check was measured to cost: for each op of the reference, each byte of the constants, each product of a run.
_SECONDS_PER_OP = 1.5e-4
_SECONDS_PER_BYTE = 1e-9
_SECONDS_PER_PRODUCT = 5e-11
# More elements than this are not drawn.
_MAX_DRAWN = 1 << 25

ToFile = Callable[[Module], bytes]
Draw = Callable[["np.random.Generator"], dict[Value, np.ndarray]]


class _Overtime(Exception):
    """The time is used up."""


class _Finding(NamedTuple):
    """What a check found out: whether the two differ, or that they agree or cannot be compared, as `why` says."""

    refuted: bool
    why: str


class Pair(NamedTuple):
    """What a fusion builds and its reference: models of one signature each, with inputs x0, x1, ... and outputs y0, ...

    draw: arrays for some inputs of `fused`, where any numbers would not do; None if it is asked for none."""

    fused: Module
    reference: Module
    draw: Draw | None = None


@dataclass(frozen=True)
class Claim:
    """What a check is to find out: that a fusion computes what its reference does.

    key: claims with equal keys are examined once.
    name: of the fusion and of what it replaces, for warnings.
    reference: what a sentence calls it.
    pairs: make both with small sizes for the unknown ones, in the order in which to try them. One may raise
        Unverifiable.
    constants: of the model, which both share. rows: how often weights among them are multiplied by something.
    ops: how many the reference has."""

    key: tuple
    name: str
    reference: str
    pairs: Iterable[Callable[[], Pair]] = field(compare=False)
    constants: set[Value]
    rows: int
    ops: int


class NumericCheck:
    """The checks of one conversion.

    mode: `auto` stops checking when a second is used up, or would be; `always` and `never` say themselves.
    to_file: lowers a small module and writes it. seconds: the time that is used up, as the processor counts it, so that
    a busy machine checks as much as an idle one. skipped: the claims that time did not suffice for.
    """

    def __init__(self, mode: str, to_file: ToFile) -> None:
        self.mode = mode
        self.to_file = to_file
        self.seconds = 0.0
        self.skipped: list[str] = []
        self.sandbox = Sandbox()
        self._start = 0.0
        self._findings: dict[tuple, _Finding | None] = {}

    def __call__(self, claim: Claim) -> str:
        """Examine a claim, each once, and return a sentence on what was found, for the report. Raises Refused if the
        two differ."""
        if claim.key not in self._findings:
            self._findings[claim.key] = self._examine_in_time(claim)
        finding = self._findings[claim.key]
        if finding is None:
            return f"it was not checked against {claim.reference}, which would take longer than a second in all"
        if finding.refuted:
            raise Refused(finding.why)
        return finding.why

    def warning(self) -> str:
        """Return the warning about checks that were skipped; empty if none was."""
        if not self.skipped:
            return ""
        first = ", ".join(self.skipped[:3]) + (" and others" if len(self.skipped) > 3 else "")
        return (
            f"{len(self.skipped)} fusions were not checked against what they replace ({first}), which would "
            f"take longer than {BUDGET_SECONDS:g} s in all; --verify-fusions always checks them"
        )

    def close(self) -> None:
        """End the sandbox, until another claim needs one."""
        self.sandbox.close()

    def _examine_in_time(self, claim: Claim) -> _Finding | None:
        """Examine a claim and return what was found; None if there is no time for it."""
        self._start = self._clock() - self.seconds
        # The small models share the constants of the model, which must not know these readers.
        readers = {value: dict(value.uses) for value in claim.constants}
        try:
            self._require_time(_estimate(claim))
            self.sandbox.forget()
            return self._examine(claim)
        except _Overtime:
            self.skipped.append(claim.name)
            return None
        finally:
            for value, uses in readers.items():
                value.uses = uses
            self.seconds = self._clock() - self._start

    def _clock(self) -> float:
        """Return the CPU seconds that the processor has worked for this thread and for the sandbox."""
        return time.thread_time() + self.sandbox.seconds

    def _has_time(self, seconds: float = 0.0) -> bool:
        return self.mode != "auto" or self._clock() - self._start + seconds <= BUDGET_SECONDS

    def _require_time(self, seconds: float = 0.0) -> None:
        if not self._has_time(seconds):
            raise _Overtime

    def _examine(self, claim: Claim) -> _Finding:
        """Compare the first pair of a claim that can be compared, and tell what came of it. Raises _Overtime when the
        time of `auto` is over."""
        reasons: list[str] = []
        for made in claim.pairs:
            self._require_time()
            try:
                difference = self._compare(made(), claim.reference)
                break
            except NeverComparable as hopeless:
                return _Finding(False, f"it cannot be verified: {hopeless}")
            except Unverifiable as unverifiable:
                reasons.append(str(unverifiable))
        else:
            return _Finding(False, f"it cannot be verified: {reasons[0]}")
        if difference.why:
            return _Finding(True, f"{claim.reference} computes something else than the fused op: {difference.why}")
        return _Finding(False, f"{claim.reference} agrees to {difference.largest:.1e}")

    def _compare(self, pair: Pair, name: str) -> Difference:
        """Run both models of a pair on the same random inputs and return how far they differ. name: of the reference,
        in words. Raises Unverifiable where this pair tells nothing, NeverComparable where no pair would."""
        specs = [(value.name, value.dtype, value.shape) for value in _inputs(pair.reference)]
        if sum(_elements(value) for value in _inputs(pair.reference)) > _MAX_DRAWN:
            raise NeverComparable("its operands are too large to be drawn at random")
        agreed = self._agreed_here(pair, specs, name)
        if agreed is not None:
            return agreed
        fused_file, reference_file = self._file(pair.fused, "the fused op"), self._file(pair.reference, name)
        if not _depends_on_inputs(pair.reference.signatures[0].graph):
            raise NeverComparable(f"{name} is a placeholder, its results are constant")
        patience = _PATIENCE[self.mode]
        runners = (
            _Runner(self.sandbox, pair.fused, fused_file, "the fused op", patience),
            _Runner(self.sandbox, pair.reference, reference_file, name, patience),
        )
        both = pair.fused, pair.reference
        places = [sampling.index_operands(model.signatures[0].graph) for model in both]
        data = [value not in places[0] and inner not in places[1] for value, inner in zip(*map(_inputs, both))]

        def draw(data: list[bool], rng: np.random.Generator, scale: float) -> list[np.ndarray]:
            """Draw the inputs of one run. data: of which of them the numbers are neither places nor sizes."""
            drawn = pair.draw(rng) if pair.draw is not None else {}
            return [
                drawn[value] if value in drawn else sampling.draw(rng, dtype.numpy, shape, scale, plain)
                for value, (_, dtype, shape), plain in zip(_inputs(pair.fused), specs, data)
            ]

        scales = _SCALES if pair.draw is None else _OWN_SCALES
        try:
            return self._run(scales, runners, partial(draw, data))
        except Unverifiable:
            # Nothing is divided by zero, and no power is negative.
            if not any(dtype.is_integer and plain for (_, dtype, _), plain in zip(specs, data)):
                raise
            return self._run(scales, runners, partial(draw, [False] * len(data)))

    def _agreed_here(self, pair: Pair, specs: list, name: str) -> Difference | None:
        """Run both models of a pair in this process, and return how they differ if it is by rounding alone.

        Else the runtime has the last word, as for what does not run here, and in the mode `always`."""
        plain = all(dtype.numpy == np.float32 for _, dtype, _ in specs)
        if self.mode != "auto" or pair.draw is not None or not plain:
            return None

        def draw(rng: np.random.Generator, scale: float) -> list[np.ndarray]:
            return [sampling.draw(rng, dtype.numpy, shape, scale, True) for _, dtype, shape in specs]

        try:
            both = Interpreter(pair.fused, "the fused op"), Interpreter(pair.reference, name)
            difference = self._run(_SCALES, both, draw)
        except (Declined, Unverifiable):
            return None
        return None if difference.why else difference

    def _run(
        self,
        scales: tuple[float, ...],
        runners: tuple[_Runner | Interpreter, _Runner | Interpreter],
        draw: Callable[..., list],
    ) -> Difference:
        """Run the fused op and its reference on the drawn inputs."""
        fused, reference = runners
        difference = Difference()
        rng = np.random.default_rng(0)
        for number, scale in enumerate(scales):
            if number < len(_SCALES):
                self._require_time()
            elif not self._has_time():
                break
            arrays = draw(rng, scale)
            difference.add(fused, reference, arrays, overflows=scale > 1)
            if difference.why:
                return difference
        if not difference.draws:
            raise Unverifiable(f"what {reference.what} computes hangs on how numbers are rounded")
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


def functions_of(ops: Iterable[Op], module: Module) -> dict[str, Graph]:
    """Return copies of the functions that ops run, to any depth: making a file of them takes them apart."""
    copies: dict[str, Graph] = {}
    pending = list(ops)
    while pending:
        for graph, _ in bodies(pending.pop(), module):
            if graph.name not in copies:
                copies[graph.name] = copy_graph(graph)
                pending += graph.ops
    return copies


def rows(values: Iterable[Value | None]) -> int:
    """Return the number of rows of the largest operand that is not constant, an unknown size counted as 3."""
    data = [value for value in values if value is not None and not value.is_const]
    return max((math.prod(d if isinstance(d, int) else 3 for d in (v.shape or ())[:-1]) for v in data), default=1)


def require_drawable(value: Value) -> None:
    """Raise Unverifiable for a value of which no array can be drawn."""
    if value.shape is None or value.dtype.is_handle:
        raise Unverifiable(f"{value.name} is a handle" if value.shape else f"the rank of {value.name} is not known")


def _elements(value: Value) -> int:
    return math.prod(dim for dim in value.shape or () if isinstance(dim, int))


def _depends_on_inputs(graph: Graph) -> bool:
    """Return True if any result is made from an input."""
    return graph.terminator in forward_slice(graph.inputs)


class _Runner:
    """A file that the sandbox has loaded. patience: how long it may take, in seconds; it is what `_PATIENCE` says."""

    def __init__(self, sandbox: Sandbox, module: Module, data: bytes, what: str, patience: float) -> None:
        self.sandbox = sandbox
        self.what = what
        has_loop = any(op.kind == "tfl.WHILE" for graph in module.graphs() for op in graph.ops)
        self.takes = "a loop" if has_loop else what
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
            first_line = str(error).strip().partition("\n")[0]
            raise kind(f"the runtime cannot {does} {self.what}: {first_line}") from error
        except ChildEnded as end:
            late = f"{self.takes} has not ended after {self.patience:g} s"
            raise NeverComparable(late if end.overdue else f"the runtime crashed on {self.what}") from end


def _estimate(claim: Claim) -> float:
    """Estimate the seconds that a check takes. All that is constant is thought of as weights, which each row is
    multiplied by."""
    arrays = [value.data for value in claim.constants if value.data is not None]
    return (
        _SECONDS_PER_OP * claim.ops
        + _SECONDS_PER_BYTE * sum(array.nbytes for array in arrays)
        + _SECONDS_PER_PRODUCT * 2 * len(_SCALES) * sum(array.size for array in arrays) * claim.rows
    )


def _inputs(module: Module) -> list[Value]:
    return module.signatures[0].graph.inputs
