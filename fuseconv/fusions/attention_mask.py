"""SELECT of attention scores by a mask -> MINIMUM with bounds made of the mask, computed once for all heads.

    softmax(where(mask, scores, -3e38)) -> softmax(minimum(scores, where(mask, inf, -3e38)))

The mask is smaller than the scores, and often one mask serves all layers; XNNPACK has a MINIMUM and no SELECT_V2, which
would divide each layer. The two differ where a score that is masked lies below the number that the mask puts in its
place: the fusion asks for a number that leaves hardly any below it. And they differ where such a score is NaN, which
the SELECT_V2 drops and the MINIMUM may keep: the row is then NaN, never another number. Attention does not come out of
it better in TensorFlow: a key that makes NaN scores stands beside values that are NaN, and 0 times NaN is NaN.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import FOLD_GROWTH_BYTES, Builder
from fuseconv.tfl.kernel_limits import BROADCAST_RANK

# Sums of products that come near to this have overflowed, or are about to.
_LOWEST = -1e30


@pattern
def kept(tfl: Any, mask: Any, x: Any, c: Constant) -> Term:
    return tfl.SOFTMAX(tfl.SELECT_V2(mask, x, c), name="softmax")


@pattern
def dropped(tfl: Any, mask: Any, x: Any, c: Constant) -> Term:
    return tfl.SOFTMAX(tfl.SELECT_V2(mask, c, x, name="drops"), name="softmax")


def check(m: Match) -> None:
    require_float32(m)
    m.require(
        m.c.data.size == 1 and float(m.c.data.reshape(())) <= _LOWEST,
        "the number for masked scores is not so low that SOFTMAX makes 0 of it",
    )
    m.require(m.x.shape is not None and m.mask.shape is not None, "a rank is not known")
    m.require(
        max(m.x.rank, m.mask.rank) <= BROADCAST_RANK["MINIMUM"], "MINIMUM takes fewer dimensions than the scores have"
    )
    if m.mask.is_const:
        m.require(
            4 * m.mask.data.size <= FOLD_GROWTH_BYTES,
            "the constant mask would take four times its bytes as bounds for MINIMUM",
        )
    else:
        m.require(
            _repeats(m.mask.shape, m.x.shape),
            "each score has a mask of its own, so that computing bounds once saves nothing",
        )


def rewrite(tfl: Builder, m: Match) -> Value:
    allowed, lowest = np.array(math.inf, np.float32), m.c.data.reshape(())
    choice = (allowed, lowest) if m.drops is None else (lowest, allowed)
    bound = np.where(m.mask.data, *choice) if m.mask.is_const else tfl.select_v2(m.mask, *choice)
    return tfl.softmax(tfl.minimum(m.x, bound), **m.softmax.attrs)


def _repeats(mask: Shape, scores: Shape) -> bool:
    """Return True if the mask is one for several scores."""
    return len(mask) < len(scores) or any(dim == 1 != size for dim, size in zip(mask, scores))


FUSIONS = [Fusion("attention_mask", "MINIMUM", (kept, dropped), rewrite, check)]
