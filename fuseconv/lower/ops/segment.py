"""Reductions of the rows that share an id."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import may_vanish, product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import iota, reshape, shape_of
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, filled, scalar, select
from fuseconv.lower.support.type_promotion import cast, in_float32, promote
from fuseconv.tfl.kernel_limits import TYPES

_EXTREMES = ("UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN")
# TF ops, and the TFLite ops that they become.
_UNSORTED = {
    "UnsortedSegmentMax": "UNSORTED_SEGMENT_MAX", "UnsortedSegmentMin": "UNSORTED_SEGMENT_MIN",
    "UnsortedSegmentProd": "UNSORTED_SEGMENT_PROD", "UnsortedSegmentSum": "UNSORTED_SEGMENT_SUM",
}  # fmt: skip
_SORTED = {name.removeprefix("Unsorted"): kind for name, kind in _UNSORTED.items()}


@lowers(*_UNSORTED)
def UnsortedSegment(tfl, data, segment_ids, num_segments):
    """The op of the same name; of int64 all rows are selected and reduced for each id."""
    return unsorted(tfl, _UNSORTED[tfl.source.type], data, segment_ids, num_segments)


@lowers("SegmentSum", "SegmentProd")
def SegmentSum(tfl, data, segment_ids):
    """The op for unsorted ids, since SEGMENT_SUM wants every id to occur."""
    return unsorted(tfl, _SORTED[tfl.source.type], data, segment_ids, _count(tfl, segment_ids))


@lowers("SegmentMax", "SegmentMin")
def SegmentMax(tfl, data, segment_ids):
    """The op for unsorted ids, and 0 for ids that do not occur."""
    return _or_zero(tfl, _SORTED[tfl.source.type], data, segment_ids)


@lowers
def SegmentMean(tfl, data, segment_ids):
    """UNSORTED_SEGMENT_SUM over how often the id occurs."""
    count = _count(tfl, segment_ids)
    total = unsorted(tfl, "UNSORTED_SEGMENT_SUM", data, segment_ids, count)
    occurs = elementwise(tfl, "MAXIMUM", _occurrences(tfl, data, segment_ids, count), 1)
    return elementwise(tfl, "DIV", total, cast(tfl, occurs, total.dtype))


@lowers("SparseSegmentSum", "SparseSegmentSumWithNumSegments")
def SparseSegmentSum(tfl, data, indices, segment_ids, num_segments=None, *, sparse_gradient=False):
    """UNSORTED_SEGMENT_SUM of gathered rows."""
    return _of_rows(tfl, data, indices, segment_ids, num_segments, None)


@lowers("SparseSegmentMean", "SparseSegmentMeanWithNumSegments")
@in_float32
def SparseSegmentMean(tfl, data, indices, segment_ids, num_segments=None, *, sparse_gradient=False):
    """UNSORTED_SEGMENT_SUM of gathered rows over how many they are."""
    return _of_rows(tfl, data, indices, segment_ids, num_segments, lambda occurs: occurs)


@lowers("SparseSegmentSqrtN", "SparseSegmentSqrtNWithNumSegments")
@in_float32
def SparseSegmentSqrtN(tfl, data, indices, segment_ids, num_segments=None, *, sparse_gradient=False):
    """UNSORTED_SEGMENT_SUM of gathered rows over the root of how many they are."""
    return _of_rows(tfl, data, indices, segment_ids, num_segments, tfl.sqrt)


@lowers
def SparseTensorDenseMatMul(tfl, indices, values, shape, b, *, adjoint_a=False, adjoint_b=False):
    """UNSORTED_SEGMENT_SUM of the rows of the dense matrix, each times an element of the sparse one."""
    require(not b.dtype.is_complex, "TFLite cannot conjugate what it multiplies")
    b = tfl.transpose(b, [1, 0]) if adjoint_b else b
    count, _ = shape_of(indices, 2)
    columns = tfl.split(scalar(1, types.INT32), cast(tfl, indices, types.INT32), num_splits=2)
    into, of = (reshape(tfl, column, (count,), indices) for column in (columns[::-1] if adjoint_a else columns))
    rows = elementwise(tfl, "MUL", tfl.gather(b, of, axis=0), reshape(tfl, values, (count, 1), indices))
    size = tfl.gather(cast(tfl, shape, types.INT32), scalar(int(adjoint_a), types.INT32), axis=0)
    return unsorted(tfl, "UNSORTED_SEGMENT_SUM", rows, into, size)


def unsorted(tfl: Lowering, kind: str, data: Value, ids: Value, count: Value) -> Value:
    """Return the rows of `data` reduced by their id; negative ids are left out."""
    build = getattr(tfl, kind.lower())
    ids, count = cast(tfl, ids, types.INT32), cast(tfl, count, types.INT32)
    if data.dtype in (types.INT64, types.UINT32):
        return cast(tfl, _masked(tfl, kind, cast(tfl, data, types.INT64), data.dtype, ids, count), data.dtype)
    if kind not in _EXTREMES or data.dtype in TYPES[kind]:
        return build_legalized(tfl, kind, lambda wide: build(wide, ids, count), data)
    wide = promote(tfl, data, TYPES[kind])
    total = build(wide, ids, count)
    # What the kernel makes of no rows is the end of the wider type's range.
    nothing, wider = (scalar(_identity_element(kind, dtype), wide.dtype) for dtype in (data.dtype, wide.dtype))
    return cast(tfl, select(tfl, tfl.equal(total, wider), nothing, total), data.dtype)


def _masked(tfl: Lowering, kind: str, data: Value, dtype: types.DType, ids: Value, count: Value) -> Value:
    """Reduce all rows for each id, with rows of other ids replaced by the identity element."""
    outer, inner = shape_of(ids), shape_of(data)[len(shape_of(ids)) :]
    rows = reshape(tfl, data, (1, product(outer), product(inner)), ids)
    size = int(count.data) if count.data is not None else None
    numbers = iota(tfl, size, ids) if size is not None else tfl.range(scalar(0, types.INT32), count, 1)
    mine = tfl.equal(reshape(tfl, ids, (1, product(outer), 1), ids), tfl.reshape(numbers, [-1, 1, 1]))
    spread = select(tfl, mine, rows, int(_identity_element(kind, dtype)))
    reduce = {"SUM": tfl.sum_, "PROD": tfl.reduce_prod, "MAX": tfl.reduce_max, "MIN": tfl.reduce_min}
    made = reduce[kind.rpartition("_")[2]](spread, [1])
    return reshape(tfl, made, (shape_of(numbers)[0], *inner), data, numbers)


def _identity_element(kind: str, dtype: types.DType) -> float:
    """Return the identity element of a reduction, which is TensorFlow's result for a segment without rows."""
    if kind not in _EXTREMES:
        return 1 if kind.endswith("PROD") else 0
    info = ml_dtypes.finfo(dtype.numpy) if dtype.is_float else np.iinfo(dtype.numpy)
    end = info.min if kind.endswith("MAX") else info.max
    return float(end) if dtype.is_float else int(end)


