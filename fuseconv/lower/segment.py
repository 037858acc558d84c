"""Reductions of the rows that share an id."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import cast
from fuseconv.lower.native import elementwise, filled, scalar, select, through
from fuseconv.lower.rules import Lowering, lowers
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


def unsorted(tfl: Lowering, kind: str, data: Value, ids: Value, count: Value) -> Value:
    """The rows of `data` reduced by their id; negative ids are left out."""
    build = getattr(tfl, kind.lower())
    ids, count = cast(tfl, ids, types.INT32), cast(tfl, count, types.INT32)
    return through(tfl, kind, lambda wide: build(wide, ids, count), data)


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
