"""Shape functions of reductions, segments, histograms, and ops that pick the largest or the distinct elements."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    Contradiction,
    UnknownShape,
    agree,
    agree_on_indices,
    axis_held_by,
    axis_in,
    dims_behind,
    ints,
    same,
    same_shape,
    scalar,
    shape_of,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
def reduce(op: Op, x: Value, axes: Value, *, keep_dims: bool = False) -> Shapes:
    if axes.shape is not None and axes.shape == (0,):
        return x.shape
    rank = len(shape_of(x))
    try:
        listed = [axis_in(axis, rank) for axis in ints(axes)]
        reduced = {*listed}
        if len(reduced) < len(listed):
            raise Contradiction(f"it reduces a dimension twice, by the axes {listed}")
    except UnknownShape:
        if not keep_dims:
            raise
        return tuple(dims.fresh() for _ in range(rank))
    if keep_dims:
        return tuple(1 if axis in reduced else dim for axis, dim in enumerate(shape_of(x)))
    return tuple(dim for axis, dim in enumerate(shape_of(x)) if axis not in reduced)


@infers("ArgMax", "ArgMin")
def arg_max(op: Op, x: Value, dimension: Value) -> Shapes:
    shape = shape_of(x)
    try:
        axis = axis_held_by(dimension, len(shape))
    except UnknownShape:
        return tuple(dims.fresh() for _ in shape[1:])
    agree(shape[axis] != 0, f"its dimension {axis} has no elements to choose from")
    return (*shape[:axis], *shape[axis + 1 :])


@infers("TopKV2")
def top_k_v2(op: Op, x: Value, k: Value) -> Shapes:
    return _top(x, scalar(k, "k"))


@infers("TopK")
def top_k(op: Op, x: Value, *, k: int) -> Shapes:
    return _top(x, k)


def _top(x: Value, k: Dim) -> Shapes:
    shape = shape_of(x)
    agree(bool(shape), "it takes the largest elements of a scalar")
    *outer, size = shape
    _agree_on_count(k, size)
    return [(*outer, k)] * 2


def _agree_on_count(k: Dim, size: Dim) -> None:
    few = not isinstance(k, int) or not isinstance(size, int) or k <= size
    agree(few, f"the {k} largest of {size} elements are asked for")


@infers("ApproxTopK")
def approximate_top_k(
    op: Op, x: Value, *, k: int, reduction_dimension: int = -1, aggregate_to_topk: bool = True
) -> Shapes:
    shape = list(shape_of(x))
    axis = axis_in(reduction_dimension, len(shape))
    _agree_on_count(k, shape[axis])
    shape[axis] = k if aggregate_to_topk else dims.fresh("top")
    return [tuple(shape)] * 2


@infers("NthElement")
def nth_element(op: Op, x: Value, n: Value) -> Shapes:
    *outer, size = shape_of(x)
    place = scalar(n, "n")
    agree(not isinstance(place, int) or place >= 0, f"element {place} is asked for")
    _agree_on_count(place + 1, size)
    return tuple(outer)


@infers("Unique")
def unique(op: Op, x: Value) -> Shapes:
    return [(dims.fresh("unique"),), x.shape]


@infers("UniqueWithCounts")
def unique_with_counts(op: Op, x: Value) -> Shapes:
    count = dims.fresh("unique")
    return [(count,), x.shape, (count,)]


@infers("UniqueV2")
def unique_v2(op: Op, x: Value, axis: Value) -> Shapes:
    shape = shape_of(x)
    if axis.shape == (0,):
        along = 0
        if len(shape) != 1:
            raise UnknownShape
    else:
        along = axis_held_by(axis, len(shape))
    return [(*shape[:along], dims.fresh("unique"), *shape[along + 1 :]), (shape[along],)]


@infers("UniqueWithCountsV2")
def unique_with_counts_v2(op: Op, x: Value, axis: Value) -> Shapes:
    values, indices = unique_v2(op, x, axis)
    count = next(dim for dim, size in zip(values, shape_of(x)) if dim != size)
    return [values, indices, (count,)]


@infers("Where")
def where(op: Op, condition: Value) -> Shapes:
    return (dims.fresh("where"), len(shape_of(condition)))


@infers("CTCGreedyDecoder")
def ctc_greedy_decoder(op: Op, inputs: Value, sequence_length: Value) -> Shapes:
    _, batch, _ = with_rank(inputs, 3)
    count = dims.fresh("decoded")
    return [(count, 2), (count,), (2,), (batch, 1)]


@infers("ListDiff")
def list_diff(op: Op, x: Value, y: Value) -> Shapes:
    return [(dims.fresh("diff"),)] * 2


@infers("Bincount")
def bincount(op: Op, x: Value, size: Value, weights: Value) -> Shapes:
    return (scalar(size, "bins"),)


@infers("DenseBincount")
def dense_bincount(op: Op, x: Value, size: Value, weights: Value) -> Shapes:
    return (*shape_of(x)[:-1], scalar(size, "bins"))


@infers("HistogramFixedWidth")
def histogram(op: Op, values: Value, value_range: Value, bins: Value) -> Shapes:
    return (scalar(bins, "bins"),)


@infers("LowerBound", "UpperBound")
def search_sorted(op: Op, sorted_inputs: Value, values: Value) -> Shapes:
    rows, count = with_rank(values, 2)
    return same(with_rank(sorted_inputs, 2)[0], rows), count


@infers("SegmentMax", "SegmentMean", "SegmentMin", "SegmentProd", "SegmentSum")
def segment(op: Op, data: Value, segment_ids: Value) -> Shapes:
    shape = shape_of(data)
    same(with_rank(segment_ids, 1)[0], shape[0])
    return (dims.fresh("segments"), *shape[1:])


@infers("UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd", "UnsortedSegmentSum")
def unsorted_segment(op: Op, data: Value, segment_ids: Value, num_segments: Value) -> Shapes:
    row = dims_behind(data, segment_ids)
    count = scalar(num_segments, "segments")
    if segment_ids.data is not None and segment_ids.data.size and isinstance(count, int):
        largest = segment_ids.data.max()
        agree(largest < count, f"it has a segment {largest} of {count}")
    return (count, *row)


@infers("SparseSegmentMean", "SparseSegmentSqrtN", "SparseSegmentSum")
def sparse_segment(op: Op, data: Value, indices: Value, ids: Value) -> Shapes:
    return (dims.fresh("segments"), *_chosen_rows(data, indices, ids)[1:])


@infers("SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments", "SparseSegmentSumWithNumSegments")
def sparse_segment_of_number(op: Op, data: Value, indices: Value, ids: Value, number: Value) -> Shapes:
    return (scalar(number, "segments"), *_chosen_rows(data, indices, ids)[1:])


def _chosen_rows(data: Value, indices: Value, ids: Value) -> Shape:
    """Return the shape of data of which each segment takes rows. Raises Contradiction unless each has its segment."""
    same_shape([indices.shape, ids.shape])
    shape = shape_of(data)
    agree_on_indices(data, indices, 0)
    return shape
