"""Layer, group, instance and RMS norms -> fewer and smaller ops: (x - mean) * rsqrt(variance + epsilon) * gamma + beta.

The forms that Keras writes multiply x and the mean by a factor of the data's size, and add two products of that size.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.ir.graph import Value
from fuseconv.ir.terms import filled_with
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import BROADCAST_RANK
from fuseconv.tfl.type_inference import broadcast

_OTHER_NORM = "the batch norm does not normalize each row of the data, as Keras 2's LayerNormalization has it"


@pattern
def expanded(tf: Any, x: Any, mean: Any, variance: Any, gamma: Any, beta: Any) -> Term:
    root = tf.Rsqrt(variance)
    factor = tf.Mul(root, gamma) | root
    product = tf.Mul(mean, factor)
    negative = tf.Mul(tf.Neg(mean), factor) | tf.Neg(product)
    return tf.AddV2(tf.Mul(x, factor), tf.Sub(beta, product) | tf.AddV2(negative, beta) | negative)


def check(m: Match) -> None:
    require_float32(m)
    if m.gamma is not None:
        m.require(None not in (m.x.shape, m.variance.shape, m.gamma.shape), "a rank is not known")
        factor = broadcast(m.variance.shape, m.gamma.shape)
        m.require(
            factor == m.x.shape or _is_centered(m),
            "scale and variance are smaller than the data, so that x * factor + term is cheaper as it is",
        )


def _is_centered(m: Match) -> bool:
    """Return whether x - mean is computed in any case: kernels square a difference of up to so many dimensions."""
    squared = any(op.kind == "tf.SquaredDifference" and m.mean in op.operands for op in m.x.uses)
    # Later passes drop dimensions of size 1.
    return squared and sum(size != 1 for size in m.x.shape) > BROADCAST_RANK["SQUARED_DIFFERENCE"]


def rewrite(tfl: Builder, m: Match) -> Value:
    if m.gamma is not None and broadcast(m.variance.shape, m.gamma.shape) != m.x.shape:
        y = tfl.mul(tfl.sub(m.x, m.mean), tfl.mul(tfl.rsqrt(m.variance), m.gamma))
        return y if m.beta is None else tfl.add(y, m.beta)
    y = tfl.mul(tfl.sub(m.x, m.mean), tfl.rsqrt(m.variance))
    y = y if m.gamma is None else tfl.mul(y, m.gamma)
    return y if m.beta is None else tfl.add(y, m.beta)


@pattern
def scaled_first(tf: Any, x: Any, variance: Any, gamma: Constant) -> Term:
    return tf.Mul(x, tf.Mul(tf.Rsqrt(variance), gamma))


def rewrite_scaled(tfl: Builder, m: Match) -> Value:
    """Multiply by gamma last: what reads the norm may take it into its weights."""
    return tfl.mul(tfl.mul(m.x, tfl.rsqrt(m.variance)), m.gamma)


@pattern
def through_batch_norm(tf: Any, x: Any, ones: Any, zeros: Any) -> Term:
    norm = tf["FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"]
    return tf.Reshape(norm(tf.Reshape(x, ..., name="rows"), ones, zeros, ..., name="norm"), ...)


def check_rows(m: Match) -> None:
    require_float32(m)
    attrs, rows, shape = m.norm.attrs, m.rows.result.shape, m.x.shape
    m.require(attrs.get("is_training", True) and attrs.get("exponential_avg_factor", 1.0) == 1, _OTHER_NORM)
    m.require(attrs.get("data_format") == "NCHW" and rows and shape, _OTHER_NORM)
    m.require(rows[0] == 1 == rows[3] and rows[2] == shape[-1], "a row that is normalized is not a row of the data")
    m.require(m.result.shape == shape, "the result has not the shape of the data")
    m.require(_filled(m.ones, 1) and _filled(m.zeros, 0), "scale and offset of the batch norm are not 1 and 0")


def rewrite_rows(tfl: Builder, m: Match) -> Value:
    """Rows that Keras 2's LayerNormalization takes as channels of a batch norm -> their mean and variance."""
    axis = [len(m.x.shape) - 1]
    centered = tfl.sub(m.x, tfl.mean(m.x, axis, keep_dims=True))
    variance = tfl.mean(tfl.mul(centered, centered), axis, keep_dims=True)
    epsilon = np.float32(m.norm.attrs.get("epsilon", 1e-4))
    return tfl.mul(centered, tfl.rsqrt(tfl.add(variance, epsilon)))


def draw_filled(rng: np.random.Generator, m: Match) -> dict[str, np.ndarray]:
    """Return what `check_rows` has seen of the scale and the offset, which may be made by an op."""
    return {"ones": np.ones(m.ones.shape), "zeros": np.zeros(m.zeros.shape)}


def _filled(value: Value, number: float) -> bool:
    """Return True if every element of the value is known to be this number."""
    filled = filled_with(value)
    return filled is not None and filled.data is not None and bool((filled.data == number).all())


FUSIONS = [
    Fusion("norm_factors", "RSQRT", expanded, rewrite, check),
    Fusion("norm_factor", "RSQRT", scaled_first, rewrite_scaled, check),
    Fusion("keras2_layer_norm", "RSQRT", through_batch_norm, rewrite_rows, check_rows, draw_filled),
]
