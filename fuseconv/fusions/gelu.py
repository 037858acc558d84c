"""x * Phi(x) written out -> GELU; its approximation by tanh -> GELU(approximate).

XNNPACK's kernels are off by 1e-7 of 1, so that where x is below -3 the result, of 4e-3 and less, loses digits, and
below -5.3 is 0. A form that keeps them takes 25 ops.

What is computed of x alone may have other readers, such as activations of the same x beside it.
"""

from __future__ import annotations

import math
from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Dialect, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


def _halved(tf: Dialect, x: Any, factor: Term) -> Term:
    """Return x * factor / 2, in any order."""

    def half(value: Any) -> Term:
        shared = value is x
        return tf.Mul(value, 0.5, shared=shared) | tf.RealDiv(value, 2.0, shared=shared)

    return tf.Mul(half(x), factor) | tf.Mul(x, half(factor)) | half(tf.Mul(x, factor))


@pattern
def exact(tf: Any, x: Any) -> Term:
    def ratio(x: Any, sign: int = 1) -> Term:
        return tf.Mul(x, sign * math.sqrt(0.5), shared=True) | tf.RealDiv(x, sign * math.sqrt(2), shared=True)

    # erfc(-z) is 1 + erf(z) without cancellation; Keras 3 writes that.
    negative = ratio(tf.Neg(x, shared=True)) | ratio(x, -1) | tf.Neg(ratio(x), shared=True)
    return _halved(tf, x, tf.AddV2(tf.Erf(ratio(x)), 1.0) | tf.Erfc(negative))


@pattern
def approximate(tf: Any, x: Any) -> Term:
    square = tf.Square(x, shared=True) | tf.Mul(x, x, shared=True) | tf.Pow(x, 2.0, shared=True)
    cube = tf.Pow(x, 3.0, shared=True) | tf.Mul(square, x, shared=True)
    # 0.044715 times powers of x, in any order.
    linear = tf.Mul(x, 0.044715)
    quadratic = tf.Mul(square, 0.044715) | tf.Mul(linear, x)
    cubic = tf.Mul(cube, 0.044715) | tf.Mul(quadratic, x) | tf.Mul(linear, square)
    root = math.sqrt(2 / math.pi)
    factored = tf.AddV2(quadratic, 1.0)
    scaled = tf.Mul(tf.AddV2(x, cubic) | tf.Mul(x, factored), root) | tf.Mul(tf.Mul(x, root), factored)
    return _halved(tf, x, tf.AddV2(tf.Tanh(scaled), 1.0))


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.gelu(m.x)


def rewrite_approximate(tfl: Builder, m: Match) -> Value:
    """x * Phi(x) by the approximation with tanh -> GELU(approximate)."""
    return tfl.gelu(m.x, approximate=True)


FUSIONS = [
    Fusion("gelu", "GELU", exact, rewrite, require_float32),
    Fusion("gelu_tanh", "GELU", approximate, rewrite_approximate, require_float32),
]
