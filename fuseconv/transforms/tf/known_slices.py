"""Name the slices of StableHLO whose places are known: by sizes that only a run tells, and by indices that count."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.dims import Dim, ceildiv
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import either_way, op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.iota import counts_up
from fuseconv.tf.operands import added_units, content_of, is_reversal
from fuseconv.tf.traits import ADDS, RESHAPES
from fuseconv.transforms.tf.slice_bounds import elements_of, slice_bounds

# Attributes of a slice without shrunk or new dimensions.
_OPEN = {"begin_mask", "end_mask"}
# What JAX computes indices with besides clamps, at most so often.
_SUMS = ADDS | {"tf.Mul"}
_MOST_OPS = 8


def open_slice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Open the bounds of a slice at the ends of dimensions whose sizes only a run tells, and forward one of all."""
    x, *bounds = op.operands
    begin, end, strides = (content_of(bound) for bound in bounds)
    if begin is None or end is None or strides is None or x is None or x.shape is None or set(op.attrs) - _OPEN:
        return None
    starts, ends = ([*np.reshape(each, -1)] for each in (begin, end))
    steps = [int(stride) for stride in np.reshape(strides, -1)]
    # A slice that goes backwards begins at the other end.
    if len(starts) != len(x.shape) or min(steps, default=1) < 1:
        return None
    if all(isinstance(last, (int, np.integer)) for last in ends):
        return None
    opened = [
        (0 if op.attrs.get("begin_mask", 0) >> axis & 1 else first,
         size if op.attrs.get("end_mask", 0) >> axis & 1 or last == size else last, size)
        for axis, (first, last, size) in enumerate(zip(starts, ends, x.shape))
    ]  # fmt: skip
    return _cut(op, x, opened, steps, tf)


def shrunk_slice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Take single rows without their dimensions: Reshape(StridedSlice(x, [2], [3]) [1, b, 4], [b, 4]) -> x[2].

    Columns keep theirs: they are parts of indices, and joined again."""
    cut = op_of(op.operands[0], "tf.StridedSlice")
    if cut is None or set(cut.attrs) - _OPEN or len(cut.result.uses) != 1:
        return None
    x, *bounds = cut.operands
    before, after = cut.result.shape, op.result.shape
    units = added_units(after, before) if before is not None and after is not None else None
    known = [bound.data for bound in bounds if bound is not None and bound.data is not None]
    if not units or x is None or x.shape is None or len(known) != 3:
        return None
    starts, ends, steps = (data.reshape(-1).tolist() for data in known)
    if max(units) >= min(len(starts), x.rank - 1):  # type: ignore[operator]
        return None
    masks = {name: cut.attrs.get(name, 0) for name in _OPEN}
    for axis in units:
        if masks["begin_mask"] >> axis & 1:
            starts[axis] = 0
        if masks["end_mask"] >> axis & 1:
            ends[axis] = x.shape[axis]
        if starts[axis] < 0 or ends[axis] != starts[axis] + 1 or steps[axis] != 1:
            return None
    single = sum(1 << axis for axis in units)
    attrs = {name: mask & ~single for name, mask in masks.items() if mask & ~single} | {"shrink_axis_mask": single}
    return [tf.add("StridedSlice", [x, *map(tf.ints, (starts, ends, steps))], attrs, op.result.dtype, after)]


def placed_slice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name a slice that starts at a known place: XlaDynamicSlice(x, [0, 4]) -> StridedSlice(x, [0, 4])."""
    x, start, size = op.operands
    starts, sizes = elements_of(start), elements_of(size)
    if starts is None or sizes is None or x is None or x.shape is None or not len(starts) == len(sizes) == x.rank:
        return None
    opened: list[tuple] = []
    for first, taken, whole in zip(starts, sizes, x.shape):
        bounds = (0, whole) if taken is whole or taken == whole else slice_bounds(first, taken, whole)
        if bounds is None:
            return None
        opened.append((*bounds, whole))
    return _cut(op, x, opened, [1] * len(opened), tf)


def _cut(op: Op, x: Value, bounds: list[tuple], strides: list[int], tf: TfBuilder) -> list[Value] | None:
    """Return a slice by (begin, end, size) of each dimension, whose bounds are open where they are its ends; None if
    another bound is not known."""
    begins, ends, masks = [], [], {"begin_mask": 0, "end_mask": 0}
    for axis, (first, last, size) in enumerate(bounds):
        masks["begin_mask"] |= int(first == 0) << axis
        masks["end_mask"] |= int(last == size) << axis
        last = 0 if last == size and not isinstance(last, (int, np.integer)) else last
        if not isinstance(first, (int, np.integer)) or not isinstance(last, (int, np.integer)):
            return None
        begins.append(int(first))
        ends.append(int(last))
    if all(first == 0 and last == size for first, last, size in bounds) and set(strides) <= {1}:
        return [x]
    attrs = {name: mask for name, mask in masks.items() if mask}
    operands = [x, tf.ints(begins), tf.ints(ends), tf.ints(strides)]
    return [tf.add("StridedSlice", operands, attrs, x.dtype, op.result.shape)]


