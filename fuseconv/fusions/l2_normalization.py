"""x / max(norm(x), 1e-6) along the last dimension -> L2_NORMALIZATION.

The kernel's smallest norm is 1e-6, which is `tf.math.l2_normalize`'s default of 1e-12 for the sum of squares. Keras 3
bounds the reciprocal, of any norm: where the sum is bounded instead, RSQRT needs no care for 0.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK

_SMALLEST_NORM = 1e-6
# The square of it, and of its reciprocal, is a normal number of float32.
_LARGEST_RECIPROCAL = 1e18


@pattern
def bounded_square(tf: Any, x: Any, axes: Constant, smallest: Constant) -> Term:
    squares = tf.Maximum(tf.Sum(tf.Square(x) | tf.Mul(x, x), axes, keep_dims=True), smallest)
    return tf.Mul(x, tf.Rsqrt(squares)) | tf.RealDiv(x, tf.Sqrt(squares))


@pattern
def bounded_norm(tf: Any, x: Any, axes: Constant, smallest: Constant) -> Term:
    norm = tf.Sqrt(tf.Sum(tf.Square(x) | tf.Mul(x, x), axes, keep_dims=True))
    return tf.RealDiv(x, tf.Maximum(norm, smallest, name="norm"))


@pattern
def bounded_reciprocal(tf: Any, x: Any, axes: Any, largest: Constant) -> Term:
    squares = tf.Sum(tf.Square(x) | tf.Mul(x, x), axes, name="squares", shared=True)
    return tf.Minimum(tf.Rsqrt(squares), largest)


def check(m: Match) -> None:
    require_float32(m)
    require_last_axis(m)
    m.require(m.x.rank <= RANK["L2_NORMALIZATION"], "L2_NORMALIZATION takes fewer dimensions than the data has")
    wanted = _SMALLEST_NORM if m.norm is not None else _SMALLEST_NORM**2
    same = m.smallest.data.size == 1 and math.isclose(float(m.smallest.data.reshape(())), wanted, rel_tol=1e-5)
    m.require(same, f"L2_NORMALIZATION divides by at least {_SMALLEST_NORM:g}, the model by at least another number")


def require_last_axis(m: Match) -> None:
    """Refuse a reduction `axes` of x that is over other dimensions than the last."""
    m.require(m.x.rank, "the rank is not known")
    m.require(
        m.axes.data.reshape(-1).tolist() in ([-1], [m.x.rank - 1]),
        "the reduction is not along the last dimension alone",
    )


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.l2_normalization(m.x)


def check_reciprocal(m: Match) -> None:
    require_float32(m)
    largest = m.largest.data
    fit = largest.size == 1 and 1 / _LARGEST_RECIPROCAL < float(largest.reshape(())) < _LARGEST_RECIPROCAL
    m.require(fit, "the bound has no square")


def rewrite_reciprocal(tfl: Builder, m: Match) -> Value:
    """min(1 / norm(x), c) -> RSQRT of the sum of squares that is at least 1 / c^2."""
    smallest = np.float32(float(m.largest.data.reshape(())) ** -2)
    return tfl.rsqrt(tfl.maximum(m.squares.result, smallest))


FUSIONS = [
    Fusion("l2_normalization", "L2_NORMALIZATION", (bounded_square, bounded_norm), rewrite, check),
    Fusion("bounded_reciprocal_norm", "RSQRT", bounded_reciprocal, rewrite_reciprocal, check_reciprocal),
]
