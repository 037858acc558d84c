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
# Below, the part of a number is nearer to 0.5 than to 1.
_PART_OF_TWO = 0.75
# The smallest step that has all of its digits.
_LEAST = float(np.finfo(np.float32).tiny)


def grid_scales(
    array: np.ndarray, axis: int | None, most: int = 127, largest: np.ndarray | None = None
) -> np.ndarray:
    """Return the scales, one for all or for each index of `axis`, of which all numbers are multiples by whole numbers
    of up to `most`; NaN where there is none. Of several it is the finest, which biases lose the least by. largest: what
    `largest_numbers` returns.

    Of powers of two it is one: with these, kernels multiply and round to even as the model does, where a sum lies in
    the middle between two steps."""
    count = 1 if axis is None else array.shape[axis]
    scales = np.full(count, np.nan)
    if array.size:
        rows = (array if axis is None else np.moveaxis(array, axis, 0)).reshape(count, -1)
        largest = largest_numbers(array, axis) if largest is None else largest
        if array.size == 1 and most * _LEAST < largest[0] < np.inf:
            finest = np.array([largest[0] / np.float32(most)], np.float64)
            return _powers_of_two(rows, largest, finest, most)
        for start in range(0, count, _ROWS):
            some = slice(start, start + _ROWS)
            found = _scales(rows[some], largest[some], most)
            scales[some] = _powers_of_two(rows[some], largest[some], found, most)
    return scales


def largest_numbers(array: np.ndarray, axis: int | None) -> np.ndarray:
    """Return the largest absolute number of all, or for each index of `axis`; NaN where one is."""
    others = None if axis is None else tuple(each for each in range(array.ndim) if each != axis)
    ends = array.max(axis=others, initial=0.0), array.min(axis=others, initial=0.0)
    return np.atleast_1d(np.maximum(ends[0], np.negative(ends[1])))


def _scales(numbers: np.ndarray, largest: np.ndarray, most: int) -> np.ndarray:
    """Return the scale of each row of numbers. largest: of each row."""
    scales = np.full(len(numbers), np.nan)
    levels = np.arange(most, 0, -1, dtype=np.float32)
    # Rows that may have a grid still, and which.
    rows = np.flatnonzero(np.isfinite(largest) & (largest > 0))
    fits = np.ones((len(rows), most), bool)
    for column in numbers[:, :: max(1, numbers.shape[1] // _FIRST)].T[:_FIRST]:
        places = (np.abs(column[rows]) / largest[rows])[:, None] * levels
        places -= np.rint(places)
        fits &= np.abs(places, out=places) < _SLACK
        left = fits.any(1)
        rows, fits = rows[left], fits[left]
        if not len(rows):
            return scales
    some = numbers[:, :: max(1, numbers.shape[1] // _SOME)]
    for _ in range(_TRIES):
        if not len(rows):
            break
        finest = fits.argmax(1)
        trial = largest[rows] / levels[finest]
        good = _are_multiples(some[rows], trial)
        good[good] = _are_multiples(numbers[rows[good]], trial[good])
        scales[rows[good]] = trial[good]
        fits[np.arange(len(rows)), finest] = False
        left = fits.any(1) & ~good
        rows, fits = rows[left], fits[left]
    return scales


def _powers_of_two(rows: np.ndarray, largest: np.ndarray, scales: np.ndarray, most: int) -> np.ndarray:
    """Return for scales, of which numbers are multiples by up to `most`, the finest power of two that is one, where the
    coarsest is a power of two."""
    known = np.flatnonzero(np.isfinite(scales))
    if not len(known):
        return scales
    some = rows[known, :: max(1, rows.shape[1] // _SOME)]
    coarsest = scales[known] * np.gcd.reduce(np.rint(some / scales[known, None]).astype(np.int16), axis=1)
    parts, exponents = np.frexp(np.where(coarsest == 0, largest[known], coarsest))
    exponents -= parts < _PART_OF_TWO
    finer = np.floor(np.log2(most * 2.0**exponents / largest[known] * (1 + _SLACK)))
    trial = 2.0 ** (exponents - finer)
    good = (np.abs(coarsest * 2.0**-exponents - 1) < _SLACK / most) & _are_multiples(rows[known], trial)
    made = scales.copy()
    made[known[good]] = trial[good]
    return made


def _are_multiples(rows: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Return for each row whether its numbers are multiples of its scale."""
    places = rows / scales[:, None]
    places -= np.rint(places)
    return np.abs(places, out=places).max(1) < _SLACK
