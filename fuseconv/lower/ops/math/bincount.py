"""Ops that count: where a number belongs in an order, how often it occurs, how many are larger."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.segment import unsorted
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.legalize_operands import elementwise, filled, scalar
from fuseconv.lower.support.type_promotion import cast

# Beyond, there are too many bins for an attribute, and float32 does not hold each integer.
_MOST_BINS, _WHOLE = 1 << 16, 1 << 24


@lowers
def LowerBound(tfl, sorted_inputs, values, *, out_type=None):
    """SUM of whether each of the sorted numbers is LESS."""
    return _count_matches(tfl, "LESS", sorted_inputs, values)


@lowers
def UpperBound(tfl, sorted_inputs, values, *, out_type=None):
    """SUM of whether each of the sorted numbers is LESS_EQUAL."""
    return _count_matches(tfl, "LESS_EQUAL", sorted_inputs, values)


@lowers
def DenseBincount(tfl, x, size, weights, *, binary_output=False):
    """SUM of ONE_HOT, times the weights if there are any; REDUCE_MAX of it if the output is binary."""
    if x.rank == 0:
        x, weights = _flat(tfl, x), _flat(tfl, weights)
    hot = weighted(tfl, x, size, weights, binary_output)
    axis = len(shape_of(hot)) - 2
    return tfl.reduce_max(hot, [axis]) if binary_output else tfl.sum(hot, [axis])


@lowers
def Bincount(tfl, arr, size, weights):
    """SUM of ONE_HOT, times the weights if there are any."""
    return DenseBincount(tfl, _flat(tfl, arr), size, _flat(tfl, weights))


@lowers
def HistogramFixedWidth(tfl, values, value_range, nbins):
    """UNSORTED_SEGMENT_SUM of 1 by the bin that each number lies in, which BUCKETIZE tells as TensorFlow does where
    the range and the number of bins are constants. Else it is computed in float32, and a number within rounding of a
    bin's end may be counted in the next one."""
    require(values.dtype is not types.FLOAT64, "TFLite computes it in float32, not in float64")
    count = cast(tfl, nbins, types.INT32)
    size = product(shape_of(values))
    values = reshape(tfl, values, (size,), values)
    ends = _bin_ends(value_range.data, nbins.data)
    if ends is None:
        x, limits = (cast(tfl, part, types.FLOAT32) for part in (values, value_range))
        low, high = (tfl.gather(limits, scalar(at, types.INT32), axis=0) for at in (0, 1))
        share = tfl.div(tfl.sub(x, low), tfl.sub(high, low))
        step = cast(tfl, tfl.floor(tfl.mul(share, cast(tfl, count, types.FLOAT32))), types.INT32)
        step = tfl.maximum(tfl.minimum(step, tfl.sub(count, 1)), 0)
    else:
        step = tfl.bucketize(values, boundaries=ends)
    once = filled(tfl, (size,), 1, types.INT32, values)
    return cast(tfl, unsorted(tfl, "UNSORTED_SEGMENT_SUM", once, step, count), tfl.dtype)


def _bin_ends(limits: np.ndarray | None, count: np.ndarray | None) -> tuple[float, ...] | None:
    """Return the least numbers that lie in bin 1, 2, ...: x is in bin int((x - low) / step), computed in float64. None
    if the range or the number of bins is not known, or if float32 does not hold these numbers."""
    if limits is None or count is None or not 0 < count <= _MOST_BINS:
        return None
    whole = limits.dtype.kind == "i"
    low, high = limits.astype(np.float64)
    if not (low < high and np.isfinite(high - low)) or (whole and max(-low, high) > _WHOLE):
        return None
    step, bins = (high - low) / count, np.arange(1, int(count))
    near = low + bins * step
    near = np.ceil(near) if whole else near.astype(np.float32)
    away = [near - 1, near + 1] if whole else [np.nextafter(near, np.float32(end)) for end in (-np.inf, np.inf)]
    candidates = np.stack([away[0], near, away[1]]).astype(np.float64)
    return tuple(candidates[((candidates - low) / step >= bins).argmax(0), bins - 1].tolist())


@lowers("InTopK", "InTopKV2")
def InTopK(tfl, predictions, targets, k_operand=None, *, k=None):
    """Whether fewer than k of a row are GREATER than the target's, which is gathered, and the row is finite."""
    where = reshape(tfl, cast(tfl, targets, types.INT32), (*shape_of(targets), 1), targets)
    score = tfl.gather(predictions, where, axis=1, batch_dims=1)
    above = tfl.sum(cast(tfl, tfl.greater(predictions, score), types.INT32), [1])
    few = tfl.less(above, scalar(k, types.INT32) if k_operand is None else cast(tfl, k_operand, types.INT32))
    return tfl.logical_and(few, tfl.reduce_all(tfl.less(tfl.abs_(predictions), math.inf), [1]))


def _flat(tfl: Lowering, x: Value) -> Value:
    return reshape(tfl, x, (product(shape_of(x)),))


def _count_matches(tfl: Lowering, kind: str, rows: Value, values: Value) -> Value:
    """Return how many elements of each sorted row [batch, n] satisfy the comparison with each value [batch, m]."""
    (batch, count), (_, wanted) = shape_of(rows, 2), shape_of(values, 2)
    inner = reshape(tfl, rows, (batch, 1, count), rows)
    outer = reshape(tfl, values, (batch, wanted, 1), values)
    return cast(tfl, tfl.sum(cast(tfl, elementwise(tfl, kind, inner, outer), types.INT32), [2]), tfl.dtype)


def weighted(tfl: Lowering, x: Value, size: Value, weights: Value, binary: bool) -> Value:
    """Return one-hot rows, or weighted: x [..., n] -> [..., n, size], where what is not 0 is 1, or the weight if there
    are any and the output is not binary. Weights of unknown sizes have the shape of x, or the RESHAPE fails."""
    hot = _one_hot(tfl, x, size)
    if binary or 0 in shape_of(weights):
        return hot
    require(len(shape_of(weights)) == len(shape_of(x)), "whether there are weights is not known")
    return tfl.mul(hot, reshape(tfl, weights, (*shape_of(x), 1), x))


def _one_hot(tfl: Lowering, x: Value, size: Value) -> Value:
    """Return one-hot rows: x [..., n] -> [..., n, size] of the result's type; numbers beyond the size give no 1."""
    require(tfl.dtype in (types.FLOAT32, types.INT32, types.INT64), f"ONE_HOT and SUM have no kernel for {tfl.dtype}")
    index = x if x.dtype is types.INT64 else cast(tfl, x, types.INT32)
    return tfl.one_hot(index, cast(tfl, size, types.INT32), scalar(1, tfl.dtype), scalar(0, tfl.dtype), axis=-1)
