"""Find the grid that constants lie on: numbers that were quantized once are whole multiples of a step, and stored with
this step as their scale they stay what they are.

Folding keeps grids: a batch norm that is multiplied into weights gives each channel a step of its own. So the range of
a weight's FakeQuant, or the scale of integers that the model itself expands, is read from the numbers in the end.
"""

from __future__ import annotations

import numpy as np

# How far a number may lie beside its place, as a part of a step: float32 and what is folded into it round to less.
_SLACK = 2.0**-10
# So many of the largest numbers tell of nearly all constants that they lie on no grid.
_FIRST = 4


def grid_scales(array: np.ndarray, axis: int | None, most: int = 127) -> np.ndarray:
    """Return the scales, one for all or for each index of `axis`, of which all numbers are multiples by whole numbers
    of up to `most`; NaN where there is none. Of several it is the finest, which biases lose the least by."""
    count = 1 if axis is None else array.shape[axis]
    scales = np.full(count, np.nan)
    if not array.size:
        return scales
    sizes = np.abs(array if axis is None else np.moveaxis(array, axis, 0)).reshape(count, -1)
    largest = sizes.max(1).astype(np.float64)
    first = min(_FIRST, sizes.shape[1])
    pending = np.flatnonzero(np.isfinite(largest) & (largest > 0))
    heads = np.partition(sizes[pending], sizes.shape[1] - first, axis=1)[:, sizes.shape[1] - first :]
    for levels in range(most, 0, -1):
        found = np.zeros(len(pending), bool)
        for place in np.flatnonzero(_fits(heads, largest[pending] / levels)):
            row = pending[place]
            if _fits(sizes[row : row + 1], largest[row : row + 1] / levels)[0]:
                scales[row] = largest[row] / levels
                found[place] = True
        if found.any():
            pending, heads = pending[~found], heads[~found]
    return scales


def _fits(rows: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return for each row whether its numbers are multiples of its scale."""
    levels = rows / scales[:, None]
    return np.abs(levels - np.rint(levels)).max(1) < _SLACK
