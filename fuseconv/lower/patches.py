"""Windows that slide over an image, one slice for each place in the window."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import in_float32
from fuseconv.lower.layout import pad, same_pads
from fuseconv.lower.native import elementwise, through
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.shapes import known, shape_of


@lowers
def ExtractImagePatches(tfl, images, *, ksizes, strides, rates, padding):
    """CONCATENATION of STRIDED_SLICEs."""
    window = list(zip(ksizes[1:3], strides[1:3], rates[1:3]))

    def patches(x: Value) -> Value:
        parts = [part for _, part in _slices(tfl, _padded(tfl, x, window, padding, None), window)]
        return parts[0] if len(parts) == 1 else tfl.concatenation(*parts, axis=3)

    return through(tfl, "CONCATENATION", patches, images)


@lowers
@in_float32
def Dilation2D(tfl, x, filter, *, strides, rates, padding):
    """MAXIMUM of STRIDED_SLICEs, to each of which its part of the filter is ADDed."""
    rows, columns, _ = known(shape_of(filter, 3), "the size of the filter")
    window = list(zip((rows, columns), strides[1:3], rates[1:3]))
    wide = _padded(tfl, x, window, padding, float(np.finfo(np.float32).min))
    terms = []
    for (row, column), part in _slices(tfl, wide, window):
        weight = tfl.strided_slice(filter, [row, column, 0], [row + 1, column + 1, 0], [1] * 3, end_mask=4,
                                   shrink_axis_mask=3)  # fmt: skip
        terms.append(elementwise(tfl, "ADD", part, weight))
    return functools.reduce(tfl.maximum, terms)


def _padded(tfl: Lowering, x: Value, window: list[tuple[int, int, int]], padding: str, value: float | None) -> Value:
    """x with its rows and columns padded for windows of (size, stride, dilation)."""
    shape_of(x, 4)
    if padding == "VALID":
        return x
    pads = [same_pads(size, *along) for size, along in zip(shape_of(x)[1:3], window)]
    require(None not in pads, "SAME with a stride pads by the size of the image, which is not known")
    return pad(tfl, x, pads, value)  # type: ignore[arg-type]


def _slices(
    tfl: Lowering, x: Value, window: list[tuple[int, int, int]]
) -> Iterator[tuple[tuple[int, int], Value]]:
    """For each (row, column) of the window, what it sees of x at each of its places."""
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
