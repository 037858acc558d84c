"""log1p(exp(x)) -> the softplus of x, as tf.nn.sigmoid_cross_entropy_with_logits and log-sum-exps of two write it.

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
from fuseconv.tfl.softplus import softplus, softplus_of_negative

# exp(88.7) is the largest float32.
_LARGEST = 80.0


@pattern
def of_distance(tf: Any, distance: Any) -> Term:
    return tf.Log1p(tf.Exp(tf.Neg(tf.Abs(distance))))


@pattern
def of_any(tf: Any, x: Any) -> Term:
    return tf.Log1p(tf.Exp(x, shared=True))


def rewrite(tfl: Builder, m: Match) -> Value:
    if m.distance is not None:
        return softplus_of_negative(tfl, tfl.abs(m.distance))
    return softplus(tfl, m.x)


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw numbers whose exp(x) float32 holds: beyond, the pattern gives what Log1p makes of infinity."""
    return {} if m.x is None else {"x": rng.uniform(-_LARGEST, _LARGEST, m.x.shape)}


FUSIONS = [Fusion("log1p_exp", "LOG", (of_distance, of_any), rewrite, require_float32, draw)]
