"""Find arithmetic that rounds to a grid, and say so: round(clip(x / s)) * s -> FAKE_QUANT(x).

Which ops it is made of does not matter: what they make of one tensor and of scalars is evaluated, and held against the
grid. So all forms are found: those of `quantize_and_dequantize`, of narrow ranges, and of QKeras, x + (q(x) - x).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.calibrate import Calibration
from fuseconv.quantize.fake_quant import KIND, Steps, steps_of
from fuseconv.quantize.scaled_roundings import scale_maker, scale_readers, shift_maker, shifts
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of

_CLAMPS: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None), "RELU": (0, None), "RELU6": (0, 6), "RELU_0_TO_1": (0, 1), "RELU_N1_TO_1": (-1, 1),
}  # fmt: skip
_NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "ABS": np.abs, "ADD": np.add, "DIV": np.divide, "FLOOR": np.floor, "GREATER": np.greater,
    "GREATER_EQUAL": np.greater_equal, "LESS": np.less, "LESS_EQUAL": np.less_equal, "MAXIMUM": np.maximum,
    "MINIMUM": np.minimum, "MUL": np.multiply, "NEG": np.negative, "ROUND": np.rint, "SELECT": np.where,
    "SELECT_V2": np.where, "SIGN": np.sign, "SUB": np.subtract,
}  # fmt: skip
_KNOWN = _NUMPY.keys() | _CLAMPS.keys()
_BYTES = (types.INT8, types.UINT8)
_REPLACED = _KNOWN | {"DEQUANTIZE", "FAKE_QUANT", "QUANTIZE"}
_ROUNDS = frozenset({"tfl.ROUND", "tfl.FLOOR"})
# Of one rounding: the most ops before its step, and behind it, and all that are evaluated.
_BEFORE, _BEHIND, _ALL = 8, 12, 40
# What the arithmetic may miss the grid by, as a part of a step; what of the range is no step.
_SLACK, _SAME = 1e-3, 1e-4
# All numbers beyond are cut off; so many between are tried.
_FAR, _TRIED = 1e6, 4096


@module_pass("raise-fake-quant", requires=(TFL_ONLY,))
def raise_fake_quant(module: Module, calibration: Calibration) -> None:
    """Raise arithmetic that rounds to the steps of an int8 tensor: MUL(ROUND(MUL(x, 2)), 0.5) -> FAKE_QUANT(x).

    x must be cut to what 256 steps hold, here [-64, 63.5]. Of fewer steps MINIMUM cuts off the others, behind a
    FAKE_QUANT of fewer bits, too. What files of TFLiteConverter hold is taken likewise: DEQUANTIZE(QUANTIZE(x)) ->
    FAKE_QUANT(x). What steps are scaled by goes into weights and factors before or behind, so does half a step by which
    FLOOR is apart: FLOOR(CONV_2D(x, w, b)) -> FAKE_QUANT(CONV_2D(x, w, b - 0.5)). What ROUND stood for is kept in mind:
    in the middle between two steps it rounds to the even one, as QUANTIZE does, FAKE_QUANT up."""
    for graph in module.graphs():
        ends = _settled_ends(graph)
        if ends:
            _replace(graph, ends, calibration.even)
            _remove_dead(graph)


def lower_to_even(graph: Graph, even: AbstractSet[Value]) -> None:
    """Let those that stay round as the model does: FAKE_QUANT(x) -> MUL(MINIMUM(MAXIMUM(ROUND(MUL(x, 2)), -128), 127),
    0.5). even: their results."""

    def lowered(op: Op, out: list[Op]) -> list[Value] | None:
        steps, x = steps_of(op), op.operands[0]
        if op.result not in even or steps is None or x is None:
            return None
        tfl = Builder(out, op.name, op.sources)
        made = tfl.round(tfl.mul(x, np.float32(1 / steps.step)))
        ends = [np.float32(round(end / steps.step)) for end in (steps.least, steps.largest)]
        return [tfl.mul(tfl.minimum(tfl.maximum(made, ends[0]), ends[1]), np.float32(steps.step))]

    rewrite_ops(graph, (KIND,), lowered)


@dataclass(frozen=True)
class Rounding:
    """A tensor is the root less the offset, rounded to steps, times the gain. ops: of what it is made so. even: numbers
    in the middle between two steps become the even one."""

    root: Value
    steps: Steps
    gain: float = 1.0
    offset: float = 0.0
    ops: frozenset[Op] = frozenset()
    even: bool = False


def _settled_ends(graph: Graph) -> dict[Op, Rounding]:
    """Return the last op of each rounding, with the rounding. None begins or ends within another one.

    Constants take in what one is scaled and shifted by before the next one is looked for, which may read them."""
    found: dict[Op, Rounding] = {}
    inside: set[Op] = set()
    for op in graph.ops:
        if op.kind in _ROUNDS and op.result.dtype is types.FLOAT32 and op not in inside:
            ends = _rounding(op, inside - found.keys(), found.keys())
            if ends is not None:
                end, rounding = ends
                found[end] = _settled(end.result, rounding)
                inside |= rounding.ops
        elif op.kind == KIND and op.attrs.get("num_bits", 0) < 8:
            steps, value = steps_of(op), op.operands[0]
            if steps is not None and value is not None:
                found[op] = Rounding(value, steps)
        elif op.kind == "tfl.DEQUANTIZE":
            pair = _pair(op)
            if pair is not None:
                found[op] = pair
    return found


def _settled(result: Value, rounding: Rounding) -> Rounding:
    """Return a rounding less the offset, and without the gain where constants before or behind it can take it in."""
    root, steps, gain = rounding.root, rounding.steps, rounding.gain
    if rounding.offset:
        shift_maker(root, rounding.offset)
    if gain == 1 or scale_readers(result, gain):
        return Rounding(root, steps, even=rounding.even)
    if scale_maker(root, gain, rounding.ops):
        return Rounding(root, Steps(steps.least * gain, steps.step * gain, steps.count), even=rounding.even)
    return Rounding(root, steps, gain, even=rounding.even)


def _pair(op: Op) -> Rounding | None:
    """Read DEQUANTIZE(QUANTIZE(x)) of integers of 8 bits with one scale."""
    (stored,) = op.operands
    how = stored.quantization if stored is not None else None
    if stored is None or how is None or stored.op is None or stored.op.kind != "tfl.QUANTIZE" or len(how.scale) != 1:
        return None
    (root,) = stored.op.operands
    if root is None or root.dtype is not types.FLOAT32 or stored.dtype not in _BYTES:
        return None
    least = int(np.iinfo(stored.dtype.numpy).min) - how.zero_point[0]
    return Rounding(root, Steps(least * how.scale[0], how.scale[0], 256), even=True)


def _rounding(op: Op, inside: AbstractSet[Op], ends: AbstractSet[Op]) -> tuple[Op, Rounding] | None:
    """Return the largest rounding that a ROUND or FLOOR is a part of, with its last op; None if it is of none. If
    another ROUND follows, what cuts off more may be a part of that one. inside, ends: ops of others."""
    roots = list(_before(op, inside, ends))[::-1]
    behind = list(_behind(op))
    following = next((at for at, each in enumerate(behind) if at and each.kind in _ROUNDS), None)
    if following is None:
        return next(_roundings(roots, behind[::-1]), None)
    found = None
    for end in behind[:following]:
        if found is not None and end.type in ("MAXIMUM", "MINIMUM", *_CLAMPS):
            break
        found = next(_roundings(roots, (end,)), found)
    return found


def _roundings(roots: Iterable[Value], ends: Iterable[Op]) -> Iterator[tuple[Op, Rounding]]:
    """Yield each rounding of a root that ends with one of the ops."""
    for end in ends:
        for root in roots:
            found = _rounded(root, end) if root.shape == end.result.shape else None
            if found is not None:
                yield end, found


def _before(op: Op, inside: AbstractSet[Op], ends: AbstractSet[Op]) -> Iterator[Value]:
    """Yield what an op is made from: tensors of floats along one line, the last one first, back to another rounding."""
    for _ in range(_BEFORE):
        value = next((each for each in op.operands if each is not None and not each.is_const), None)
        if value is None or value.dtype is not types.FLOAT32 or value.op in inside:
            return
        yield value
        if value.op is None or value.op.type not in _KNOWN or value.op in ends:
            return
        op = value.op


def _behind(op: Op) -> Iterator[Op]:
    """Yield an op, and those that are made from it alone."""
    for _ in range(_BEHIND):
        yield op
        if len(op.result.uses) != 1:
            return
        (op,) = op.result.uses
        if op.type not in _KNOWN or op.result.dtype is not types.FLOAT32:
            return


def _rounded(root: Value, end: Op) -> Rounding | None:
    """Return how an op's result is the root rounded; None if it is something else."""

    def compute(numbers: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            made = _evaluated(end.result, {root: numbers})
        return np.full(numbers.shape, np.nan) if made is None else made

    least, near_least, near_largest, largest = map(float, compute(np.array([-_FAR, -_FAR / 2, _FAR / 2, _FAR])))
    span = largest - least
    if not (span > 0 and least <= 0 <= largest and np.isfinite(span)):
        return None
    if max(near_least - least, largest - near_largest) > _SAME * span:
        return None  # nothing clips it, and to look for where it ends would take long
    first, last = _crossings(compute, np.array([least + _SAME * span, largest - _SAME * span]))
    numbers = np.linspace(first - 0.1 * (last - first), last + 0.1 * (last - first), _TRIED)
    made = compute(numbers)
    count = 1 + int(np.sum(np.diff(np.sort(made)) > _SAME * span))
    if not 3 <= count <= 256:
        return None
    step = span / (count - 1)
    gain = step / ((last - first) / (count - 2))
    offset = first - (least + 0.5 * step) / gain  # half of the first step ends there
    offsets = (made - least) / step
    on_grid = np.abs(offsets - np.rint(offsets)).max() < _SLACK and abs(least / step - round(least / step)) < _SLACK
    nearest = np.abs(made - np.clip(gain * (numbers - offset), least, largest)).max() <= (0.5 + _SLACK) * step
    if not (on_grid and nearest):
        return None
    gain = 1.0 if abs(gain - 1) * count < _SLACK else gain
    offset = 0.0 if abs(offset * gain) < _SLACK * step else offset
    ops = frozenset(_ops_between(root, end))
    # FLOOR is half a step apart, less where it was added; a hard tanh begins with a hard sigmoid, which adds 0.5.
    if offset and not shifts(root, ops):
        return None
    even = any(op.kind == "tfl.ROUND" for op in ops)
    return Rounding(root, Steps(round(least / step) * step / gain, step / gain, count), gain, offset, ops, even)


def _ops_between(root: Value, end: Op) -> Iterator[Op]:
    """Yield the ops that make the result of the last one from the root."""
    seen, todo = {end}, [end]
    while todo:
        op = todo.pop()
        yield op
        makers = {value.op for value in op.operands if value is not None and value is not root and value.op is not None}
        todo += makers - seen
        seen |= makers


def _crossings(compute: Callable[[np.ndarray], np.ndarray], bounds: np.ndarray) -> np.ndarray:
    """Return where a function that rises reaches bounds."""
    low, high = np.full(2, -_FAR), np.full(2, _FAR)
    for _ in range(64):
        middle = (low + high) / 2
        beyond = compute(middle) > bounds
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high


def _evaluated(value: Value, known: dict[Value, np.ndarray]) -> np.ndarray | None:
    """Return what a tensor holds, where those are known that it is made from; None where other tensors count."""
    if value in known:
        return known[value]
    if value.data is not None:
        return value.data.astype(np.float64).reshape(()) if value.data.size == 1 else None
    op = value.op
    if op is None or op.type not in _KNOWN or len(known) > _ALL:
        return None
    bounds = _CLAMPS.get(op.type) or _CLAMPS.get(activation_of(op))
    if bounds is None:
        return None
    operands: list[np.ndarray] = []
    for each in op.operands:
        found = None if each is None else _evaluated(each, known)
        if found is not None:
            operands.append(found)
        elif each is not None:
            return None
    made = _NUMPY[op.type](*operands) if op.type in _NUMPY else operands[0]
    known[value] = made if bounds == (None, None) else np.clip(made, *bounds)
    return known[value]


def _replace(graph: Graph, ends: dict[Op, Rounding], even: set[Value]) -> None:
    replaced: dict[Value, Value] = {}
    out: list[Op] = []
    for op in graph.ops:
        out.append(op)
        if op in ends:
            root = ends[op].root
            tfl = Builder(out, op.name, op.sources)
            made = replaced[op.result] = _built(tfl, replaced.get(root, root), ends[op], even)
            replace_uses(op.result, made)
    graph.ops = out


def _remove_dead(graph: Graph) -> None:
    dead = set()
    for op in reversed(graph.ops):
        if op.type in _REPLACED and not op.result.uses:
            detach(op)
            dead.add(op)
    graph.ops = [op for op in graph.ops if op not in dead]


def _built(tfl: Builder, root: Value, rounding: Rounding, even: set[Value]) -> Value:
    """Return the root rounded, and times the gain. even: the results of those that round halves to even."""
    steps = rounding.steps
    least, largest = (float(np.float32(end)) for end in (steps.least, steps.least + 255 * steps.step))
    made: Value = tfl.fake_quant(root, min=least, max=largest, num_bits=8)
    if rounding.even:
        even.add(made)
    if steps.count < 256:
        made = tfl.minimum(made, np.float32(steps.largest))
    return made if rounding.gain == 1 else tfl.mul(made, np.float32(rounding.gain))
