"""Checks a fusion against the body of the composite: both run in the TFLite runtime on the same random operands.

A name is no proof of what a function computes. The body, lowered as if there were no fusion, and the fused ops are each
written as a small model. Operands that are constant in the model keep their values, the others are drawn at several
scales (a clip shows on large numbers, a guard against division by zero on small ones), one invoke after the other in
one interpreter, so that state that leaks from one to the next shows as well.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fuseconv.errors import FuseconvError, UnsupportedError, module_error
from fuseconv.fuse.match import Fusion, Match, Refused
from fuseconv.ir.dims import Sym, substitute_dim
from fuseconv.ir.graph import Graph, Module, Op, Signature, Value, copy_graph
from fuseconv.passes.effects import bodies, references
from fuseconv.passes.inline import original
from fuseconv.tfl.opdef import TABLE

MODES = ("auto", "always", "never")
BUDGET_SECONDS = 1.0
# How long a model with a loop is waited for, by the wall clock: it may never end.
_PATIENCE = {"auto": 5.0, "always": 120.0}

_SCALES = (1.0, 32.0, 256.0, 1 / 64)
# What a fusion draws itself is mostly chosen from, and a choice that another limit would make differs only at times.
_OWN_SCALES = _SCALES * 4
# Two right programs differ by the order of their sums, by some 1e-7 of the largest value for an op and by 1e-5 after a
# hundred; two that mean something else differ by more than 1e-4 of it.
_RELATIVE = 1e-4
_ABSOLUTE = 1e-6
# How much larger than what operands do that differ by so many units in the last place a difference may be.
_SHAKEN = 10.0
_LAST_BITS = 8
# What these make of a tensor does not hang on its numbers.
_SHAPES = frozenset({"SHAPE", "RANK"})
# Constants with no more elements than this may be limits or sizes.
_FEW_ELEMENTS = 64
# What a check was measured to cost: for each op of the body, each byte of the constants, each product of a run.
_SECONDS_PER_OP = 1.5e-4
_SECONDS_PER_BYTE = 1e-9
_SECONDS_PER_PRODUCT = 5e-11
# Sizes of other operands that are larger than this are no batches or times that an unknown one is likely to equal.
_LARGEST_SIZE = 64

ToFile = Callable[[Module], bytes]
Run = Callable[[], None]
FuseAlone = Callable[[Fusion, Op, Graph, Module], Match]


class Unverifiable(Exception):
    """The body and the fused op cannot be compared. The message says why."""


class _Hopeless(Unverifiable):
    """They cannot be compared, whatever sizes the unknown ones have."""


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
        self._start = 0.0
        self._elsewhere = 0.0
        self._verdicts: dict[tuple, _Verdict | None] = {}

    def __call__(self, fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone) -> str:
        """A sentence on what was found, for the report. Raises Refused if body and fusion differ.

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
        """What to tell the user about checks that were skipped; empty if none was."""
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
        """The verdict; None if there is no time for it."""
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
            for value, uses in readers.items():
                value.uses = uses
            self.seconds = self._clock() - self._start

    def _clock(self) -> float:
        """Seconds that the processor has worked for this thread, and for those in which it had models run."""
        return time.thread_time() + self._elsewhere

    def _in_time(self, run: Run) -> None:
        """Runs in another thread what may never end; nothing can stop a thread, so that it is left alone then."""
        outcome: list[tuple[float, Exception | None]] = []

        def timed() -> None:
            start, failure = time.thread_time(), None
            try:
                run()
            except (RuntimeError, ValueError) as error:
                failure = error
            outcome.append((time.thread_time() - start, failure))

        seconds = _PATIENCE[self.mode]
        thread = threading.Thread(target=timed, daemon=True)
        thread.start()
        thread.join(seconds)
        if not outcome:
            self._elsewhere += seconds
            raise _Hopeless(f"a loop has not ended after {seconds:g} s")
        used, failure = outcome[0]
        self._elsewhere += used
        if failure is not None:
            raise failure

    def _has_time(self, seconds: float = 0.0) -> bool:
        return self.mode != "auto" or self._clock() - self._start + seconds <= BUDGET_SECONDS

    def _require_time(self, seconds: float = 0.0) -> None:
        if not self._has_time(seconds):
            raise _Overtime

    def _judge(self, fusion: Fusion, op: Op, callee: Graph, module: Module, fuse_alone: FuseAlone) -> _Verdict:
        reasons: list[str] = []
        for sizes in _sizes(op):
            self._require_time()
            try:
                alone, body = _alone(op, module, sizes), _alone(op, module, sizes)
                difference = self._compare(fusion, alone, body, callee, fuse_alone)
                break
            except _Hopeless as hopeless:
                return _Verdict(True, f"it cannot be verified: {hopeless}")
            except Unverifiable as unverifiable:
                reasons.append(str(unverifiable))
        else:
            return _Verdict(True, f"it cannot be verified: {reasons[0]}")
        if difference.why:
            return _Verdict(False, f"the body computes something else than the fused op: {difference.why}")
        return _Verdict(True, f"the body agrees to {difference.largest:.1e}")

    def _compare(
        self, fusion: Fusion, alone: Module, body: Module, callee: Graph, fuse_alone: FuseAlone
    ) -> _Difference:
        try:
            match = fuse_alone(fusion, alone.signatures[0].graph.ops[0], callee, alone)
        except Refused as refusal:
            raise Unverifiable(f"with small sizes for the unknown ones it is not made: {refusal}") from refusal
        specs = [(value.name, value.dtype, value.shape) for value in body.signatures[0].graph.inputs]
        fused_file, body_file = self._file(alone, "the fused op"), self._file(body, "the body")
        if not _depends_on_inputs(body.signatures[0].graph):
            raise _Hopeless("the body is a placeholder, its results are constant")
        waits = [self._in_time if _has_loop(model) else _at_once for model in (alone, body)]
        runners = _Runner(fused_file, "the fused op", waits[0]), _Runner(body_file, "the body", waits[1])
        places = [_places(model.signatures[0].graph) for model in (alone, body)]
        data = [value not in places[0] and inner not in places[1] for value, inner in zip(*map(_inputs, (alone, body)))]

        def draw(data: list[bool], rng: np.random.Generator, scale: float) -> list[np.ndarray]:
            """data: of which inputs the numbers are neither places nor sizes."""
            drawn = _draw_special(fusion, rng, match)
            return [
                drawn[value] if value in drawn else _draw(rng, dtype.numpy, shape, scale, plain)
                for value, (_, dtype, shape), plain in zip(_inputs(alone), specs, data)
            ]

        try:
            return self._run(fusion, runners, partial(draw, data))
        except Unverifiable:
            # Nothing is divided by zero, and no power is negative.
            if not any(dtype.is_integer and plain for (_, dtype, _), plain in zip(specs, data)):
                raise
            return self._run(fusion, runners, partial(draw, [False] * len(data)))

    def _run(self, fusion: Fusion, runners: tuple[_Runner, _Runner], draw: Callable[..., list]) -> _Difference:
        """Runs the fused op and the body on what is drawn."""
        fused, body = runners
        difference = _Difference()
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


