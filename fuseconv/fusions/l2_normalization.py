"""x / max(norm(x), 1e-6) along the last dimension -> L2_NORMALIZATION.

The kernel's smallest norm is 1e-6, which is `tf.math.l2_normalize`'s default of 1e-12 for the sum of squares.
"""

from __future__ import annotations

import math
from typing import Any

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import RANK

_SMALLEST_NORM = 1e-6


@pattern
def bounded_square(tf: Any, x: Any, axes: Constant, smallest: Constant) -> Term:
    squares = tf.Maximum(tf.Sum(tf.Square(x) | tf.Mul(x, x), axes, keep_dims=True), smallest)
    return tf.Mul(x, tf.Rsqrt(squares)) | tf.RealDiv(x, tf.Sqrt(squares))


@pattern
def bounded_norm(tf: Any, x: Any, axes: Constant, smallest: Constant) -> Term:
    norm = tf.Sqrt(tf.Sum(tf.Square(x) | tf.Mul(x, x), axes, keep_dims=True))
    return tf.RealDiv(x, tf.Maximum(norm, smallest, name="norm"))


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


FUSIONS = [Fusion("l2_normalization", "L2_NORMALIZATION", (bounded_square, bounded_norm), rewrite, check)]
