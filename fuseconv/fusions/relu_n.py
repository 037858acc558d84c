"""Maxima and minima with constants -> RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_OPS = {(-1.0, 1.0): "RELU_N1_TO_1", (0.0, 1.0): "RELU_0_TO_1", (0.0, 6.0): "RELU6"}


@pattern
def one_side(tf: Any, x: Any) -> Term:
    return tf.Maximum(x, 0.0)


@pattern
def both_sides(tf: Any, x: Any, low: Constant, high: Constant) -> Term:
    return (
        tf.Minimum(tf.Maximum(x, low), high)
        | tf.Maximum(tf.Minimum(x, high), low)
        | tf.Minimum(tf.Relu(x), high)
        | tf.ClipByValue(x, low, high)
    )


def check(m: Match) -> None:
    require_float32(m)
    m.require(_bounds(m) in _OPS, "TFLite has no activation with these bounds")


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.op(_OPS[_bounds(m)], (m.x,), {})[0]


def rewrite_relu(tfl: Builder, m: Match) -> Value:
    """max(x, 0) -> RELU."""
    return tfl.relu(m.x)


def _bounds(m: Match) -> tuple[float, float]:
    """Return the bounds; NaN for one that is not a number for all elements."""
    low = np.zeros(()) if m.low is None else m.low.data
    lower, upper = (float(bound.reshape(())) if bound.size == 1 else math.nan for bound in (low, m.high.data))
    return lower, upper


FUSIONS = [
    Fusion("clamp", "RELU6", both_sides, rewrite, check),
    Fusion("maximum_with_zero", "RELU", one_side, rewrite_relu, require_float32),
]
