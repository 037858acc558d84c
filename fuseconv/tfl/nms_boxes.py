"""Box preparation for NON_MAX_SUPPRESSION_V4 and _V5."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

# Where the first square is, and its side beside that. Squares are where no box is, are too small beside a box that
# would reach there to count, and do not touch each other if they are fewer than the sides in that distance.
_PLACE, _SIDE = 2.0**45, 2.0**-20
# Boxes whose numbers and squares are kept in the file, 20 bytes each. What computes them takes 600.
_MOST_KNOWN = 64


def falling_numbers(tfl: Builder, count: Value) -> Value:
    """Return n, ..., 2, 1 as float32 [n], for n an int32 scalar: a constant if that is one and small. Of another
    constant LiteRT computes them when it allocates."""
    if count.data is None:
        numbers = tfl.range(count, tfl.const(0, types.INT32), tfl.const(-1, types.INT32))
        return tfl.cast(numbers, out_data_type="FLOAT32")
    if count.data <= _MOST_KNOWN:
        return tfl.const(np.arange(int(count.data), 0, -1, dtype=np.float32))
    return tfl.range(*(tfl.const(bound, types.FLOAT32) for bound in (float(count.data), 0.0, -1.0)))


def separate_boxes(tfl: Builder, boxes: Value, kept: Value, numbers: Value) -> Value:
    """Return the boxes, float32 [..., n, 4], with those that are not `kept`, bool [..., n, 1], replaced by squares that
    overlap with nothing else. numbers: those of the boxes, as `falling_numbers` makes them.

    The kernels drop what they have taken because it overlaps with itself, so that they would take a box without an area
    again and again."""
    corners = np.array([1, 1, 1 + _SIDE, 1 + _SIDE], np.float32) * np.float32(_PLACE)
    made = tfl.select_v2(kept, boxes, tfl.mul(tfl.expand_dims(numbers, 1), corners))
    made.shape = boxes.shape
    return made
