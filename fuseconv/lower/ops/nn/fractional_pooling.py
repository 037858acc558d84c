"""Pooling over cells of different sizes, whose bounds TensorFlow draws from a seed.

The cells depend on nothing but the seeds, the sizes of the image and the ratio, as in TensorFlow's
core/kernels/fractional_pool_common.cc, so that they are known when the model is converted. Rows are pooled, then
columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from fuseconv.ir import budget
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tf.shape_functions.nn import fractional_cells

# The generator's: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
_ROUNDS, _FACTORS, _STEPS = 10, (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)
_WORD = 2**32


@lowers
def FractionalMaxPool(
    tfl, x, *, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0, seed2=0
):
    """GATHER of the rows of each cell, and REDUCE_MAX; the same of the columns."""
    ends = _ends(tfl, x, pooling_ratio, pseudo_random, deterministic, seed, seed2)

    def pooled(wide: Value) -> Value:
        for axis, cells in enumerate(ends, 1):
            places, _ = _places(cells, overlapping)
            wide = tfl.reduce_max(tfl.gather(wide, places, axis=axis), [axis + 1])
        return wide

    return [build_legalized(tfl, "REDUCE_MAX", pooled, x), *map(tfl.const, ends)]


@lowers
@in_float32
def FractionalAvgPool(
    tfl, x, *, pooling_ratio, pseudo_random=False, overlapping=False, deterministic=False, seed=0, seed2=0
):
    """GATHER of the rows of each cell, MUL by one over their number, and SUM; the same of the columns."""
    ends = _ends(tfl, x, pooling_ratio, pseudo_random, deterministic, seed, seed2)
    mean = x
    for axis, cells in enumerate(ends, 1):
        places, shares = _places(cells, overlapping)
        # The cells and their rows stand before what is behind the axis.
        shares = shares.reshape(*shares.shape, *[1] * (3 - axis))
        mean = tfl.sum_(tfl.mul(tfl.gather(mean, places, axis=axis), shares), [axis + 1])
    return [mean, *map(tfl.const, ends)]


def _ends(
    tfl: Lowering, x: Value, ratio: Sequence[float], pseudo_random: bool, deterministic: bool, seed: int, seed2: int
) -> list[np.ndarray]:
    """Return where cells end along height and width, the first with 0 before it: int64 [cells + 1]. Refuses the op if
    that differs from run to run."""
    require(
        deterministic and (seed, seed2) != (0, 0),
        "its cells are drawn anew in each run; give it a seed other than 0, so that they are always the same",
    )
    require(ratio[0] == ratio[3] == 1, "a ratio of the batch or of the channels is not supported")
    sizes = static_dims(shape_of(x, 4)[1:3], "height and width")
    budget.require_room(4 * sum(sizes), 8, tfl.name)
    blocks = (_block(number, seed, seed2) for number in itertools.count())
    counts = static_dims([fractional_cells(size, each) for size, each in zip(sizes, ratio[1:3])], "the cells")
    require(all(counts), "the ratio leaves no cells")
    draw = _pseudo_random_lengths if pseudo_random else _random_lengths
    return [np.cumsum([0, *draw(size, count, blocks)]) for size, count in zip(sizes, counts)]


def _pseudo_random_lengths(size: int, count: int, blocks: Iterator[list[int]]) -> np.ndarray:
    """Return the lengths of cells that end near the multiples of their mean length, all moved by one random number."""
    mean, least = size / count, size // count
    high, low, *_ = next(blocks)
    fraction = ((high & 0xFFFFF) << 32 | low) / 2.0**52
    moved = fraction * min((least + 2) / mean - 1, (size + 1 - least) / mean - (count - 1))
    ends = [1, *(math.ceil(mean * (cell + moved)) for cell in range(1, count)), size + 1]
    return np.diff(ends)


def _random_lengths(size: int, count: int, blocks: Iterator[list[int]]) -> np.ndarray:
    """Return lengths of which any are one longer than the others, in a random order."""
    lengths = np.full(count, size // count)
    lengths[: size % count] += 1
    drawn = [number for _ in range(-(-count // 4)) for number in next(blocks)]
    for cell in range(count - 1):
        other = cell + drawn[cell] % (count - cell)
        lengths[[cell, other]] = lengths[[other, cell]]
    return lengths


def _block(number: int, seed: int, seed2: int) -> list[int]:
    """Return a block of Philox, four numbers of 32 bits: of the first seed as the key, the second as the counter's
    upper half."""
    counter = [number, 0, seed2 % _WORD, (seed2 >> 32) % _WORD]
    key = [seed % _WORD, (seed >> 32) % _WORD]
    for _ in range(_ROUNDS):
        first, third = counter[0] * _FACTORS[0], counter[2] * _FACTORS[1]
        counter = [
            third // _WORD ^ counter[1] ^ key[0], third % _WORD, first // _WORD ^ counter[3] ^ key[1], first % _WORD,
        ]  # fmt: skip
        key = [(part + step) % _WORD for part, step in zip(key, _STEPS)]
    return counter


def _places(ends: np.ndarray, overlapping: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return which rows each cell has, the last again where others have more, and what each counts in their mean:
    [cells, rows]."""
    starts, last = ends[:-1, None], np.minimum(ends[1:, None] - (not overlapping), ends[-1] - 1)
    rows = starts + np.arange(int((last - starts).max()) + 1)
    shares = (rows <= last) / (last - starts + 1)
    return np.minimum(rows, last).astype(np.int32), shares.astype(np.float32)