def _of_rows(
    tfl: Lowering, data: Value, indices: Value, ids: Value, count: Value | None, divisor: Callable | None
) -> Value:
    """Return the sums of the rows of `data` that the indices name, by their ids; over the divisor of how many they
    are."""
    where = cast(tfl, indices, types.INT32)
    rows = build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, where, axis=0), data)
    count = _count(tfl, ids) if count is None else count
    total = unsorted(tfl, "UNSORTED_SEGMENT_SUM", rows, ids, count)
    if divisor is None:
        return total
    occurs = elementwise(tfl, "MAXIMUM", _occurrences(tfl, rows, ids, count), 1)
    return elementwise(tfl, "DIV", total, divisor(cast(tfl, occurs, types.FLOAT32)))


def _count(tfl: Lowering, ids: Value) -> Value:
    """Return one more than the last of ascending ids."""
    if ids.is_const:
        return scalar(int(ids.data.max(initial=-1)) + 1, types.INT32)  # type: ignore[union-attr]
    largest = tfl.reduce_max(cast(tfl, ids, types.INT32), [0])
    if any(map(may_vanish, shape_of(ids))):  # of no id it is the least number
        largest = tfl.maximum(largest, -1)
    return tfl.add(largest, 1)


def _occurrences(tfl: Lowering, data: Value, ids: Value, count: Value) -> Value:
    """Return how often each id occurs, int32, with dimensions of 1 to broadcast with the result."""
    once = filled(tfl, ids.shape, 1, types.INT32, ids)
    occurs = unsorted(tfl, "UNSORTED_SEGMENT_SUM", once, ids, count)
    return reshape(tfl, occurs, (shape_of(occurs)[0], *[1] * (len(shape_of(data)) - 1)))


def _or_zero(tfl: Lowering, kind: str, data: Value, ids: Value) -> Value:
    count = _count(tfl, ids)
    occurs = elementwise(tfl, "GREATER", _occurrences(tfl, data, ids, count), 0)
    return select(tfl, occurs, unsorted(tfl, kind, data, ids, count), 0)