def strided_slice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Slice what indices take that count: GatherV2(x, 1 + 2 * Range(0, n // 2, 1), axis=1) -> x[:, 1::2]; and the last
    element: GatherV2(x, n - 1, axis=1) -> x[:, -1].

    So JAX writes slices of dimensions whose sizes only a run tells."""
    x, indices, along = op.operands
    axis = content_of(along)
    if x is None or x.shape is None or axis is None or op.attrs.get("batch_dims") or indices is None:
        return None
    at = int(axis.reshape(-1)[0]) % len(x.shape)
    size = x.shape[at]
    counted = None if isinstance(size, int) or indices.rank not in (0, 1) else _counted(indices, size)
    if counted is None:
        return None
    start, step = counted
    begin = start if isinstance(start, int) else 0
    here, before = 1 << at, (1 << at) - 1
    masks = {"begin_mask": before, "end_mask": before | here}
    if indices.rank == 0:
        if start != size - 1:
            return None
        begin, masks = -1, {"begin_mask": before, "end_mask": before, "shrink_axis_mask": here}
    elif start in (0, size - 1):
        # Where an end is open it is that from which the step leads away.
        if indices.shape != (ceildiv(size, abs(step)),) or (start == 0) != (step > 0):
            return None
        begin, masks["begin_mask"] = 0, before | here
    elif not isinstance(start, int) or start < 0 or step < 1 or indices.shape != (ceildiv(size - start, step),):
        return None
    begins, ends, strides = [0] * at + [begin], [0] * (at + 1), [1] * at + [step]
    operands = [x, tf.ints(begins), tf.ints(ends), tf.ints(strides)]
    attrs = {name: mask for name, mask in masks.items() if mask}
    return [tf.add("StridedSlice", operands, attrs, x.dtype, op.result.shape)]


def grid_slice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Slice what constant places take that are a grid: GatherNd(x, [[[0, 1], [0, 3]], [[2, 1], [2, 3]]]) ->
    x[0:3:2, 1:4:2], as JAX writes x[::2, 1::2] of sizes that it knows."""
    x, places = op.operands
    grid = None if places is None else places.data
    if x is None or x.shape is None or grid is None or not grid.size or grid.ndim != grid.shape[-1] + 1:
        return None
    bounds: list[tuple] = []
    strides = []
    for axis, size in enumerate(x.shape[: grid.ndim - 1]):
        line = np.moveaxis(grid[..., axis], axis, -1)
        first, step = int(line.flat[0]), int(line.flat[1] - line.flat[0]) if line.shape[-1] > 1 else 1
        last = first + step * (line.shape[-1] - 1)
        inside = isinstance(size, int) and 0 <= first <= last < size and step > 0
        if not inside or not (line == np.arange(first, last + 1, step)).all():
            return None
        bounds.append((first, last + 1, size))
        strides.append(step)
    bounds += [(0, size, size) for size in x.shape[len(bounds) :]]
    return _cut(op, x, bounds, strides + [1] * (len(bounds) - len(strides)), tf)


def transposed_slice(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Slice between transpositions that undo one another: Transpose(StridedSlice(Transpose(x))) -> StridedSlice(x)."""
    cut = op_of(op.operands[0], "tf.StridedSlice")
    first = None if cut is None else op_of(cut.operands[0], "tf.Transpose")
    if cut is None or first is None or set(cut.attrs) - _OPEN or len(cut.result.uses) != 1:
        return None
    x, before = first.operands
    constants = [value.data for value in (op.operands[1], before, *cut.operands[1:]) if value is not None]
    if x is None or any(data is None or data.size != x.rank for data in constants):
        return None
    order, moved, *bounds = (np.reshape(data, -1) for data in constants)  # type: ignore[arg-type]
    if (moved[order] != np.arange(x.rank or 0)).any():
        return None
    masks = {
        name: sum((mask >> int(axis) & 1) << at for at, axis in enumerate(order)) for name, mask in cut.attrs.items()
    }
    operands = [x, *(tf.ints(bound[order]) for bound in bounds)]
    return [tf.add("StridedSlice", operands, masks, x.dtype, op.result.shape)]


def _counted(indices: Value, size: Dim) -> tuple[Dim, int] | None:
    """Return the first of numbers that count, and the step between them. They may be held within a dimension of this
    size, in which a slice lies anyway."""
    sums: list[tuple[str, Dim]] = []
    value = indices
    while len(sums) < _MOST_OPS and not counts_up(value):
        op, content = value.op, content_of(value)
        if content is not None and content.size == 1:
            sums.append(("tf.AddV2", content.reshape(-1)[0]))
            break
        if op is None or op.operands[0] is None:
            return None
        source = op.operands[0]
        if op.kind in RESHAPES or (op.kind == "tf.BroadcastTo" and source.shape == value.shape):
            value = source
            continue
        if is_reversal(op, 0) and source.rank == 1:
            sums.append((op.kind, source.shape[0]))  # type: ignore[index]
            value = source
            continue
        if op.kind not in ("tf.Maximum", "tf.Minimum") and op.kind not in _SUMS:
            return None
        parts = [(x, content_of(other)) for x, other in either_way(op) if x.shape == op.result.shape]
        value, known = next((part for part in parts if part[1] is not None), (value, None))
        if known is None or known.size != 1:
            return None
        number = known.reshape(-1)[0]
        if op.kind in _SUMS and (op.kind != "tf.Mul" or isinstance(number, int)):
            sums.append((op.kind, number))
        elif sums or number != (0 if op.kind == "tf.Maximum" else size - 1):
            return None
    else:
        if not counts_up(value):
            return None
    start: Dim = 0
    step = 1
    for kind, amount in reversed(sums):
        if kind == "tf.Mul" and isinstance(amount, int):
            start, step = start * amount, step * amount
        elif kind == "tf.ReverseV2":
            start, step = start + (amount - 1) * step, -step
        else:
            start = start + amount
    return (start, step) if step else None
