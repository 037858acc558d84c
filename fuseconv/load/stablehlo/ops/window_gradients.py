"""Gradients of pools: numbers added where a window's largest or least element stands -> ScatterNd."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.reductions import reducers
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, ints, refuse_unless, tensor_type, text

# Windows of more elements than these are not written out.
_MOST_ELEMENTS = 128
# The comparison of the chosen element with a later one that keeps the former, with its operands in the other order.
_TURNED = {"GE": "LE", "GT": "LT", "LE": "GE", "LT": "GT"}
_BETTER = {"GE": "Greater", "GT": "GreaterEqual", "LE": "Less", "LT": "LessEqual"}


@dataclass(frozen=True)
class _Windows:
    """How windows lie over an operand: its shape, and by dimension how many there are, and their sizes, steps and how
    far the first begins before the operand. All of them without the dimensions in front, `outer`, of unknown sizes."""

    outer: int
    shape: list[int]
    counts: list[int]
    sizes: list[int]
    strides: list[int]
    low: list[int]

    def places(self, element: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return where this element of each window is in the flat operand (any place, if it is outside of it), and
        whether it is inside."""
        flat, inside = np.zeros(self.counts, np.int32), np.ones(self.counts, bool)
        for axis, (at, whole) in enumerate(zip(element, self.shape)):
            along = np.arange(self.counts[axis]) * self.strides[axis] + at - self.low[axis]
            lined = along.reshape([-1 if other == axis else 1 for other in range(len(self.shape))])
            flat = flat * whole + np.clip(lined, 0, max(whole - 1, 0)).astype(np.int32)
            inside &= (lined >= 0) & (lined < whole)
        return flat, inside


@imports
def select_and_scatter(tf: Scope, op: Operation, x: Value, source: Value, start: Value) -> Value:
    """ScatterNd(places of the chosen elements, source): the places are compared element by element of a window."""
    comparison = _comparison(op.regions[0])
    refuse_unless(reducers(op.regions[1], 1) == ["add"], "what it scatters is joined by something else than a sum")
    windows = _windows(op)
    elements = list(itertools.product(*map(range, windows.sizes)))
    refuse_unless(len(elements) <= _MOST_ELEMENTS, f"windows of {len(elements)} elements")
    budget.require_elements((len(elements), *windows.counts), np.dtype(np.int32), tf.op.name)
    count = int(np.prod(windows.shape, dtype=object))
    batched = windows.outer > 0
    flat = tf.Reshape(x, [-1, count] if batched else [-1])
    best: Value | None = None
    where: Value | None = None
    for element in elements:
        places, inside = windows.places(element)
        if not inside.any():
            continue
        value = tf.GatherV2(flat, tf.const(places, types.INT32), int(batched))
        if best is None or where is None:
            # Where this one is outside, the first that is inside takes its place, whatever it is.
            best, where, found = value, tf.const(places, types.INT32), inside
            continue
        better = tf.add(_BETTER[comparison], [value, best], {}, types.BOOL)
        better = tf.LogicalAnd(better, tf.const(inside, types.BOOL)) if not inside.all() else better
        if not found.all():
            better = tf.LogicalOr(better, tf.const(inside & ~found, types.BOOL))
        found = found | inside
        best = tf.SelectV2(better, value, best, dtype=x.dtype)
        where = tf.SelectV2(better, tf.const(places, types.INT32), where, dtype=types.INT32)
    refuse_unless(where is not None and found.all(), "a window lies outside of what it goes over")
    assert where is not None
    shape, total = tf.ints(windows.shape), tf.ints([count])
    if batched:
        rows = tf.size(flat)
        first = tf.Mul(tf.Range(0, rows, 1), tf.const(count))
        where = tf.AddV2(where, tf.Reshape(first, [-1, *[1] * len(windows.shape)]))
        shape, total = tf.shape(x), tf.Reshape(tf.Mul(rows, tf.const(count)), [1])
    indices = tf.ExpandDims(tf.Reshape(where, [-1]), 1)
    made = tf.ScatterNd(indices, tf.Reshape(source, [-1]), total, dtype=x.dtype)
    made = tf.Reshape(made, shape)
    return made if start.is_const and not np.any(start.data) else tf.AddV2(made, start)


def _windows(op: Operation) -> _Windows:
    kinds = [tensor_type(var) for var in op.operands[:2]]
    sizes, strides, pads = (ints(op.attribute(name)) for name in ("window_dimensions", "window_strides", "padding"))
    low, high = pads[::2], pads[1::2]
    listed = [kinds[0].shape, kinds[1].shape, sizes, strides, low, high]
    if len({len(each) for each in listed}) > 1 or min([*sizes, *strides], default=1) < 1:
        raise DamagedError("a window has another rank than what it goes over, or no stride")
    by_axis = list(zip(*listed))
    outer = list(itertools.takewhile(lambda axis: axis == (None, None, 1, 1, 0, 0), by_axis))
    inner = by_axis[len(outer) :]
    known = all(None not in axis for axis in inner)
    refuse_unless(known, "the shape of its operand is not known, but for a batch in front")
    for shape, count, size, step, *ends in inner:
        if count != (shape + sum(ends) - size) // step + 1:  # type: ignore[operator,arg-type]
            raise DamagedError("what it scatters has not one number for each window")
    columns = [[axis[place] for axis in inner] for place in range(5)]
    return _Windows(len(outer), *columns)  # type: ignore[arg-type]


def _comparison(body: Region) -> str:
    """Return the comparison that keeps the element that was chosen before."""
    first, second = body.arguments if len(body.arguments) == 2 else (None, None)
    found = body.returned[0].op if len(body.returned) == 1 else None
    plain = found is not None and found.name == "compare" and {*found.operands} == {first, second}
    refuse_unless(plain, "what it chooses by is no comparison of two elements")
    assert found is not None
    direction = text(found.attribute("comparison_direction"))
    refuse_unless(direction in _BETTER, f"it chooses by {direction}")
    return direction if found.operands[0] is first else _TURNED[direction]
