"""Windows that slide over an image.

Patches of an image whose size is known are read at once; else there is one slice for each place in the window.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.data_format import padded_same
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise
from fuseconv.lower.support.type_promotion import cast, in_float32, promote

_BLOCKS = (types.FLOAT32, types.UINT8, types.INT8, types.INT32, types.INT64)
# The most places that GATHER is told: 1 MB of them in the file.
_MAX_PLACES = 1 << 18
# The most slices of a volume, each of which is an op.
_MAX_SLICES = 1 << 9


@lowers
def ExtractImagePatches(tfl, images, *, ksizes, strides, rates, padding):
    """SPACE_TO_DEPTH of windows side by side, GATHER of others; CONCATENATION of STRIDED_SLICEs where the image's size
    is not known.

    Measured against slices on 1 thread: 10 us for 806 (224 x 224 x 3 in windows of 16), 5 for 104 (32 x 32 x 16 in
    windows of 3, two apart).
    """
    window = list(zip(ksizes[1:3], strides[1:3], rates[1:3]))
    x = _padded(tfl, images, window, padding, None)
    sizes = shape_of(x, 4)[1:3]
    if any(not isinstance(size, int) for size in sizes):
        return build_legalized(tfl, "CONCATENATION", lambda wide: _sliced(tfl, wide, window), x)
    (height, down, row_gap), (width, right, column_gap) = window
    if height == width == down == right and row_gap == column_gap == 1:
        blocks = tfl.space_to_depth(_whole_blocks(tfl, promote(tfl, x, _BLOCKS), height), block_size=height)
        return cast(tfl, blocks, images.dtype)
    starts = [np.arange(0, size - (n - 1) * gap, step) for size, (n, step, gap) in zip(sizes, window)]
    rows, columns = (np.add.outer(at, np.arange(n) * gap) for at, (n, _, gap) in zip(starts, window))
    if not 0 < rows.size * columns.size <= _MAX_PLACES:
        return build_legalized(tfl, "CONCATENATION", lambda wide: _sliced(tfl, wide, window), x)
    places = rows[:, None, :, None] * sizes[1] + columns[None, :, None, :]
    return build_legalized(tfl, "GATHER", lambda wide: _gathered(tfl, wide, places.astype(np.int32)), x)


@lowers
def ExtractVolumePatches(tfl, x, *, ksizes, strides, padding):
    """CONCATENATION of a STRIDED_SLICE for each place in the window."""
    window = list(zip(ksizes[1:4], strides[1:4]))
    places = math.prod(ksizes[1:4])
    require(places <= _MAX_SLICES, f"a window of {places} elements takes as many slices")
    if padding == "SAME":
        x = padded_same(tfl, x, [(size, stride, 1) for size, stride in window])

    def patches(wide: Value) -> Value:
        parts = []
        for place in itertools.product(*(range(size) for size, _ in window)):
            ends = [at + 1 - size for at, (size, _) in zip(place, window)]
            open_ends = 0b10001 | sum((end == 0) << axis for axis, end in enumerate(ends, start=1))
            steps = [1, *(stride for _, stride in window), 1]
            parts.append(tfl.strided_slice(wide, [0, *place, 0], [0, *ends, 0], steps, begin_mask=0b10001,
                                           end_mask=open_ends))  # fmt: skip
        return parts[0] if len(parts) == 1 else tfl.concatenation(*parts, axis=4)

    return build_legalized(tfl, "CONCATENATION", patches, x)


@lowers
@in_float32
def Dilation2D(tfl, x, filter, *, strides, rates, padding):
    """MAXIMUM of STRIDED_SLICEs, to each of which its part of the filter is ADDed."""
    rows, columns, _ = static_dims(shape_of(filter, 3), "the size of the filter")
    window = list(zip((rows, columns), strides[1:3], rates[1:3]))
    wide = _padded(tfl, x, window, padding, float(np.finfo(np.float32).min))
    terms = []
    for (row, column), part in _window_slices(tfl, wide, window):
        weight = tfl.strided_slice(filter, [row, column, 0], [row + 1, column + 1, 0], [1] * 3, end_mask=4,
                                   shrink_axis_mask=3)  # fmt: skip
        terms.append(elementwise(tfl, "ADD", part, weight))
    return functools.reduce(tfl.maximum, terms)


def _sliced(tfl: Lowering, x: Value, window: list[tuple[int, int, int]]) -> Value:
    parts = [part for _, part in _window_slices(tfl, x, window)]
    return parts[0] if len(parts) == 1 else tfl.concatenation(*parts, axis=3)


def _whole_blocks(tfl: Lowering, x: Value, block: int) -> Value:
    """Return x without the last rows and columns that do not fill a block."""
    _, height, width, _ = shape_of(x)
    ends = height // block * block, width // block * block
    if ends == (height, width):
        return x
    return tfl.strided_slice(x, [0] * 4, [0, *ends, 0], [1] * 4, begin_mask=0b1111, end_mask=0b1001)


def _gathered(tfl: Lowering, x: Value, places: np.ndarray) -> Value:
    """Build the gather of x [batch, height, width, channels] at indices [rows, columns, window rows, window
    columns]."""
    batch, height, width, channels = shape_of(x)
    rows, columns, *window = places.shape
    pixels = reshape(tfl, x, (batch, height * width, channels), x)
    seen = tfl.gather(pixels, places.reshape(rows, columns, -1), axis=1)
    return reshape(tfl, seen, (batch, rows, columns, int(np.prod(window)) * channels), x)


def _padded(tfl: Lowering, x: Value, window: list[tuple[int, int, int]], padding: str, value: float | None) -> Value:
    """Return x with its rows and columns padded for windows of (size, stride, dilation)."""
    shape_of(x, 4)
    return x if padding == "VALID" else padded_same(tfl, x, window, value)


def _window_slices(
    tfl: Lowering, x: Value, window: list[tuple[int, int, int]]
) -> Iterator[tuple[tuple[int, int], Value]]:
    """Yield for each (row, column) of the window the strided slice of x that it covers."""
    (rows, down, row_gap), (columns, right, column_gap) = window
    for row, column in itertools.product(range(rows), range(columns)):
        # Ends count from the end: so many pixels does the window reach beyond this one.
        ends = (row + 1 - rows) * row_gap, (column + 1 - columns) * column_gap
        open_ends = 0b1001 | (ends[0] == 0) << 1 | (ends[1] == 0) << 2
        part = tfl.strided_slice(
            x, [0, row * row_gap, column * column_gap, 0], [0, *ends, 0], [1, down, right, 1],
            begin_mask=0b1001, end_mask=open_ends,
        )  # fmt: skip
        yield (row, column), part
