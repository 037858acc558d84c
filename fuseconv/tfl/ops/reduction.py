"""Reductions, windows, scans and segment ops."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, floordiv, fresh
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.traits import REDUCTIONS
from fuseconv.tfl.type_inference import (
    ShapeError,
    axis_of,
    ints,
    merged,
    require_least,
    require_most,
    same,
    scalar,
    unknown,
)


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


@op({"ARG_MAX": "ArgMaxOptions", "ARG_MIN": "ArgMinOptions"}, ranks="* one")
def extreme(x: Value, axis: Index, *, output_type: str = "INT64") -> ResultType:
    return types.BY_NAME[output_type.lower()], reduced(x, axis, False)


@op("CumsumOptions", ranks="* one")
def cumsum(x: Value, axis: Index, *, exclusive: bool = False, reverse: bool = False) -> ResultType:
    return same(x)


@op("TopKV2Options", ranks="* one")
def topk_v2(x: Value, k: Index) -> list[ResultType]:
    """Return the k largest of the last dimension, and their indices."""
    size = scalar(k)
    if size is not None and x.shape is not None:
        require_least(0, "a number of the largest", size)
        require_most(x.shape[-1], "a number of the largest", size)
    shape = None if x.shape is None else (*x.shape[:-1], fresh() if size is None else size)
    return [(x.dtype, shape), (types.INT16 if k.dtype is types.INT16 else types.INT32, shape)]


@op("SegmentSumOptions")
def segment_sum(x: Value, segment_ids: Index) -> ResultType:
    return x.dtype, None if x.shape is None else (fresh(), *x.shape[1:])


@op({
    "UNSORTED_SEGMENT_SUM": "UnsortedSegmentSumOptions", "UNSORTED_SEGMENT_PROD": "UnsortedSegmentProdOptions",
    "UNSORTED_SEGMENT_MAX": "UnsortedSegmentMaxOptions", "UNSORTED_SEGMENT_MIN": "UnsortedSegmentMinOptions",
}, ranks="* * one")  # fmt: skip
def unsorted_segment(x: Value, segment_ids: Index, num_segments: Index) -> ResultType:
    """Return x [ids..., rest...] -> [num_segments, rest...]."""
    if x.shape is None or segment_ids.shape is None:
        return x.dtype, None
    rank = len(segment_ids.shape)
    merged(x.shape[:rank], segment_ids.shape)
    count = scalar(num_segments)
    ids = segment_ids.data
    if ids is not None and ids.size and isinstance(count, int) and ids.max() >= count:
        raise ShapeError(f"segment {ids.max()} of {count}")
    return x.dtype, (fresh() if count is None else count, *x.shape[rank:])


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
    require_least(1, "a window's size, stride or dilation", *sizes, *strides, *dilations)
    windows = zip(x.shape, sizes, strides, dilations, strict=True)
    return x.dtype, tuple(floordiv(dim - (size - 1) * gap - 1, step) + 1 for dim, size, step, gap in windows)
