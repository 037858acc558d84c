"""Normalization and its gradient, and the norm of a tensor."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.data_format import channels_last, is_channels_first, to_data_format
from fuseconv.lower.support.dynamic_shapes import dim_vector, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, scalar
from fuseconv.lower.support.type_promotion import cast, in_float32

_RESERVED = "the model reads a reserved result of the op, which has a meaning in training only"


@lowers("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
@in_float32
def FusedBatchNorm(
    tfl, x, scale, offset, mean, variance, *,
    epsilon=1e-4, exponential_avg_factor=1.0, data_format="NHWC", is_training=True,
):  # fmt: skip
    """One MUL and one ADD in inference; the moments of the batch in training, which move those that are given."""
    require(not any(result.uses for result in tfl.source.results[5:]), _RESERVED)
    x = channels_last(tfl, x, data_format)
    moments = [mean, variance]
    if is_training:
        mean, variance, estimate = _moments(tfl, x)
        moments = [_moved(tfl, *each, exponential_avg_factor) for each in zip(moments, (mean, estimate))]
    factor = tfl.mul(scale, tfl.rsqrt(tfl.add(variance, epsilon)))
    y = tfl.add(tfl.mul(x, factor), tfl.sub(offset, tfl.mul(mean, factor)))
    # The last two are for the gradient, as they are on a CPU.
    return [to_data_format(tfl, y, data_format), *moments, mean, variance, None][: len(tfl.source.results)]


def _moved(tfl: Lowering, old: Value, new: Value, share: float) -> Value:
    """Return what an average becomes of which a share is the new one."""
    return new if share == 1 else tfl.add(tfl.mul(old, 1 - share), tfl.mul(new, share))


@lowers("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
@in_float32
def FusedBatchNormGrad(
    tfl, dy, x, scale, mean, variance, *reserved, epsilon=1e-4, data_format="NHWC", is_training=True
):  # fmt: skip
    """SUMs of the gradient, and of it times x normalized; in training less their parts by the moments."""
    dy, x = channels_last(tfl, dy, data_format), channels_last(tfl, x, data_format)
    axes = [*range(len(shape_of(x)) - 1)]
    root = tfl.rsqrt(tfl.add(variance, epsilon))
    normal = tfl.mul(tfl.sub(x, mean), root)
    weighted = tfl.mul(dy, normal)
    dx = dy
    if is_training:
        dx = tfl.sub(tfl.sub(dy, tfl.mean(dy, axes)), tfl.mul(normal, tfl.mean(weighted, axes)))
    dx = to_data_format(tfl, tfl.mul(dx, tfl.mul(scale, root)), data_format)
    unread = not any(result.uses for result in tfl.source.results[3:])
    require(unread, _RESERVED)
    return [dx, tfl.sum(weighted, axes), tfl.sum(dy, axes), *[None] * (len(tfl.source.results) - 3)]


@lowers
def BatchNormWithGlobalNormalization(tfl, t, m, v, beta, gamma, *, variance_epsilon, scale_after_normalization):
    """As FusedBatchNorm in inference, the channels last; the scale counts only if it is asked to."""
    scale = gamma if scale_after_normalization else scalar(1, t.dtype)
    return FusedBatchNorm(tfl, t, scale, beta, m, v, epsilon=variance_epsilon, is_training=False)[:1]


@lowers
@in_float32
def LRN(tfl, x, *, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5):
    """LOCAL_RESPONSE_NORMALIZATION; a product with a band matrix where the base of the power can be negative."""
    if (bias > 0 and alpha >= 0) or beta == 0:
        return tfl.local_response_normalization(x, radius=depth_radius, bias=bias, alpha=alpha, beta=beta)
    # The base of the power can be negative; TensorFlow then makes NaNs where TFLite's op makes numbers.
    (channels,) = static_dims(shape_of(x, 4)[3:], "the number of channels")
    budget.require_room(channels * channels, 8, tfl.name)
    distance = np.abs(np.subtract.outer(np.arange(channels), np.arange(channels)))
    band = np.where(distance <= depth_radius, np.float32(alpha), np.float32(0))
    base = tfl.add(tfl.fully_connected(tfl.mul(x, x), band, keep_num_dims=True), bias)
    return tfl.mul(x, _power(tfl, base, -beta))


@lowers
@in_float32
def L2Loss(tfl, t):
    """Half the SUM of squares."""
    axes = [*range(len(shape_of(t)))]
    return tfl.mul(tfl.sum_(tfl.mul(t, t), axes), 0.5)


def _power(tfl: Lowering, base: Value, exponent: float) -> Value:
    """Return base ** exponent as TensorFlow's LRN computes it: NaN for a negative base unless the exponent is -1."""
    if exponent == -1:
        return tfl.div(np.array(1, np.float32), base)
    if exponent == -0.5:
        return tfl.rsqrt(base)
    # The root makes the NaN: a power with a whole exponent would not, nor does XNNPACK's logarithm.
    return tfl.pow_(tfl.sqrt(base), 2 * exponent)


def _moments(tfl: Lowering, x: Value) -> tuple[Value, Value, Value]:
    """Return the mean over all but the channels, the variance about it, and the variance as an estimate for the
    population."""
    axes = [*range(len(shape_of(x)) - 1)]
    mean = tfl.mean(x, axes)
    centered = tfl.sub(x, mean)
    variance = tfl.mean(tfl.mul(centered, centered), axes)
    count = cast(tfl, dim_vector(tfl, product(shape_of(x)[:-1]), x), types.FLOAT32)
    fewer = tfl.maximum(tfl.sub(count, 1.0), 1.0)
    return mean, variance, tfl.mul(variance, tfl.div(count, fewer))


@lowers("BiasAdd", "BiasAddV1")
def BiasAdd(tfl, value, bias, *, data_format="NHWC"):
    """ADD."""
    # The format tells only where the channels are; the rank is the value's.
    rank = len(shape_of(value))
    if is_channels_first(data_format) and rank > 2:
        bias = tfl.reshape(bias, [-1, *[1] * (rank - 2)])
    return elementwise(tfl, "ADD", value, bias)
