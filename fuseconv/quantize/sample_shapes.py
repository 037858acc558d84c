"""How arrays are taken for what an input takes: as samples one behind the other, or as the rows of a batch. Their rank
tells which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Sizes = Sequence[int | None]


def fits(shape: Sequence[int], wanted: Sizes) -> bool:
    """Return whether an array of a shape is what an input takes. wanted: its sizes, None for any."""
    return len(shape) == len(wanted) and all(dim in (None, size) for dim, size in zip(wanted, shape))


def stacked(array: np.ndarray, wanted: Sizes) -> np.ndarray | None:
    """Return the samples that an array holds, [samples, *wanted]; None if it holds none.

    An array of one dimension more has the samples along its first one. One of the same rank has rows: a sample each,
    or so many as make the batch that the input takes."""
    if fits(array.shape[1:], wanted) and array.ndim:
        return array
    if not wanted or not fits(array.shape[1:], wanted[1:]) or array.ndim == 0:
        return None
    batch = 1 if wanted[0] is None else wanted[0]
    if not batch or len(array) % batch:
        return None
    return array.reshape(len(array) // batch, batch, *array.shape[1:])


def cast(array: np.ndarray, dtype: np.dtype) -> np.ndarray | None:
    """Return an array as numbers of a type that hold its own, but for precision; None if they cannot."""
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        return None
    with np.errstate(over="ignore"):
        made = array.astype(dtype, copy=False)
    return made if dtype.kind not in "iu" or np.array_equal(made, array) else None
