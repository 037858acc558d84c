"""TILE that repeats along one dimension -> CONCATENATION of the value with itself, which XNNPACK takes.

Upsampling by the nearest neighbor, and vectors that are repeated for each step, are written with TILE.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.dims import Shape, open_sizes
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
    count = int(m.multiples.data[axis])
    shape, behind = m.result.shape, m.x.shape[axis + 1 :]
    source: Value = _without_unit(m.x, behind) if m.x.shape[axis] == 1 and behind else m.x
    follows = all(use.kind == "tfl.RESHAPE" for use in m.result.uses)
    if source is m.x or not follows or shape is None or sum(not isinstance(size, int) for size in shape) > 1:
        return tfl.concatenation(*[m.x] * count, axis=axis)
    # What is copied is what stands behind the dimension of 1. The reshape becomes one with that which follows.
    before = len(source.shape or ()) - len(behind)
    copies = tfl.concatenation(*[source] * count, axis=before - 1 if _has_unit(source, before) else before)
    return tfl.reshape(copies, open_sizes(shape))


def _without_unit(x: Value, behind: Shape) -> Value:
    """Return what reshapes made x of, as long as they left its last dimensions; one with a dimension of 1 before these
    will do."""
    while x.op is not None and x.op.kind in ("tfl.RESHAPE", "tfl.EXPAND_DIMS"):
        source = x.op.operands[0]
        if source is None or source.shape is None or source.shape[-len(behind) :] != behind:
            break
        x = source
        if _has_unit(x, len(source.shape) - len(behind)):
            break
    return x


def _has_unit(x: Value, before: int) -> bool:
    return before > 0 and x.shape is not None and x.shape[before - 1] == 1


FUSIONS = [Fusion("repetition", "CONCATENATION", tiled, rewrite, check)]
