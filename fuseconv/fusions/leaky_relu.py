"""max(x, a * x), relu(x) - a * relu(-x), relu(x) + a * min(x, 0) and where(x > 0, x, a * x) -> LEAKY_RELU, or PRELU
with a slope a channel."""

from __future__ import annotations

from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import finite_array, require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


@pattern
def maximum(tf: Any, x: Any, a: Constant) -> Term:
    return tf.Maximum(x, tf.Mul(x, a))


@pattern
def two_sides(tf: Any, x: Any, a: Any) -> Term:
    negative = tf.Relu(tf.Neg(x))
    return tf.Sub(tf.Relu(x), tf.Mul(a, negative)) | tf.AddV2(tf.Relu(x), tf.Mul(tf.Neg(a), negative))


@pattern
def two_parts(tf: Any, x: Any, a: Any) -> Term:
    positive = tf.Relu(x) | tf.Maximum(x, 0.0)
    below, twice = tf.Minimum(x, 0.0), tf.Sub(x, tf.Abs(x))
    half = tf.Mul(tf.Mul(a, twice), 0.5) | tf.Mul(a, tf.Mul(twice, 0.5))
    return tf.AddV2(positive, tf.Mul(a, below) | half)


@pattern
def two_sides_negated(tf: Any, x: Any, a: Constant) -> Term:
    return tf.AddV2(tf.Relu(x), tf.Mul(a, tf.Relu(tf.Neg(x))), name="negated")


@pattern
def selected(tf: Any, x: Any, a: Any) -> Term:
    positive = tf["Greater", "GreaterEqual"](x, 0.0) | tf["Less", "LessEqual"](0.0, x)
    negative = tf["Less", "LessEqual"](x, 0.0) | tf["Greater", "GreaterEqual"](0.0, x)
    scaled = tf.Mul(x, a)
    select = tf["SelectV2", "Select"]
    return select(positive, x, scaled) | select(negative, scaled, x)


def check(m: Match) -> None:
    require_float32(m)
    m.require(m.x.shape is not None and m.a.is_static, "the shape of the data, or of the slopes, is not known")
    m.require(
        _stretches_to(m.a.shape, m.x.shape), "the slopes have not the shape of the data, or one that broadcasts to it"
    )
    m.require(not m.a.is_const or finite_array(m.a) is not None, "a slope is infinite or NaN")


def check_maximum(m: Match) -> None:
    check(m)
    m.require((m.a.data <= 1).all(), "a slope is above 1, where max(x, a * x) is not LEAKY_RELU")


def rewrite_maximum(tfl: Builder, m: Match) -> Value:
    """max(x, a * x) -> LEAKY_RELU or PRELU."""
    return _leaky(tfl, m.x, m.a)


def rewrite(tfl: Builder, m: Match) -> Value:
    """relu(x) - a * relu(-x), relu(x) + a * min(x, 0) and where(x > 0, x, a * x) -> LEAKY_RELU or PRELU."""
    return _leaky(tfl, m.x, m.a if m.negated is None else tfl.const(-m.a.data))


def _leaky(tfl: Builder, x: Value, slopes: Value) -> Value:
    if slopes.data is not None and slopes.data.size == 1:
        return tfl.leaky_relu(x, alpha=float(slopes.data.reshape(())))
    return tfl.prelu(x, slopes)


def _stretches_to(inner: tuple, outer: tuple) -> bool:
    """Return True if the first shape broadcasts to the second without making it larger."""
    return len(inner) <= len(outer) and all(a in (1, b) for a, b in zip(inner[::-1], outer[::-1]))


FUSIONS = [
    Fusion("leaky_relu", "LEAKY_RELU", maximum, rewrite_maximum, check_maximum),
    Fusion("prelu", "PRELU", (two_sides, two_sides_negated, two_parts, selected), rewrite, check),
]
