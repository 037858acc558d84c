"""Sparse tensors: the indices [n, rank] of their elements, int64, the elements [n], and the shape [rank], int64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.arithmetic import floor_quotient
from fuseconv.lower.ops.math.reduction import reduced
from fuseconv.lower.ops.ragged import elements
from fuseconv.lower.ops.segment import unsorted
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, filled, scalar, select
from fuseconv.lower.support.type_promotion import cast, in_float32


@lowers
def SparseReorder(tfl, indices, values, shape):
    """GATHER in the order that TOPK_V2 gives the places in the dense tensor."""
    return _reordered(tfl, indices, values, shape)


@lowers
def SparseReshape(tfl, indices, shape, new_shape):
    """The places in the dense tensor, taken apart by the new sizes."""
    whole = tfl.reduce_prod(shape, [0])
    unknown = tfl.less(new_shape, scalar(0, types.INT64))
    others = tfl.reduce_prod(select(tfl, unknown, 1, new_shape), [0])
    rest = floor_quotient(tfl, whole, elementwise(tfl, "MAXIMUM", others, 1))
    made = select(tfl, unknown, rest, new_shape)
    place = _flat_indices(tfl, _columns(tfl, indices), _sizes(tfl, shape))
    columns = []
    for size in _sizes(tfl, made)[:0:-1]:
        size = elementwise(tfl, "MAXIMUM", size, 1)  # TFLite divides nothing by 0, not even nothing
        columns.append(elementwise(tfl, "FLOOR_MOD", place, size))
        place = floor_quotient(tfl, place, size)
    return [_joined(tfl, [place, *columns[::-1]]), made]


@lowers
def SparseFillEmptyRows(tfl, indices, values, dense_shape, default_value):
    """GATHER of the elements by their rows, behind which the default stands for the rows that are empty."""
    count, rank = shape_of(indices, 2)
    row = cast(tfl, _columns(tfl, indices)[0], types.INT32)
    rows = cast(tfl, _sizes(tfl, dense_shape)[0], types.INT32)
    once = filled(tfl, (count,), 1, types.INT32, indices)
    occurs = unsorted(tfl, "UNSORTED_SEGMENT_SUM", once, row, rows)
    empty = tfl.equal(occurs, 0)
    start = tfl.cumsum(occurs, tfl.const(0, types.INT32), exclusive=True)
    of = elements(tfl, tfl.maximum(occurs, 1))
    order = _order(tfl, row)
    # Behind the elements, in the order of their rows, stands one more: the default.
    last = dim_scalar(tfl, count, indices)
    closed = tfl.concatenation(order, tfl.reshape(last, [1]), axis=0)
    there = tfl.add(tfl.gather(start, of.row, axis=0), of.place)
    element = tfl.gather(closed, select(tfl, tfl.gather(empty, of.row, axis=0), last, there), axis=0)
    nothing = tfl.const(np.zeros((1, *static_dims([rank], "the rank")), np.int64))
    taken = tfl.gather(tfl.concatenation(indices, nothing, axis=0), element, axis=0)
    columns = [cast(tfl, of.row, types.INT64), *_columns(tfl, taken)[1:]]
    default = tfl.reshape(default_value, [1])

    def filled_up(wide: Value, default: Value) -> Value:
        return tfl.gather(tfl.concatenation(wide, default, axis=0), element, axis=0)

    made = build_legalized(tfl, "GATHER", filled_up, values, default)
    sorted_row = tfl.gather(row, order, axis=0)
    shift = tfl.sub(tfl.gather(of.splits, sorted_row, axis=0), tfl.gather(start, sorted_row, axis=0))
    went = tfl.add(iota(tfl, count, indices), shift)
    back = tfl.scatter_nd(tfl.expand_dims(order, 1), went, tfl.reshape(last, [1]))
    return [_joined(tfl, columns), made, empty, cast(tfl, back, types.INT64)]


@lowers
def SparseReduceSum(tfl, indices, values, shape, reduction_axes, *, keep_dims=False):
    """SUM of SCATTER_ND."""
    where, sizes = cast(tfl, indices, types.INT32), cast(tfl, shape, types.INT32)
    dense = build_legalized(tfl, "SCATTER_ND", lambda x: tfl.scatter_nd(where, x, sizes), values)
    return reduced(tfl, "SUM", dense, reduction_axes, keep_dims, 0)


@lowers
def SparseReduceMax(tfl, indices, values, shape, reduction_axes, *, keep_dims=False):
    """REDUCE_MAX of SCATTER_ND, with the least number where no element is; 0 where nothing is reduced."""
    where, sizes = cast(tfl, indices, types.INT32), cast(tfl, shape, types.INT32)
    dense = build_legalized(tfl, "SCATTER_ND", lambda x: tfl.scatter_nd(where, x, sizes), values)
    there = tfl.scatter_nd(where, filled(tfl, values.shape, 1, types.INT32, values), sizes)
    lowest = -np.inf if dense.dtype.is_float else np.iinfo(dense.dtype.numpy).min
    most = reduced(tfl, "REDUCE_MAX", select(tfl, tfl.equal(there, 0), lowest, dense), reduction_axes, keep_dims, 0)
    count = reduced(tfl, "SUM", there, reduction_axes, keep_dims, 0)
    return select(tfl, tfl.equal(count, 0), 0, most)


@lowers
def SparseConcat(tfl, *operands, concat_dim):
    """CONCATENATION of the elements, their indices moved along the dimension; then as SparseReorder."""
    count = len(operands) // 3
    places, values, shapes = (operands[at : at + count] for at in (0, count, 2 * count))
    (rank,) = static_dims(shape_of(shapes[0], 1), "the rank of a sparse tensor")
    axis = concat_dim % rank
    along = (np.arange(rank) == axis).astype(np.int64)
    whole, moved = shapes[0], [places[0]]
    for place, shape in zip(places[1:], shapes[1:]):
        moved.append(elementwise(tfl, "ADD", place, tfl.mul(whole, along)))
        whole = tfl.add(tfl.mul(shape, along), whole)
    indices = tfl.concatenation(*moved, axis=0)
    elements = build_legalized(tfl, "CONCATENATION", lambda *wide: tfl.concatenation(*wide, axis=0), *values)
    return [indices, elements, whole] if axis == 0 else [*_reordered(tfl, indices, elements, whole), whole]


@lowers
def SparseSlice(tfl, indices, values, shape, start, size):
    """GATHER of the elements within."""
    inside = tfl.logical_and(
        elementwise(tfl, "GREATER_EQUAL", indices, start), elementwise(tfl, "LESS", indices, tfl.add(start, size))
    )
    kept = tfl.reshape(tfl.where(tfl.reduce_all(inside, [1])), [-1])
    taken = elementwise(tfl, "SUB", tfl.gather(indices, kept, axis=0), start)
    elements = build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, kept, axis=0), values)
    # By the end, which may be beyond the largest integer, the sizes cannot be told.
    left = elementwise(tfl, "MINIMUM", size, tfl.sub(shape, start))
    return [taken, elements, elementwise(tfl, "MAXIMUM", left, 0)]


@lowers
def SparseAdd(tfl, a_indices, a_values, a_shape, b_indices, b_values, b_shape, thresh):
    """UNSORTED_SEGMENT_SUM of the elements of both in one order: neighbors of the same place are one element."""
    require(not constant_of(thresh, "the threshold").any(), "small sums are dropped")
    indices = tfl.concatenation(a_indices, b_indices, axis=0)
    values = build_legalized(tfl, "CONCATENATION", lambda *wide: tfl.concatenation(*wide, axis=0), a_values, b_values)
    indices, values = _reordered(tfl, indices, values, a_shape)
    place = _flat_indices(tfl, _columns(tfl, indices), _sizes(tfl, a_shape))
    before = tfl.concatenation(tfl.const(np.array([-1], np.int64)), place, axis=0)
    first = tfl.not_equal(tfl.slice_(before, [0], tfl.shape_(place)), place)
    number = tfl.cumsum(cast(tfl, first, types.INT32), tfl.const(0, types.INT32))
    kept = tfl.reshape(tfl.where(first), [-1])
    count = tfl.reshape(tfl.shape_(kept), [])
    sums = unsorted(tfl, "UNSORTED_SEGMENT_SUM", values, tfl.sub(number, 1), count)
    return [tfl.gather(indices, kept, axis=0), sums, a_shape]


@lowers
def SparseTensorDenseAdd(tfl, indices, values, shape, dense):
    """ADD of SCATTER_ND."""
    where, sizes = cast(tfl, indices, types.INT32), cast(tfl, shape, types.INT32)
    return elementwise(
        tfl, "ADD", build_legalized(tfl, "SCATTER_ND", lambda x: tfl.scatter_nd(where, x, sizes), values), dense
    )


@lowers
def SparseDenseCwiseMul(tfl, indices, values, shape, dense):
    """MUL with GATHER_ND of the dense tensor."""
    return elementwise(tfl, "MUL", values, _gather_dense(tfl, indices, dense))


@lowers
def SparseDenseCwiseDiv(tfl, indices, values, shape, dense):
    """DIV by GATHER_ND of the dense tensor."""
    return elementwise(tfl, "DIV", values, _gather_dense(tfl, indices, dense))


@lowers
def SparseDenseCwiseAdd(tfl, indices, values, shape, dense):
    """ADD of GATHER_ND of the dense tensor."""
    return elementwise(tfl, "ADD", values, _gather_dense(tfl, indices, dense))


@lowers
@in_float32
def SparseSoftmax(tfl, indices, values, shape):
    """EXP of the distances to UNSORTED_SEGMENT_MAX, over their UNSORTED_SEGMENT_SUM, by rows."""
    sizes = _sizes(tfl, cast(tfl, shape, types.INT32))[:-1]
    row = _flat_indices(tfl, _columns(tfl, cast(tfl, indices, types.INT32))[:-1], sizes)
    rows = tfl.reduce_prod(tfl.pack(*sizes, axis=0, values_count=len(sizes)), [0])
    distance = tfl.sub(values, tfl.gather(tfl.unsorted_segment_max(values, row, rows), row, axis=0))
    powers = tfl.exp(distance)
    return tfl.div(powers, tfl.gather(tfl.unsorted_segment_sum(powers, row, rows), row, axis=0))


def _reordered(tfl: Lowering, indices: Value, values: Value, shape: Value) -> list[Value]:
    """Return the indices and elements in row-major order."""
    order = _order(tfl, _flat_indices(tfl, _columns(tfl, indices), _sizes(tfl, shape)))
    return [
        tfl.gather(indices, order, axis=0),
        build_legalized(tfl, "GATHER", lambda x: tfl.gather(x, order, axis=0), values),
    ]


def _columns(tfl: Lowering, indices: Value) -> list[Value]:
    """Return the indices along each dimension."""
    count, rank = shape_of(indices, 2)
    (rank,) = static_dims([rank], "the rank of a sparse tensor")
    parts = tfl.split(scalar(1, types.INT32), indices, num_splits=rank)
    return [reshape(tfl, part, (count,), indices) for part in (parts if rank > 1 else [parts])]


def _sizes(tfl: Lowering, shape: Value) -> list[Value]:
    """Return the sizes of the dimensions, as scalars."""
    (rank,) = static_dims(shape_of(shape, 1), "the rank of a sparse tensor")
    return [tfl.gather(shape, scalar(axis, types.INT32), axis=0) for axis in range(rank)]


def _flat_indices(tfl: Lowering, columns: Sequence[Value], sizes: Sequence[Value]) -> Value:
    """Return the row-major indices of the elements in the dense tensor."""
    place = columns[0]
    for column, size in zip(columns[1:], sizes[1:]):
        place = elementwise(tfl, "ADD", elementwise(tfl, "MUL", place, size), column)
    return place


def _joined(tfl: Lowering, columns: Sequence[Value]) -> Value:
    return tfl.pack(*columns, axis=1, values_count=len(columns))


def _order(tfl: Lowering, numbers: Value) -> Value:
    """Return the places of the numbers in ascending order; the first of equal ones first."""
    return tfl.topk_v2(tfl.neg(numbers), dim_scalar(tfl, shape_of(numbers)[0], numbers))[1]


def _gather_dense(tfl: Lowering, indices: Value, dense: Value) -> Value:
    """Gather from a dense tensor that is broadcast along dimensions of size 1 and missing ones."""
    rank = len(shape_of(dense))
    if not rank:
        return dense
    last = tfl.sub(tfl.shape_(dense), 1)
    own = tfl.slice_(
        cast(tfl, indices, types.INT32), [0, static_dims(shape_of(indices)[1:], "the rank")[0] - rank], [-1, -1]
    )
    where = elementwise(tfl, "MINIMUM", own, last)
    return build_legalized(tfl, "GATHER_ND", lambda wide: tfl.gather_nd(wide, where), dense)
