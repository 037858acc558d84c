"""Find the grid that constants lie on: numbers that were quantized once are whole multiples of a step, and stored with
this step as their scale they stay what they are.

Folding keeps grids: a batch norm that is multiplied into weights gives each channel a step of its own. So the range of
a weight's FakeQuant, or the scale of integers that the model itself expands, is read from the numbers in the end.
"""

from __future__ import annotations

import numpy as np

# How far a number may lie beside its place, as a part of a step: float32 and what is folded into it round to less.
_SLACK = 2.0**-10
# So many numbers of a channel tell of nearly all that it has no grid, and so many of nearly all the others; so many
# grids are tried of a channel, and so many channels at once.
_FIRST, _SOME, _TRIES, _ROWS = 4, 256, 16, 4096


def grid_scales(array: np.ndarray, axis: int | None, most: int = 127) -> np.ndarray:
    """Return the scales, one for all or for each index of `axis`, of which all numbers are multiples by whole numbers
    of up to `most`; NaN where there is none. Of several it is the finest, which biases lose the least by."""
    count = 1 if axis is None else array.shape[axis]
    scales = np.full(count, np.nan)
    if array.size:
        rows = (array if axis is None else np.moveaxis(array, axis, 0)).reshape(count, -1)
        for start in range(0, count, _ROWS):
            scales[start : start + _ROWS] = _scales(np.abs(rows[start : start + _ROWS]), most)
    return scales


def _scales(sizes: np.ndarray, most: int) -> np.ndarray:
    """Return the scale of each row of absolute numbers."""
    scales = np.full(len(sizes), np.nan)
    largest = sizes.max(1)
    rows = np.flatnonzero(np.isfinite(largest) & (largest > 0))
    levels = np.arange(most, 0, -1, dtype=np.float32)
    fits = np.ones((len(rows), most), bool)
    pending = np.arange(len(rows))
    for column in sizes[:, :: max(1, sizes.shape[1] // _FIRST)].T[:_FIRST]:
        places = (column[rows[pending]] / largest[rows[pending]])[:, None] * levels
        fits[pending] &= np.abs(places - np.rint(places)) < _SLACK
        pending = pending[fits[pending].any(1)]
    some = sizes[:, :: max(1, sizes.shape[1] // _SOME)]
    for _ in range(_TRIES):
        pending = np.flatnonzero(fits.any(1))
        if not len(pending):
            break
        finest = fits[pending].argmax(1)
        trial = largest[rows[pending]] / levels[finest]
        good = _are_multiples(some[rows[pending]], trial)
        good[good] = _are_multiples(sizes[rows[pending[good]]], trial[good])
        scales[rows[pending[good]]] = trial[good]
        fits[pending[good]] = False
        fits[pending, finest] = False
    return scales


def _are_multiples(rows: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return for each row whether its numbers are multiples of its scale."""
    places = rows / scales[:, None]
    places -= np.rint(places)
    return np.abs(places, out=places).max(1) < _SLACK
