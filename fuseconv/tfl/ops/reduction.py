"""Reductions, windows, scans and segment ops."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, floordiv, fresh
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.traits import REDUCTIONS
from fuseconv.tfl.type_inference import ShapeError, axis_of, ints, same, scalar, unknown


def reduced(x: Value, axes: Value, keep_dims: bool) -> Shape | None:
    """Return the shape that is left when the axes are reduced."""
    if x.shape is None:
        return None
    rank = len(x.shape)
    known = ints(axes)
    if known is None:
        return unknown(rank) if keep_dims else None
    gone = {axis_of(axis, rank) for axis in known}
    if keep_dims:
        return tuple(1 if axis in gone else dim for axis, dim in enumerate(x.shape))
    return tuple(dim for axis, dim in enumerate(x.shape) if axis not in gone)


@op(dict.fromkeys(REDUCTIONS, "ReducerOptions"))
def reduction(x: Value, axes: Index, *, keep_dims: bool = False) -> ResultType:
    return x.dtype, reduced(x, axes, keep_dims)


@op({"ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions"})
def extreme(x: Value, axis: Index, *, output_type: str = "INT64") -> ResultType:
    return types.BY_NAME[output_type.lower()], reduced(x, axis, False)


@op("CumsumOptions")
def cumsum(x: Value, axis: Index, *, exclusive: bool = False, reverse: bool = False) -> ResultType:
    return same(x)


@op("TopKV2Options")
def topk_v2(x: Value, k: Index) -> list[ResultType]:
    """Return the k largest of the last dimension, and their indices."""
    size = scalar(k)
    if isinstance(size, int) and size < 0:
        raise ShapeError(f"the {size} largest elements")
    shape = None if x.shape is None else (*x.shape[:-1], fresh() if size is None else size)
    return [(x.dtype, shape), (types.INT16 if k.dtype is types.INT16 else types.INT32, shape)]


@op("SegmentSumOptions")
def segment_sum(x: Value, segment_ids: Index) -> ResultType:
    return x.dtype, None if x.shape is None else (fresh(), *x.shape[1:])


def unsorted(x: Value, segment_ids: Value, num_segments: Value) -> ResultType:
    """Return x [ids..., rest...] -> [num_segments, rest...]."""
    if x.shape is None or segment_ids.shape is None:
        return x.dtype, None
    count = scalar(num_segments)
    return x.dtype, (fresh() if count is None else count, *x.shape[len(segment_ids.shape) :])


@op("UnsortedSegmentSumOptions")
def unsorted_segment_sum(x: Value, segment_ids: Index, num_segments: Index) -> ResultType:
    return unsorted(x, segment_ids, num_segments)


@op("UnsortedSegmentProdOptions")
def unsorted_segment_prod(x: Value, segment_ids: Index, num_segments: Index) -> ResultType:
    return unsorted(x, segment_ids, num_segments)


@op("UnsortedSegmentMaxOptions")
def unsorted_segment_max(x: Value, segment_ids: Index, num_segments: Index) -> ResultType:
    return unsorted(x, segment_ids, num_segments)


@op("UnsortedSegmentMinOptions")
def unsorted_segment_min(x: Value, segment_ids: Index, num_segments: Index) -> ResultType:
    return unsorted(x, segment_ids, num_segments)


@op("ReduceWindowOptions")
def reduce_window(
    x: Value,
    init_value: Value,
    window_dimensions: Value,
    window_strides: Value,
    window_dilations: Value,
    *,
    reduce_function: str = "UNSUPPORTED",
) -> ResultType:
    """Reduce each window that lies wholly inside x. The window's sizes, strides and dilations are int64 [rank]."""
    sizes, strides, dilations = ints(window_dimensions), ints(window_strides), ints(window_dilations)
    if x.shape is None or sizes is None or strides is None or dilations is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    windows = zip(x.shape, sizes, strides, dilations, strict=True)
    return x.dtype, tuple(floordiv(dim - (size - 1) * gap - 1, step) + 1 for dim, size, step, gap in windows)