class _Difference:
    """What was found so far: the largest relative difference, in how many draws, and why one is too large.

    A difference is no more than rounding if the body itself differs as much on operands that differ in their last bits:
    that of a long recurrence may, on large numbers or where it is chaotic. Such a draw says nothing."""

    def __init__(self) -> None:
        self.largest = 0.0
        self.draws = 0
        self.why = ""

    def add(self, fused: _Runner, body: _Runner, arrays: list[np.ndarray], overflows: bool) -> None:
        """Compares what the fused op makes of the arrays with what the body does. overflows: they are large enough for
        the body to overflow where the fused op need not."""
        made, expected = fused(arrays), body(arrays)
        distances = [_distance(a, b, overflows) for a, b in zip(made, expected)]
        sizes = [_size(array) for array in expected]
        wrong = [n for n, (d, size) in enumerate(zip(distances, sizes)) if d > _ABSOLUTE + _RELATIVE * size]
        if wrong:
            if _differ(body(arrays), expected):
                if _differ(fused(arrays), made):
                    raise Unverifiable("both compute something else in each run")
                self.why = "it computes something else in each run"
                return
            nearby = body([_nearby(array) for array in arrays])
            for index in wrong:
                if distances[index] > _SHAKEN * _distance(nearby[index], expected[index], overflows):
                    self.why = _told(index, made[index], expected[index], distances[index])
                    return
            return
        self.draws += 1
        relative = [d / size if size else d for d, size in zip(distances, sizes)]
        self.largest = max(self.largest, *relative)


