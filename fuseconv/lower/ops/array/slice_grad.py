"""Gradients of slices, and tensors with other elements where a slice is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import Insert, Masks, Pick, SliceSpec, Take
from fuseconv.lower.ops.array.slice import StridedSlice
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_vector, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import broadcast_to, build_legalized, filled, scalar, select
from fuseconv.lower.support.type_promotion import cast

# A number that is known, or a vector of one that is computed: int32 [1].
Number = int | Value


@lowers
def StridedSliceGrad(
    tfl, shape, begin, end, strides, dy, *,
    begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
):  # fmt: skip
    """GATHER of the gradient, and of 0 where the slice took nothing; PAD where sizes or bounds are not known."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    if not (shape.is_const and begin.is_const and end.is_const):
        return _padded_gradient(tfl, shape, (begin, end, strides), dy, masks)
    dims = [int(size) for size in shape.data]
    budget.require_room(int(product(dims)), 8, tfl.name)
    taken = _slice_indices(dims, begin, end, strides, masks)
    source = np.full(int(np.prod(dims)), taken.size, np.int32)
    source[taken.reshape(-1)] = np.arange(taken.size)
    return _gather_by_index(tfl, [reshape(tfl, dy, (taken.size,)), scalar(0, dy.dtype)], source.reshape(dims))


@lowers
def TensorStridedSliceUpdate(
    tfl, x, begin, end, strides, value, *,
    begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0,
):  # fmt: skip
    """GATHER of the value where the slice is, else of the operand; SELECT_V2 of what PAD makes as large where sizes or
    bounds are not known."""
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    static = tfl.static_shape(shape_of(x))
    if static is None or tfl.static_shape(shape_of(value)) is None or not (begin.is_const and end.is_const):
        return _padded_update(tfl, x, (begin, end, strides), value, masks)
    dims = list(static)
    budget.require_room(int(product(dims)), 8, tfl.name)
    taken = _slice_indices(dims, begin, end, strides, masks)
    size = int(np.prod(dims))
    source = np.arange(size, dtype=np.int32)
    places = np.arange(int(np.prod(static_dims(shape_of(value), "the shape of the value")))).reshape(value.shape)
    source[taken.reshape(-1)] = size + np.broadcast_to(places, taken.shape).reshape(-1)
    return _gather_by_index(tfl, [reshape(tfl, x, (size,)), reshape(tfl, value, (places.size,))], source.reshape(dims))


def _padded_update(
    tfl: Lowering, x: Value, bounds: tuple[Value, Value, Value], value: Value, masks: tuple[int, ...]
) -> Value:
    """Return x with the value, which broadcasts to the slice, padded to x's shape, where 1s so padded are not 0."""
    taken = StridedSlice(tfl, x, *bounds, **Masks(*masks)._asdict())
    shape = tfl.shape_(x)
    ones = filled(tfl, None, 1, types.INT32, taken)
    ones.shape = shape_of(taken)
    value = broadcast_to(tfl, value, shape_of(taken), taken)
    there, values = (_padded_gradient(tfl, shape, bounds, each, masks) for each in (ones, value))
    return select(tfl, tfl.not_equal(there, 0), values, x)


def _slice_indices(dims: list[int], begin: Value, end: Value, strides: Value, masks: tuple[int, ...]) -> np.ndarray:
    """Return the flat places that a strided slice takes of a tensor of these dimensions, in the slice's shape."""
    spec = SliceSpec.read([constant_of(x, "the slice").tolist() for x in (begin, end, strides)], masks)
    taken: np.ndarray = np.arange(int(np.prod(dims))).reshape(dims)[spec.index()]
    return taken


def _gather_by_index(tfl: Lowering, flat: list[Value], source: np.ndarray) -> Value:
    """Build a gather from the flattened, joined operands: the result has the shape of `source`, which holds an index
    for each element."""
    parts = [reshape(tfl, x, (1,)) if x.rank == 0 else x for x in flat]

    def gathered(*wide: Value) -> Value:
        return tfl.gather(tfl.concatenation(*wide, axis=0), source.astype(np.int32), axis=0)

    require(product(source.shape) != 0, "nothing is left")
    return build_legalized(tfl, "GATHER", gathered, *parts)


def _padded_gradient(
    tfl: Lowering, shape: Value, bounds: tuple[Value, Value, Value], dy: Value, masks: tuple[int, ...]
) -> Value:
    """Return the gradient dy of a slice padded with zeros to the shape of what was sliced, int32 or int64 [rank]."""
    (rank,) = static_dims(shape_of(shape, 1), "the rank of what was sliced")
    begin, _, strides = bounds
    steps = constant_of(strides, "the stride").tolist()
    begins = [_at(tfl, begin, i) for i in range(len(steps))]
    # How many elements were taken is what dy tells: the ends are not read.
    entries = SliceSpec.read([begins, [None] * len(steps), steps], masks).unfold(rank)
    require(entries is not None, "the slice names more dimensions than its operand has")
    cuts = [entry for entry in entries or () if not isinstance(entry, Insert)]
    whole: Sequence[Dim | None] = tfl.shape or (None,) * rank
    dy = _of_each_dim(tfl, dy, entries or ())
    pads: list[Number] = []
    for axis, (cut, size) in enumerate(zip(cuts, whole)):
        dy = _spread(tfl, dy, axis, cut.stride if isinstance(cut, Take) else 1)
        count = _number(tfl, shape_of(dy)[axis], dy)
        if isinstance(cut, Take) and size is not None and size == shape_of(dy)[axis]:
            pads += [0, 0]
            continue
        total = size if isinstance(size, int) else _at(tfl, shape, axis)
        before = _first(tfl, cut, total, count)
        pads += [before, _sum(tfl, total, before, count, signs=(1, -1, -1))]
    y = build_legalized(tfl, "PAD", lambda wide: tfl.pad(wide, _matrix(tfl, pads)), dy) if any(pads) else dy
    y.shape = tfl.shape
    return y


