"""log1p(exp(x)) -> the softplus of x, as log-sum-exps of two write it, and sigmoid_cross_entropy_with_logits, whose
selections become a RELU and an ABS as well.

Log1p alone takes 10 ops, since it must serve every x above -1. Beyond float32's exp(x) the softplus is still x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.softplus import size_of, softplus, softplus_of_negative

# exp(88.7) is the largest float32.
_LARGEST = 80.0


@pattern
def of_distance(tf: Any, distance: Any) -> Term:
    return tf.Log1p(tf.Exp(tf.Neg(tf.Abs(distance))))


@pattern
def cross_entropy(tf: Any, x: Any, labels: Any, zeros: Any) -> Term:
    """Return tf.nn.sigmoid_cross_entropy_with_logits, which selects by x >= 0 where others take a RELU and an ABS."""

    def select(above: Any, below: Any) -> Term:
        return tf["SelectV2", "Select"](tf.GreaterEqual(x, zeros) | tf.GreaterEqual(x, 0.0), above, below)

    return tf.AddV2(tf.Sub(select(x, zeros), tf.Mul(x, labels)), tf.Log1p(tf.Exp(select(tf.Neg(x), x))))


@pattern
def of_any(tf: Any, x: Any) -> Term:
    return tf.Log1p(tf.Exp(x, shared=True))


def rewrite(tfl: Builder, m: Match) -> Value:
    if m.distance is not None:
        return softplus_of_negative(tfl, size_of(tfl, m.distance))
    return softplus(tfl, m.x)


def check_zeros(m: Match) -> None:
    require_float32(m)
    zeros = m.zeros.op is not None and m.zeros.op.kind == "tf.ZerosLike"
    m.require(zeros or (m.zeros.is_const and not m.zeros.data.any()), "what the logits are compared with is not 0")


def rewrite_cross_entropy(tfl: Builder, m: Match) -> Value:
    """where(x >= 0, x, 0) - x * labels + log1p(exp(where(x >= 0, -x, x))) -> relu(x) - x * labels + softplus(-|x|)."""
    return tfl.add(tfl.sub(tfl.relu(m.x), tfl.mul(m.x, m.labels)), softplus_of_negative(tfl, size_of(tfl, m.x)))


def draw_zeros(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw the zeros that the logits are compared with, which a dynamic batch has from ZerosLike."""
    return {"zeros": np.zeros(m.zeros.shape)}


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw numbers whose exp(x) float32 holds: beyond, the pattern gives what Log1p makes of infinity."""
    return {} if m.x is None else {"x": rng.uniform(-_LARGEST, _LARGEST, m.x.shape)}


FUSIONS = [
    Fusion("sigmoid_cross_entropy", "DIV", cross_entropy, rewrite_cross_entropy, check_zeros, draw_zeros),
    Fusion("log1p_exp", "DIV", (of_distance, of_any), rewrite, require_float32, draw),
]
