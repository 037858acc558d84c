"""Softplus and log1p in few ops, where nobody sees the digits that the few lose of small results.

The short forms are right to 2e-7, but not to 2e-7 of a result near 0. In a sum with a constant of one half or more,
float32 holds no more of it. Examples are softplus(x) + 1, the concentration of Beta and Dirichlet distributions,
SchNet's shifted softplus, and 1 + log1p(counts). And 1 + x loses nothing of a whole number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import finite_array, require_float32
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.softplus import coarse_softplus, size_of

_LEAST = 0.5


@pattern
def softplus_sum(tf: Any, x: Any, c: Constant) -> Term:
    made = tf.Softplus(x)
    return tf.AddV2(made, c) | tf.Sub(made, c, name="less") | tf.Sub(c, made, name="rest")


@pattern
def log1p_sum(tf: Any, count: Any, c: Constant) -> Term:
    made = tf.Log1p(count)
    return tf.AddV2(made, c) | tf.Sub(made, c, name="less") | tf.Sub(c, made, name="rest")


@pattern
def log1p_of_integers(tf: Any, whole: Any) -> Term:
    return tf.Log1p(tf.Cast(whole, name="cast", shared=True))


@pattern
def tanh_slope(tf: Any, x: Any) -> Term:
    """The logarithm of half of what tanh rises by at x, as TensorFlow Probability and policies squashed by it write it.

    It is even, and softplus is small where the rest is not."""
    return tf.Sub(tf.Sub(math.log(2), x), tf.Softplus(tf.Mul(x, -2.0)))


def check_sum(m: Match) -> None:
    require_float32(m)
    array = finite_array(m.c)
    large = array is not None and array.size > 0 and bool((np.abs(array) >= _LEAST).all())
    m.require(large, "the constant is below 0.5, so that digits of small results are seen")


def rewrite_sum(tfl: Builder, m: Match) -> Value:
    """softplus(x) or log1p(x), and a constant of 0.5 or more -> LOG(LOGISTIC(|x|)) or LOG(x + 1), and the constant."""
    made = tfl.log(tfl.add(m.count, 1.0)) if m.x is None else coarse_softplus(tfl, m.x)
    if m.rest is not None:
        return tfl.sub(m.c, made)
    return tfl.add(made, m.c) if m.less is None else tfl.sub(made, m.c)


def check_integers(m: Match) -> None:
    require_float32(m)
    m.require(m.whole.dtype.is_integer or m.whole.dtype is types.BOOL, "what is cast is no whole number")


def rewrite_integers(tfl: Builder, m: Match) -> Value:
    """log1p of whole numbers -> LOG(n + 1)."""
    return tfl.log(tfl.add(m.cast.result, 1.0))


def draw_counts(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw numbers above -1, of which the pattern's form without delegates makes the lowest number, not -infinity."""
    return {"whole": rng.integers(0, 2 if m.whole.dtype is types.BOOL else 100, m.whole.shape)}


def rewrite_slope(tfl: Builder, m: Match) -> Value:
    """log(2) - x - softplus(-2 * x), of a tanh's slope -> log(2) - |x| + LOG(LOGISTIC(2 * |x|))."""
    size = size_of(tfl, m.x)
    return tfl.add(tfl.sub(np.float32(math.log(2)), size), tfl.log(tfl.logistic(tfl.mul(size, 2.0))))


FUSIONS = [
    Fusion("tanh_slope", "LOG", tanh_slope, rewrite_slope, require_float32),
    Fusion("logarithm_and_constant", "LOG", (softplus_sum, log1p_sum), rewrite_sum, check_sum),
    Fusion("log1p_of_integers", "LOG", log1p_of_integers, rewrite_integers, check_integers, draw_counts),
]
