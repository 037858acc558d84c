"""x == 0 and the sign bit of x -> x == 0 and 1 / x < 0: whether x is -0, without its bits, which few accelerators take.

`keras.ops.argmax` and `argmin` of Keras 3 tell -0 from 0 so. Of NaN both are false, as it does not equal 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Term, pattern
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

_SIGN = int(np.iinfo(np.int32).min)


@pattern
def negative_zero(tf: Any, x: Any) -> Term:
    bits = tf.Bitcast(x, name="bits")
    return tf.LogicalAnd(tf.Equal(x, 0.0), tf.Less(bits | tf.BitwiseAnd(bits, _SIGN), 0))


def check(m: Match) -> None:
    numbers = m.x.dtype is types.FLOAT32 and m.bits.result.dtype is types.INT32
    m.require(numbers, "the bits are not those of float32 as int32")


def rewrite(tfl: Builder, m: Match) -> Value:
    return tfl.logical_and(tfl.equal(m.x, 0.0), tfl.less(tfl.div(1.0, m.x), 0.0))


def draw(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Draw numbers of which some are zeros, with either sign."""
    return {"x": rng.choice(np.array([0.0, -0.0, 1.0, -2.0], np.float32), m.x.shape)}


FUSIONS = [Fusion("negative_zero", "LOGICAL_AND", negative_zero, rewrite, check, draw)]
