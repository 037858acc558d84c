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
_BLOCK = 1 << 17
# The bits of 1 in float32.
_ONE = np.int32(127 << 23)


def round_to_integers(array: np.ndarray, scales: np.ndarray, largest: int, outputs: int | None) -> np.ndarray:
    """Return the integers that `array / scales` rounds to, within [-largest, largest], of 8 bits or, if these do not
    hold them, of 16.

    outputs: the axis of output channels, whose errors cancel; None to round each number to the nearest."""
    scales = np.asarray(scales, np.float32)
    dtype = np.int8 if largest < 128 else np.int16
    if outputs is None:
        stored = np.rint(np.divide(array, scales, dtype=np.float32))
        return np.clip(stored, -largest, largest, out=stored).astype(dtype)
    steps = np.moveaxis(np.broadcast_to(scales, array.shape), outputs, 0)

    def rounded(block: np.ndarray, channels: slice) -> np.ndarray:
        exact = np.divide(block, steps[channels], dtype=np.float32).reshape(len(block), -1)
        stored = np.rint(exact)
        _cancel(exact, stored, None)
        return np.clip(stored, -largest, largest, out=stored)

    return _by_channels(array, outputs, rounded, dtype)


def round_to_halves(array: np.ndarray, outputs: int | None) -> np.ndarray:
    """Return an array of float16 for one of float32 within its range.

    outputs: the axis of output channels, whose errors cancel; None to round each number to the nearest."""
    if outputs is None:
        return array.astype(np.float16)
    end = float(np.finfo(np.float16).max)

    def rounded(block: np.ndarray, channels: slice) -> np.ndarray:
        exact = block.reshape(len(block), -1)
        steps = _steps_of_halves(exact)
        stored = np.rint(exact / steps) * steps
        _cancel(exact, stored, _steps_of_halves(stored))
        return np.clip(stored, -end, end, out=stored)

    return _by_channels(array, outputs, rounded, np.float16)


def _by_channels(
    array: np.ndarray, outputs: int, rounded: Callable[[np.ndarray, slice], np.ndarray], dtype: type[np.generic]
) -> np.ndarray:
    """Return what an array is rounded to, some channels at a time, each [channels, ...]. It lies in memory as it does
    in a file."""
    moved = np.moveaxis(array, outputs, 0)
    made = np.moveaxis(np.empty(array.shape, dtype), outputs, 0)
    step = max(1, _BLOCK // max(array.size // max(len(moved), 1), 1))
    for start in range(0, len(moved), step):
        channels = slice(start, start + step)
        block = np.ascontiguousarray(moved[channels])
        made[channels] = rounded(block, channels).reshape(block.shape)
    return np.moveaxis(made, 0, outputs)


def _steps_of_halves(numbers: np.ndarray) -> np.ndarray:
    """Return the steps of float16 at numbers of float32: their exponents less the bits of its fraction. NumPy's own
    conversion takes many times as long."""
    exponents = numbers.view(np.int32) & np.int32(0x7F800000)
    np.maximum(exponents, (127 - 14) << 23, out=exponents)
    exponents -= 10 << 23
    return exponents.view(np.float32)


def _cancel(exact: np.ndarray, stored: np.ndarray, steps: np.ndarray | None) -> None:
    """Move elements of `stored` by a step, so that the sums over each channel are those of `exact`, both [channels,
    count]. steps: those between numbers that can be stored; None where all are 1, and `exact` may be written over."""
    if exact.shape[1] < 2:
        return
    nearness = np.subtract(exact, stored, out=exact if steps is None else None)
    totals = nearness.sum(axis=1, dtype=np.float64)
    # How far towards the next step an element lies on the side that lessens the sum: at most 0.5.
    signs = np.sign(totals, dtype=np.float32)
    nearness *= signs[:, None]
    if steps is None:
        places, rows, ranks = _nearest(nearness, np.abs(totals))
        # A move pays while more than half of it is left of the sum.
        pays = ranks + 0.5 < np.abs(totals)[rows]
        stored.reshape(-1)[places[pays]] += signs[rows[pays]]
        return
    nearness /= steps
    places, rows, ranks = _nearest(nearness, None)
    sizes = steps.reshape(-1)[places].astype(np.float64)
    sums = np.cumsum(sizes)
    before = sums - sizes
    pays = before - before[np.arange(len(places)) - ranks] + 0.5 * sizes < np.abs(totals)[rows]
    stored.reshape(-1)[places[pays]] += (sizes * signs[rows])[pays].astype(np.float32)


def _nearest(nearness: np.ndarray, moves: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places of the elements of each row that lie nearest to the next step, the rows they are of, and which
    they are in these. moves: how many of each row will move; None if that is not known."""
    # The sum of n errors is some sqrt(n / 12) steps: no more elements than these need be sorted.
    count = nearness.shape[1]
    most = min(count, int(4 * count**0.5) + 8)
    wanted = np.full(len(nearness), most) if moves is None else np.minimum(moves + 1, most).astype(np.int64)
    # Errors lie evenly between -0.5 and 0.5, most of them: more than are wanted are this near, but in one row of 500.
    shares = (1.3 * wanted + 10) / count
    while True:
        least = np.maximum(0.5 - shares, 0.0).astype(np.float32)
        places = np.flatnonzero(nearness > least[:, None])
        rows = places // count
        counts = np.bincount(rows, minlength=len(nearness))
        lacking = (counts < wanted) & (least > 0)
        if not lacking.any():
            break
        shares[lacking] *= 2
    # Numbers of up to 1 are in the order of their bits. Of some that lie as near the first goes, whatever sorts them.
    sizes = (_ONE - nearness.reshape(-1)[places].view(np.int32)).astype(np.int64)
    bits = count.bit_length()
    keys = np.sort((rows << 30 | sizes) << bits | (places - rows * count))
    places = rows * count + (keys & ((1 << bits) - 1))
    ranks = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
    near = ranks < most
    return places[near], rows[near], ranks[near]
