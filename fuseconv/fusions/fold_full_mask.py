"""SELECT by the AND of a mask and a full one, true everywhere -> SELECT by the mask (Keras' MultiHeadAttention)."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import BROADCAST_RANK, TYPES


@pattern
def with_filled(tf: Any, dims: Any, mask: Any, x: Any, y: Any) -> Term:
    return tf.SelectV2(tf.LogicalAnd(tf.Fill(dims, True, shared=True, name="fill"), mask), x, y)


@pattern
def with_constant(tf: Any, filled: Constant, mask: Any, x: Any, y: Any) -> Term:
    return tf.SelectV2(tf.LogicalAnd(filled, mask), x, y)


def check(m: Match) -> None:
    m.require(m.filled is None or m.filled.data.all(), "the second mask is not true everywhere")
    filled = m.filled if m.fill is None else m.fill.result
    others = [value.shape for value in (m.mask, m.x, m.y)]
    m.require(None not in (filled.shape, *others), "a rank is not known")
    m.require(_covered(filled.shape, others), "without the mask that is true everywhere the result would be smaller")
    m.require(m.result.dtype in TYPES["SELECT_V2"], f"SELECT_V2 takes no {m.result.dtype}")
    m.require(max(map(len, others)) <= BROADCAST_RANK["SELECT_V2"], "SELECT_V2 takes fewer dimensions than the model's")


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.select_v2(m.mask, m.x, m.y)


def _covered(shape: Shape, others: list[Shape]) -> bool:
    """Return True if each dimension is 1, or one that another shape has in the same place."""
    places = [{dims[-place] for dims in others if len(dims) >= place} for place in range(1, len(shape) + 1)]
    return len(shape) <= max(map(len, others)) and all(d == 1 or d in p for d, p in zip(shape[::-1], places))


FUSIONS = [Fusion("full_mask", "SELECT_V2", (with_filled, with_constant), rewrite, check)]