def _differ(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return any(_distance(a, b, overflows=False) > 0 for a, b in zip(some, others))


def _distance(actual: np.ndarray, expected: np.ndarray, overflows: bool) -> float:
    """The largest error of floats; of others, how many differ; infinite where shapes do, or what is no finite number.
    """
    if actual.shape != expected.shape:
        return math.inf
    if expected.dtype.kind not in "fc":
        return float(np.sum(actual != expected))
    finite = np.isfinite(expected)
    if not overflows and not np.array_equal(finite, np.isfinite(actual)):
        return math.inf
    error = float(np.abs(actual - expected)[finite].max(initial=0.0))
    return math.inf if math.isnan(error) else error


def _size(array: np.ndarray) -> float:
    """The largest number; 0 for what is to be equal."""
    return float(np.abs(array)[np.isfinite(array)].max(initial=0.0)) if array.dtype.kind in "fc" else 0.0


def _told(index: int, actual: np.ndarray, expected: np.ndarray, distance: float) -> str:
    if actual.shape != expected.shape:
        return f"result {index} has the shape {list(expected.shape)} there, {list(actual.shape)} here"
    if expected.dtype.kind not in "fc":
        return f"{distance:.0f} of the {expected.size} elements of result {index} differ"
    if math.isinf(distance):
        wrong = np.sum(np.isfinite(expected) != np.isfinite(actual))
        return f"{wrong} of the {expected.size} elements of result {index} are infinite or no number in one"
    return f"result {index} differs by {distance:.3g} where values reach {_size(expected):.3g}"


def _nearby(array: np.ndarray) -> np.ndarray:
    """Floats that differ in their last bits."""
    if array.dtype.kind not in "fc":
        return array
    shaken = array.copy()
    shaken.flat[::2] *= 1 + _LAST_BITS * np.finfo(array.dtype).eps
    shaken.flat[1::2] *= 1 - _LAST_BITS * np.finfo(array.dtype).eps
    return shaken


class _Runner:
    """A file in an interpreter, which is allocated once. wait: runs it."""

    def __init__(self, data: bytes, what: str, wait: Callable[[Run], None]) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        self.what = what
        self.wait = wait
        try:
            self.interpreter = Interpreter(
                model_content=data,
                experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
            )
            self.interpreter.allocate_tensors()
        except (RuntimeError, ValueError) as error:
            kind = _Hopeless if "unresolved custom op" in str(error) else Unverifiable
            raise kind(f"the runtime cannot load {what}: {_first_line(error)}") from error
        runner = self.interpreter.get_signature_runner()
        ends = runner.get_input_details(), runner.get_output_details()
        self.inputs, self.outputs = (
            [end[f"{letter}{number}"]["index"] for number in range(len(end))] for letter, end in zip("xy", ends)
        )

    def __call__(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        try:
            for index, array in zip(self.inputs, arrays):
                self.interpreter.set_tensor(index, array)
            self.wait(self.interpreter.invoke)
        except (RuntimeError, ValueError) as error:
            raise Unverifiable(f"the runtime cannot run {self.what}: {_first_line(error)}") from error
        return [self.interpreter.get_tensor(index) for index in self.outputs]


def _seen(op: Op) -> tuple:
    """What a check sees of a call, so that its verdict holds for another where that is the same. Of large constants,
    which are weights, it is only whether they are zero: they hide what the body does with them."""
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


def _sizes(op: Op) -> list[dict[str, int]]:
    """Small sizes for the unknown ones, in the order in which they are worth a try.

    Two inputs each have a batch of their own, as far as anybody knows, so a size goes by the axis where it first
    stands: mostly those that must be equal are, and axes that are mixed up show. Failing that, all are the same, and
    then all are what another size is that they may have to equal."""
    unknown: dict[str, int] = {}
    known: set[int] = set()
    for value in op.operands:
        for axis, dim in enumerate(value.shape or () if value is not None else ()):
            if isinstance(dim, Sym):
                for name in sorted(dim.symbols()):
                    unknown.setdefault(name, 3 + axis)
            elif dim <= _LARGEST_SIZE:
                known.add(dim)
    tries = [unknown]
    for size in (3, *sorted(known)) if unknown else ():
        same = dict.fromkeys(unknown, size)
        if same not in tries:
            tries.append(same)
    return tries


def _alone(op: Op, module: Module, sizes: dict[str, int]) -> Module:
    """A model that only holds this call, on inputs of static shapes; what it returns is what the model reads."""
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
    return Module([Signature(["check"], graph, *names)], _functions(op, module), module.variables, module.tables)


def _functions(op: Op, module: Module) -> dict[str, Graph]:
    """Copies of the functions that an op runs, to any depth: making a file of them takes them apart."""
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


def _at_once(run: Run) -> None:
    run()


def _depends_on_inputs(graph: Graph) -> bool:
    """True if any result is made from an input."""
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


def _draw_special(fusion: Fusion, rng: np.random.Generator, match: Match) -> dict[Value, np.ndarray]:
    """What the fusion draws, by operand."""
    if fusion.draw is None:
        return {}
    given: dict[Value, np.ndarray] = {}
    try:
        for name, array in fusion.draw(rng, match).items():
            value = getattr(match, name)
            given[value] = np.asarray(array, value.dtype.numpy)
            if given[value].shape != value.shape:
                raise ValueError(f"{name} is of the shape {list(value.shape)}, not {list(given[value].shape)}")
    except Exception as error:
        # A converter module is anybody's code and may raise anything.
        raise module_error(f"the fusion {fusion.name}", fusion.draw, error) from error
    return given


def _inputs(module: Module) -> list[Value]:
    return module.signatures[0].graph.inputs


def _places(graph: Graph) -> set[Value]:
    """What may tell places or sizes: operands of which the table of ops says so, those of ops that nobody knows or that
    run functions, and what these are made from."""
    found: set[Value] = set()
    pending: list[Value | None] = []
    for op in graph.ops:
        known = op.kind != "tfl.CUSTOM" and not references(op)
        pending += [v for n, v in enumerate(op.operands) if not known or n in TABLE[op.type].indices]
    while pending:
        value = pending.pop()
        if value is not None and value not in found:
            found.add(value)
            pending += value.op.operands if value.op is not None and value.op.type not in _SHAPES else []
    return found


def _draw(rng: np.random.Generator, dtype: np.dtype, shape: Any, scale: float, data: bool) -> np.ndarray:
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind == "O":
        words = rng.integers(97, 123, (math.prod(shape), 3)).astype(np.uint8)
        return np.array([bytes(word) for word in words], object).reshape(shape)
    if dtype.kind in "iu":
        # Nobody knows how large that is in which whole numbers are places.
        info, most = np.iinfo(dtype), max(round(8 * scale), 1)
        low, high = (max(info.min, -most), min(info.max, most)) if data else (0, 1)
        return rng.integers(low, high, shape, endpoint=True).astype(dtype)
    real = rng.standard_normal(shape) * scale
    return (real + 1j * rng.standard_normal(shape) * scale if dtype.kind == "c" else real).astype(dtype)


def _estimate(op: Op, callee: Graph, module: Module, constants: set[Value]) -> float:
    """Seconds that a check takes. All that is constant is thought of as weights, which each row is multiplied by."""
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
    """The constants that a call takes, and those of the function that it calls."""
    inner = list(_ops(callee, module))
    ends = [body.terminator for part in inner for body, _ in bodies(part, module)]
    parts = (op, callee.terminator, *inner, *ends)
    return {value for part in parts for value in part.operands if value is not None and value.is_const}


def _ops(graph: Graph, module: Module) -> Iterator[Op]:
    for op in graph.ops:
        yield op
        for body, _ in bodies(op, module):
            yield from _ops(body, module)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
