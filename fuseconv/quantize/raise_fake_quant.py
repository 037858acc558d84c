"""Find arithmetic that rounds to a grid, and say so: round(clip(x / s)) * s -> FAKE_QUANT(x).

Which ops it is made of does not matter: what they make of one tensor and of scalars is evaluated, and held against the
grid. So all forms are found: those of `quantize_and_dequantize`, of narrow ranges, and of QKeras, x + (q(x) - x).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.quantize.fake_quant import KIND, Steps, steps_of
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.linear import linear

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
def raise_fake_quant(module: Module) -> None:
    """Raise arithmetic that rounds to the steps of an int8 tensor: MUL(ROUND(MUL(x, 2)), 0.5) -> FAKE_QUANT(x).

    x must be cut to what 256 steps hold, here [-64, 63.5]. Of fewer steps MINIMUM cuts off the others, behind a
    FAKE_QUANT of fewer bits, too. What files of TFLiteConverter hold is taken likewise: DEQUANTIZE(QUANTIZE(x)) ->
    FAKE_QUANT(x), and weights that DEQUANTIZE expands as floats."""
    for graph in module.graphs():
        expanded = _expand_weights(graph)
        ends = dict(_ends(graph))
        if ends:
            _replace(graph, ends)
        if ends or expanded:
            _remove_dead(graph)


@dataclass(frozen=True)
class Rounding:
    """A tensor is the root, rounded to steps, times the gain."""

    root: Value
    steps: Steps
    gain: float = 1.0


def _ends(graph: Graph) -> Iterator[tuple[Op, Rounding]]:
    """Yield the last op of each rounding, with the rounding."""
    for op in graph.ops:
        if op.kind in _ROUNDS and op.result.dtype is types.FLOAT32:
            yield from _roundings(op)
        elif op.kind == KIND and op.attrs.get("num_bits", 0) < 8:
            steps, value = steps_of(op), op.operands[0]
            if steps is not None and value is not None:
                yield op, Rounding(value, steps)
        elif op.kind == "tfl.DEQUANTIZE":
            pair = _pair(op)
            if pair is not None:
                yield op, pair


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
    return Rounding(root, Steps(least * how.scale[0], how.scale[0], 256))


def _expand_weights(graph: Graph) -> bool:
    """Let ops read weights of 8 bits as the floats that they stand for: DEQUANTIZE(QUANTIZE(w)), DEQUANTIZE(w) -> w.

    Return whether there are any."""
    changed = False
    for op in graph.ops:
        stored = op.operands[0] if op.kind == "tfl.DEQUANTIZE" else None
        array = _expanded(stored) if stored is not None and stored.dtype in _BYTES else None
        if array is not None:
            replace_uses(op.result, constant(array, types.FLOAT32, op.result.name))
            changed = True
    return changed


def _expanded(stored: Value) -> np.ndarray | None:
    """Return what integers stand for that are constants, or made of one; None for others."""
    how = stored.quantization
    given = stored.op.operands[0] if stored.op is not None and stored.op.kind == "tfl.QUANTIZE" else stored
    if how is None or given is None or given.data is None or given.dtype not in (stored.dtype, types.FLOAT32):
        return None
    sizes = [-1 if axis == how.axis else 1 for axis in range(given.data.ndim)] if len(how.scale) > 1 else []
    scale, zero = (np.array(each, np.float32).reshape(sizes) for each in (how.scale, how.zero_point))
    array = given.data
    if given is not stored:
        ends, steps = np.iinfo(stored.dtype.numpy), given.data / scale
        array = np.clip(np.copysign(np.floor(np.abs(steps) + 0.5), steps) + zero, ends.min, ends.max)
    return ((array - zero) * scale).astype(np.float32)


def _roundings(op: Op) -> Iterator[tuple[Op, Rounding]]:
    """Yield the largest rounding that a ROUND or FLOOR is a part of, if it is of one."""
    roots = list(_before(op))[::-1]
    for end in list(_behind(op))[::-1]:
        for root in roots:
            found = _rounded(root, end) if root.shape == end.result.shape else None
            if found is not None:
                yield end, found
                return


def _before(op: Op) -> Iterator[Value]:
    """Yield what an op is made from: tensors of floats along one line, the last one first."""
    for _ in range(_BEFORE):
        value = next((each for each in op.operands if each is not None and not each.is_const), None)
        if value is None or value.dtype is not types.FLOAT32:
            return
        yield value
        if value.op is None or value.op.type not in _KNOWN:
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
    offsets = (made - least) / step
    on_grid = np.abs(offsets - np.rint(offsets)).max() < _SLACK and abs(least / step - round(least / step)) < _SLACK
    nearest = np.abs(made - np.clip(gain * numbers, least, largest)).max() <= (0.5 + _SLACK) * step
    if not (on_grid and nearest):
        return None
    gain = 1.0 if abs(gain - 1) * count < _SLACK else gain
    return Rounding(root, Steps(round(least / step) * step / gain, step / gain, count), gain)


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
    bounds = _CLAMPS.get(op.type) or _CLAMPS.get(op.attrs.get("fused_activation_function", "NONE"))
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


def _replace(graph: Graph, ends: dict[Op, Rounding]) -> None:
    replaced: dict[Value, Value] = {}
    out: list[Op] = []
    for op in graph.ops:
        out.append(op)
        if op in ends:
            root = ends[op].root
            scaled = _scale_readers(op.result, ends[op].gain)
            tfl = Builder(out, op.name, op.sources)
            made = replaced[op.result] = _built(tfl, replaced.get(root, root), ends[op], scaled)
            replace_uses(op.result, made)
    graph.ops = out


def _remove_dead(graph: Graph) -> None:
    dead = set()
    for op in reversed(graph.ops):
        if op.type in _REPLACED and not op.result.uses:
            detach(op)
            dead.add(op)
    graph.ops = [op for op in graph.ops if op not in dead]


def _scale_readers(value: Value, gain: float) -> bool:
    """Let the weights of those that read a value take the gain in; return False if others read it."""
    readers = [linear(reader) for reader in value.uses]
    if gain == 1 or any(reader is None or reader.data is not value for reader in readers):
        return gain == 1
    for reader in readers:
        assert reader is not None
        weights = constant(reader.array * np.float32(gain), types.FLOAT32, reader.weights.name)
        reader.op.set_operand(reader.layout.weights, weights)
    return True


def _built(tfl: Builder, root: Value, rounding: Rounding, scaled: bool) -> Value:
    """Return the root rounded, and times the gain if its readers are not scaled by it."""
    steps = rounding.steps
    least, largest = (float(np.float32(end)) for end in (steps.least, steps.least + 255 * steps.step))
    made: Value = tfl.fake_quant(root, min=least, max=largest, num_bits=8)
    if steps.count < 256:
        made = tfl.minimum(made, np.float32(steps.largest))
    return made if scaled else tfl.mul(made, np.float32(rounding.gain))
