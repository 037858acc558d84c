"""TILE that repeats along one dimension -> CONCATENATION of the value with itself, which XNNPACK takes.

Upsampling by the nearest neighbor, and vectors that are repeated for each step, are written with TILE.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK

# The delegate takes no more operands.
_MOST_COPIES = 5


@pattern
def tiled(tfl: Any, x: Any, multiples: Constant) -> Term:
    return tfl.TILE(x, multiples)


def check(m: Match) -> None:
    require_float32(m)
    m.require(
        m.x.rank is not None and m.x.rank <= RANK["CONCATENATION"],
        "CONCATENATION takes fewer dimensions than the data has",
    )
    repeated = m.multiples.data[m.multiples.data != 1]
    m.require(
        repeated.size == 1 and 1 < repeated[0] <= _MOST_COPIES, "it repeats along several dimensions, or too often"
    )


def rewrite(tfl: Builder, m: Match) -> Value:
    axis = int((m.multiples.data != 1).argmax())
    return tfl.concatenation(*[m.x] * int(m.multiples.data[axis]), axis=axis)


FUSIONS = [Fusion("repetition", "CONCATENATION", tiled, rewrite, check)]