def _of_each_dim(tfl: Lowering, dy: Value, entries: Sequence[Take | Pick | Insert]) -> Value:
    """Return dy with one dimension for each of what was sliced: of one element where one was picked."""
    given, dims = iter(shape_of(dy)), []
    for entry in entries:
        size = 1 if isinstance(entry, Pick) else next(given)
        if not isinstance(entry, Insert):
            dims.append(size)
    return reshape(tfl, dy, dims, dy)


def _spread(tfl: Lowering, dy: Value, axis: int, stride: int) -> Value:
    """Return dy with zeros between its elements, and in the order of what was sliced."""
    if stride < 0:
        dy = build_legalized(tfl, "REVERSE_V2", lambda wide: tfl.reverse_v2(wide, [axis]), dy)
    step, dims = abs(stride), shape_of(dy)
    if step == 1:
        return dy
    apart = reshape(tfl, dy, [*dims[: axis + 1], 1, *dims[axis + 1 :]], dy)
    pads = [[0, step - 1 if at == axis + 1 else 0] for at in range(len(dims) + 1)]
    wide = build_legalized(tfl, "PAD", lambda each: tfl.pad(each, np.array(pads, np.int32)), apart)
    joined = reshape(tfl, wide, [*dims[:axis], dims[axis] * step, *dims[axis + 1 :]], wide, dy)
    mask, ends = (1 << len(dims)) - 1, [1 - step if at == axis else 0 for at in range(len(dims))]

    def cut(each: Value) -> Value:
        none = [0] * len(dims)
        return tfl.strided_slice(each, none, ends, [1] * len(dims), begin_mask=mask, end_mask=mask ^ 1 << axis)

    return build_legalized(tfl, "STRIDED_SLICE", cut, joined)


def _first(tfl: Lowering, cut: Take | Pick, total: Number, count: Number) -> Number:
    """Return where the first of `count` elements stands, of which the slice took all or some, among `total`."""
    backward = isinstance(cut, Take) and cut.stride < 0
    begin = cut.begin if isinstance(cut, Take) else cut.index
    if begin is None:
        return _sum(tfl, total, count, signs=(1, -1)) if backward else 0
    if isinstance(begin, Value):
        later = tfl.add(begin, total)
        begin = tfl.select_v2(tfl.less(begin, tfl.ints([0])), later, begin)
    elif begin < 0:
        begin = _sum(tfl, total, begin)
    if backward:
        # The first that the slice took, not beyond the last there is, is the last of these.
        begin = _sum(tfl, _least(tfl, begin, _sum(tfl, total, -1)), 1, count, signs=(1, 1, -1))
    if isinstance(begin, int) and begin <= 0:
        return 0
    lowest = begin if isinstance(begin, int) else tfl.maximum(begin, tfl.ints([0]))
    return lowest if isinstance(cut, Pick) else _least(tfl, lowest, total)


def _at(tfl: Lowering, vector: Value, index: int) -> Number:
    """Return an element of a vector of whole numbers."""
    if vector.data is not None:
        return int(vector.data[index])
    return cast(tfl, tfl.strided_slice(vector, [index], [index + 1], [1]), types.INT32)


def _number(tfl: Lowering, dim: Dim, source: Value) -> Number:
    return dim if isinstance(dim, int) else dim_vector(tfl, dim, source)


def _sum(tfl: Lowering, *numbers: Number, signs: Sequence[int] = ()) -> Number:
    """Return the sum of numbers, or the difference where a sign is -1; the first is not subtracted."""
    total, *rest = numbers
    for number, sign in zip(rest, signs[1:] or (1,) * len(rest)):
        if isinstance(total, int) and isinstance(number, int):
            total += sign * number
        elif number != 0:
            left = tfl.ints([total]) if isinstance(total, int) else total
            right = tfl.ints([number]) if isinstance(number, int) else number
            total = tfl.add(left, right) if sign > 0 else tfl.sub(left, right)
    return total


def _least(tfl: Lowering, a: Number, b: Number) -> Number:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    vectors = [tfl.ints([each]) if isinstance(each, int) else each for each in (a, b)]
    return tfl.minimum(*vectors)


def _matrix(tfl: Lowering, pads: list[Number]) -> Value:
    """Return the amounts before and after as int32 [rank,2]."""
    if all(isinstance(each, int) for each in pads):
        return tfl.const(np.array(pads, np.int32).reshape(-1, 2))
    vectors = [tfl.ints([each]) if isinstance(each, int) else each for each in pads]
    return tfl.reshape(tfl.concatenation(*vectors, axis=0), [len(pads) // 2, 2])
