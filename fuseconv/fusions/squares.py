"""(x - y)^2 -> SQUARED_DIFFERENCE; 1 / sqrt(x) -> RSQRT."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.constants import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.limits import BROADCAST_RANK


@pattern
def squared_difference(tf: Any, x: Any, y: Any) -> Term:
    difference = tf.Sub(x, y)
    return tf.Square(difference) | tf.Mul(difference, difference)


@pattern
def reciprocal_root(tf: Any, x: Any) -> Term:
    root = tf.Sqrt(x)
    return tf.RealDiv(1.0, root) | tf["Reciprocal", "Inv"](root)


def check_difference(m: Match) -> None:
    require_float32(m)
    ranks = [value.rank for value in (m.x, m.y)]
    most = BROADCAST_RANK["SQUARED_DIFFERENCE"]
    m.require(None not in ranks and max(ranks) <= most, f"TFLite's op takes up to {most} dimensions")


def rewrite_difference(tfl: Builder, m: Match) -> Value:
    """(x - y)^2 -> SQUARED_DIFFERENCE."""
    return tfl.squared_difference(m.x, m.y)


def rewrite_root(tfl: Builder, m: Match) -> Value:
    """1 / sqrt(x) -> RSQRT."""
    return tfl.rsqrt(m.x)


FUSIONS = [
    Fusion("squared_difference", "SQUARED_DIFFERENCE", squared_difference, rewrite_difference, check_difference),
    Fusion("reciprocal_root", "RSQRT", reciprocal_root, rewrite_root, require_float32),
]
