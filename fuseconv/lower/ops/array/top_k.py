"""Lowering of top-k selection, and of set differences and counts of vectors."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.array.gather_scatter import Unique, UniqueV2
from fuseconv.lower.ops.math.bitwise import Invert
from fuseconv.lower.ops.math.reduction import TopKV2
from fuseconv.lower.ops.segment import unsorted
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, reshape, shape_of
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, filled
from fuseconv.lower.support.type_promotion import cast
from fuseconv.tfl.kernel_limits import TYPES


@lowers
def NthElement(tfl, x, n, *, reverse=False):
    """The last of TOPK_V2, of the negative numbers for the smallest; integers, some of which have no negative, have
    their bits inverted."""
    rank = len(shape_of(x))
    count = tfl.add(cast(tfl, n, types.INT32), 1)
    wide = _sortable(tfl, x)
    best, _ = tfl.topk_v2(wide if reverse else _turned(tfl, wide), count)
    last = tfl.gather(best, cast(tfl, n, types.INT32), axis=rank - 1)
    return cast(tfl, last if reverse else _turned(tfl, last), x.dtype)


@lowers
def XlaSort(tfl, x):
    """TOPK_V2 of all elements of a row, of the negative numbers, or integers with their bits inverted. Where NaN goes
    is not specified."""
    return _ascending(tfl, x)[0]


@lowers
def XlaKeyValueSort(tfl, keys, values):
    """TOPK_V2 of all elements of a row, and GATHER of the values. The order of equal keys is not specified."""
    last = len(shape_of(keys)) - 1
    ordered, places = _ascending(tfl, keys)
    return [
        ordered,
        build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, places, axis=last, batch_dims=last), values),
    ]


@lowers
def ApproxTopK(tfl, x, *, k, reduction_dimension=-1, recall_target=0.95, is_max_k=True,
               reduction_input_size_override=-1, aggregate_to_topk=True):  # fmt: skip
    """TOPK_V2, which is exact."""
    require(reduction_dimension in (-1, len(shape_of(x)) - 1), "TOPK_V2 looks along the last dimension")
    require(is_max_k and aggregate_to_topk, "TOPK_V2 gives the k largest")
    return TopKV2(tfl, x, tfl.const(np.array(k, np.int32)))


@lowers
def ListDiff(tfl, x, y, *, out_idx=None):
    """GATHER of the elements of x that are EQUAL to none of y."""
    (count,), (others,) = shape_of(x, 1), shape_of(y, 1)
    pairs = reshape(tfl, x, (count, 1), x), reshape(tfl, y, (1, others), y)
    missing = tfl.logical_not(tfl.reduce_any(elementwise(tfl, "EQUAL", *pairs), [1]))
    places = tfl.reshape(tfl.where(missing), [-1])
    kept = build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, places, axis=0), x)
    return [kept, cast(tfl, places, tfl.source.results[1].dtype)]


@lowers("UniqueWithCounts", "UniqueWithCountsV2")
def UniqueWithCounts(tfl, x, axis=None, *, out_idx=None):
    """UNIQUE, and UNSORTED_SEGMENT_SUM of 1 for each element, or slice along an axis."""
    values, indices = Unique(tfl, x) if axis is None else UniqueV2(tfl, x, axis)
    ones = filled(tfl, shape_of(indices), 1, types.INT32, indices)
    distinct = next(dim for dim, size in zip(shape_of(values), shape_of(x)) if dim != size)
    size = dim_scalar(tfl, distinct, values)
    counts = unsorted(tfl, "UNSORTED_SEGMENT_SUM", ones, indices, size)
    return [values, indices, cast(tfl, counts, indices.dtype)]


def _ascending(tfl: Lowering, x: Value) -> tuple[Value, Value]:
    """Return the elements of each row of x, the smallest first, and where they were."""
    require(x.dtype not in (types.FLOAT64, types.UINT64), f"TOPK_V2 has no kernel for {x.dtype}")
    values, places = tfl.topk_v2(_turned(tfl, _sortable(tfl, x)), dim_scalar(tfl, shape_of(x)[-1], x))
    return cast(tfl, _turned(tfl, values), x.dtype), places


def _sortable(tfl: Lowering, x: Value) -> Value:
    """Return x in a type that TOPK_V2 takes."""
    return x if x.dtype in TYPES["TOPK_V2"] else cast(tfl, x, types.FLOAT32 if x.dtype.is_float else types.INT64)


def _turned(tfl: Lowering, x: Value) -> Value:
    """Return numbers in the opposite order: of integers, some of which have no negative, the bits are inverted."""
    return Invert(tfl, x) if x.dtype.is_integer else tfl.neg(x)
