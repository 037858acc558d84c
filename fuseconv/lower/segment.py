"""Reductions of the rows that share an id."""

from __future__ import annotations

from collections.abc import Callable

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import cast, in_float32
from fuseconv.lower.native import elementwise, filled, scalar, select, through
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.shapes import reshape, shape_of


@lowers
def UnsortedSegmentSum(tfl, data, segment_ids, num_segments):
    """UNSORTED_SEGMENT_SUM."""
    return unsorted(tfl, "UNSORTED_SEGMENT_SUM", data, segment_ids, num_segments)


@lowers
def UnsortedSegmentProd(tfl, data, segment_ids, num_segments):
    """UNSORTED_SEGMENT_PROD."""
    return unsorted(tfl, "UNSORTED_SEGMENT_PROD", data, segment_ids, num_segments)


@lowers
def UnsortedSegmentMax(tfl, data, segment_ids, num_segments):
    """UNSORTED_SEGMENT_MAX."""
    return unsorted(tfl, "UNSORTED_SEGMENT_MAX", data, segment_ids, num_segments)


@lowers
def UnsortedSegmentMin(tfl, data, segment_ids, num_segments):
    """UNSORTED_SEGMENT_MIN."""
    return unsorted(tfl, "UNSORTED_SEGMENT_MIN", data, segment_ids, num_segments)


@lowers
def SegmentSum(tfl, data, segment_ids):
    """UNSORTED_SEGMENT_SUM, since SEGMENT_SUM wants every id to occur."""
    return unsorted(tfl, "UNSORTED_SEGMENT_SUM", data, segment_ids, _count(tfl, segment_ids))


@lowers
def SegmentProd(tfl, data, segment_ids):
    """UNSORTED_SEGMENT_PROD."""
    return unsorted(tfl, "UNSORTED_SEGMENT_PROD", data, segment_ids, _count(tfl, segment_ids))


@lowers
def SegmentMax(tfl, data, segment_ids):
    """UNSORTED_SEGMENT_MAX, and 0 for ids that do not occur."""
    return _or_zero(tfl, "UNSORTED_SEGMENT_MAX", data, segment_ids)


@lowers
def SegmentMin(tfl, data, segment_ids):
    """UNSORTED_SEGMENT_MIN, and 0 for ids that do not occur."""
    return _or_zero(tfl, "UNSORTED_SEGMENT_MIN", data, segment_ids)


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
    """The rows of `data` reduced by their id; negative ids are left out."""
    build = getattr(tfl, kind.lower())
    ids, count = cast(tfl, ids, types.INT32), cast(tfl, count, types.INT32)
    return through(tfl, kind, lambda wide: build(wide, ids, count), data)


def _of_rows(
    tfl: Lowering, data: Value, indices: Value, ids: Value, count: Value | None, divisor: Callable | None
) -> Value:
    """The sums of the rows of `data` that the indices name, by their ids; over the divisor of how many they are."""
    where = cast(tfl, indices, types.INT32)
    rows = through(tfl, "GATHER", lambda wide: tfl.gather(wide, where, axis=0), data)
    count = _count(tfl, ids) if count is None else count
    total = unsorted(tfl, "UNSORTED_SEGMENT_SUM", rows, ids, count)
    if divisor is None:
        return total
    occurs = elementwise(tfl, "MAXIMUM", _occurrences(tfl, rows, ids, count), 1)
    return elementwise(tfl, "DIV", total, divisor(cast(tfl, occurs, types.FLOAT32)))


def _count(tfl: Lowering, ids: Value) -> Value:
    """One more than the last of ascending ids."""
    if ids.is_const:
        return scalar(ids.data.max(initial=-1) + 1, types.INT32)  # type: ignore[union-attr]
    return tfl.add(tfl.reduce_max(cast(tfl, ids, types.INT32), [0]), 1)


def _occurrences(tfl: Lowering, data: Value, ids: Value, count: Value) -> Value:
    """How often each id occurs, int32, with dimensions of 1 to broadcast with the result."""
    once = filled(tfl, ids.shape, 1, types.INT32, ids)
    occurs = unsorted(tfl, "UNSORTED_SEGMENT_SUM", once, ids, count)
    return reshape(tfl, occurs, (shape_of(occurs)[0], *[1] * (len(shape_of(data)) - 1)))


def _or_zero(tfl: Lowering, kind: str, data: Value, ids: Value) -> Value:
    count = _count(tfl, ids)
    occurs = elementwise(tfl, "GREATER", _occurrences(tfl, data, ids, count), 0)
    return select(tfl, occurs, unsorted(tfl, kind, data, ids, count), 0)
