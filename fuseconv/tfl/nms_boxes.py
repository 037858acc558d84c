"""Box preparation for NON_MAX_SUPPRESSION_V4 and _V5."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

# The sides of the squares: they are where no box is, and are too small beside one that would reach there to count.
# Nor does their area overflow.
_SIDE = 2.0**45


def separate_boxes(tfl: Builder, boxes: Value, which: Value) -> Value:
    """Return the boxes, float32 [..., n, 4], with those selected by `which`, bool [..., n, 1], replaced by squares that
    overlap with nothing else.

    The kernels drop what they have taken because it overlaps with itself, so that they would take a box without an area
    again and again."""
    rank, every = len(boxes.shape or ()), (boxes.shape or ())[-2]
    corners = np.array([2, 2, 3, 3], np.float32) * np.float32(_SIDE)
    if isinstance(every, int):
        squares = tfl.const(np.arange(every, dtype=np.float32)[:, None] * np.float32(2 * _SIDE) + corners)
    else:
        count = tfl.strided_slice(tfl.shape_(boxes), [rank - 2], [rank - 1], [1], shrink_axis_mask=1)
        numbers = tfl.range(tfl.const(0, types.INT32), count, tfl.const(1, types.INT32))
        numbers = tfl.expand_dims(tfl.cast(numbers, out_data_type="FLOAT32"), 1)
        squares = tfl.add(tfl.mul(numbers, 2 * _SIDE), corners)
    return tfl.select_v2(which, squares, boxes)
