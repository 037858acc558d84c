"""(x - y)^2 -> SQUARED_DIFFERENCE, or the square of a difference that is there; 1 / sqrt(x) -> RSQRT, by which numbers
are multiplied rather than divided by the root.

A square is MUL of a tensor and itself. It reads one tensor in its order where a difference broadcasts another along it.
"""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import is_kept_from_zero
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import BROADCAST_RANK


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


@pattern
def of_difference(tfl: Any, x: Any, y: Any) -> Term:
    difference = tfl.SUB(x, y, name="difference")
    return tfl.MUL(difference, difference)


def check_of_difference(m: Match) -> None:
    """Accept the square of a difference that was lowered to SUB and MUL because its rank exceeded that of
    SQUARED_DIFFERENCE, and has been reduced since."""
    check_difference(m)
    m.require(
        _differences(m) == [m.difference],
        "an activation stands between the two ops, or no other op reads the same difference",
    )


@pattern
def of_known_difference(tfl: Any, x: Any, y: Any) -> Term:
    return tfl.SQUARED_DIFFERENCE(x, y)


def check_known(m: Match) -> None:
    require_float32(m)
    m.require(_differences(m), "no other op reads the same difference")


def _differences(m: Match) -> list[Op]:
    return [op for op in m.x.uses if op.kind == "tfl.SUB" and op.operands == [m.x, m.y] and not op.attrs]


def rewrite_known(tfl: Builder, m: Match) -> Value:
    """SQUARED_DIFFERENCE of values whose difference is also computed -> the square of that."""
    difference = tfl.sub(m.x, m.y)
    return tfl.mul(difference, difference)


def check_root(m: Match) -> None:
    """Accept the root of what is not 0, of which XNNPACK's RSQRT makes NaN where the model divides by 0."""
    require_float32(m)
    m.require(is_kept_from_zero(m.x), "the model divides by the root of what may be 0")


def rewrite_root(tfl: Builder, m: Match) -> Value:
    """1 / sqrt(x) -> RSQRT."""
    return tfl.rsqrt(m.x)


@pattern
def quotient_by_root(tfl: Any, y: Any, x: Any) -> Term:
    return tfl.DIV(y, tfl.SQRT(x))


def rewrite_quotient(tfl: Builder, m: Match) -> Value:
    """y / sqrt(x) -> MUL by RSQRT, which takes 0.75 to 0.95 of the time: a DIV takes longer than a MUL."""
    return tfl.mul(m.y, tfl.rsqrt(m.x))


FUSIONS = [
    Fusion("squared_difference", "SQUARED_DIFFERENCE", squared_difference, rewrite_difference, check_difference),
    Fusion("squared_sub", "SQUARED_DIFFERENCE", of_difference, rewrite_difference, check_of_difference),
    Fusion("square_of_difference", "MUL", of_known_difference, rewrite_known, check_known),
    Fusion("reciprocal_root", "RSQRT", reciprocal_root, rewrite_root, check_root),
    Fusion("quotient_by_root", "MUL", quotient_by_root, rewrite_quotient, check_root),
]
