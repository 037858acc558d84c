"""Norms written out -> composites that compilers of NPUs know by name: odml.rms_norm, odml.l2_norm, odml.group_norm.

    x * rsqrt(mean(x^2) + epsilon) * gamma                -> odml.rms_norm(x, gamma) {epsilon}
    x * rsqrt(sum(x^2) + epsilon)                         -> odml.l2_norm(x) {axis, epsilon}
    (x - mean) * rsqrt(variance + epsilon) * gamma + beta,
    of groups of channels                                 -> odml.group_norm(x, gamma, beta) {num_groups, epsilon}

The contracts are those of LiteRT's readers (litert/cc/internal/litert_op_options.h; qnn_compose_graph.cc;
ml_drift_delegate/tflite/support) and of litert-torch, which writes them (generative/layers/normalization.py). All work
on the last dimension. Group norms of one group are left: Qualcomm's plug-in takes them for a layer norm, of each place
by itself, ML Drift for a norm of the whole image.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.fusions.constant_operands import require_float32
from fuseconv.fusions.l2_normalization import require_last_axis
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of

# Of what the plug-ins read: [batch, height, width, channels].
_IMAGE_RANK = 4


def _scaled(tfl: Any, x: Any, total: Any) -> Term:
    return tfl.MUL(x, tfl.RSQRT(total)) | tfl.DIV(x, tfl.SQRT(total))


@pattern
def rms_norm(tfl: Any, x: Any, axes: Constant, epsilon: Constant, gamma: Constant, share: Constant) -> Term:
    squares = tfl.SQUARE(x) | tfl.MUL(x, x)
    mean = tfl.MEAN(squares, axes, keep_dims=True) | tfl.MUL(tfl.SUM(squares, axes, keep_dims=True), share)
    total = tfl.ADD(mean, epsilon)
    norm = _scaled(tfl, x, total)
    return (
        tfl.MUL(norm, gamma)
        | tfl.MUL(x, tfl.MUL(tfl.RSQRT(total), gamma))
        | _scaled(tfl, tfl.MUL(x, gamma), total)
        | norm
    )


@pattern
def l2_norm(tfl: Any, x: Any, axes: Constant, epsilon: Constant) -> Term:
    squares = tfl.SUM(tfl.SQUARE(x) | tfl.MUL(x, x), axes, keep_dims=True)
    return _scaled(tfl, x, tfl.ADD(squares, epsilon))


def check_last(m: Match) -> None:
    require_float32(m)
    require_last_axis(m)
    m.require(m.x.rank >= 2 and isinstance(m.x.shape[-1], int), "the last dimension is not known, or the only one")
    m.require(_number(m.epsilon) > 0, "epsilon is no positive number")


def _number(value: Value) -> float:
    """Return the number that a constant is; NaN if it is several."""
    return math.nan if value.data is None or value.data.size != 1 else float(value.data.reshape(()))


def check_rms(m: Match) -> None:
    check_last(m)
    channels = m.x.shape[-1]
    share = 1 / channels if m.share is None else _number(m.share)
    m.require(math.isclose(share * channels, 1, rel_tol=1e-6), "the sum is divided by another number than it has terms")
    fits = m.gamma is None or (m.gamma.shape[-1:] == (channels,) and m.gamma.data.size == channels)
    m.require(fits, "gamma has not one number for each channel")


def rewrite_rms(tfl: Builder, m: Match) -> Value:
    """x * rsqrt(mean(x^2) + epsilon) * gamma -> odml.rms_norm."""
    epsilon = np.float32(_number(m.epsilon))
    gamma = np.ones(m.x.shape[-1:], np.float32) if m.gamma is None else m.gamma.data.reshape(-1)

    def body(tfl: Builder, x: Value, gamma: Value) -> Value:
        mean = tfl.mean(tfl.mul(x, x), [m.x.rank - 1], keep_dims=True)
        return tfl.mul(tfl.mul(x, tfl.rsqrt(tfl.add(mean, epsilon))), gamma)

    return tfl.composite("odml.rms_norm", [m.x, gamma], body, {"epsilon": float(epsilon)})


def rewrite_l2(tfl: Builder, m: Match) -> Value:
    """x * rsqrt(sum(x^2) + epsilon) -> odml.l2_norm."""
    epsilon = np.float32(_number(m.epsilon))

    def body(tfl: Builder, x: Value) -> Value:
        squares = tfl.sum(tfl.mul(x, x), [m.x.rank - 1], keep_dims=True)
        return tfl.mul(x, tfl.rsqrt(tfl.add(squares, epsilon)))

    return tfl.composite("odml.l2_norm", [m.x], body, {"axis": -1, "epsilon": float(epsilon)})


def _moments(tfl: Any, rows: Any, axes: Any, more_axes: Any) -> tuple[Term, Term, Term]:
    """Return the mean of rows, what is left of them without it, and the variance."""
    mean = tfl.MEAN(rows, axes, keep_dims=True)
    centered = tfl.SUB(rows, mean)
    squares = tfl.SQUARE(centered) | tfl.MUL(centered, centered) | tfl.SQUARED_DIFFERENCE(rows, mean)
    return mean, centered, tfl.MEAN(squares, more_axes, keep_dims=True)


@pattern
def keras_group_norm(
    tfl: Any, x: Any, axes: Constant, more_axes: Constant, epsilon: Constant, gamma: Constant, beta: Constant
) -> Term:
    rows = tfl.RESHAPE(x, ..., name="rows")
    mean, _, variance = _moments(tfl, rows, axes, more_axes)
    root = tfl.RSQRT(tfl.ADD(variance, epsilon))
    factor = tfl.MUL(root, gamma) | root
    product = tfl.MUL(mean, factor)
    shift = tfl.SUB(beta, product) | tfl.NEG(product) | tfl.MUL(tfl.NEG(mean), factor)
    return tfl.RESHAPE(tfl.ADD(tfl.MUL(rows, factor), shift, name="last"), ...)


@pattern
def group_norm(
    tfl: Any, x: Any, axes: Constant, more_axes: Constant, epsilon: Constant, gamma: Constant, beta: Constant
) -> Term:
    rows = tfl.RESHAPE(x, ..., name="rows")
    _, centered, variance = _moments(tfl, rows, axes, more_axes)
    total = tfl.ADD(variance, epsilon)
    norm = _scaled(tfl, centered, total)
    inner = tfl.MUL(norm, gamma) | tfl.MUL(centered, tfl.MUL(tfl.RSQRT(total), gamma)) | norm
    whole = tfl.RESHAPE(tfl.ADD(inner, beta, name="last"), ...) | tfl.RESHAPE(inner, ...)
    back = tfl.RESHAPE(norm, ...)
    affine = tfl.DEPTHWISE_CONV_2D(back, gamma, beta, name="last")
    shifted = tfl.ADD(tfl.MUL(back, gamma) | tfl.RESHAPE(inner, ...), beta, name="last")
    return shifted | affine | whole


def check_groups(m: Match) -> None:
    require_float32(m)
    rows, shape = m.rows.result.shape, m.x.shape
    m.require(
        shape is not None and len(shape) == _IMAGE_RANK == len(rows) - 1,
        "the data is no image whose channels are in groups",
    )
    m.require(rows[:3] == shape[:3] and isinstance(shape[3], int), "the groups are not parts of the channels")
    m.require(rows[3] > 1, "it has one group only, which NPUs compute in different ways")
    m.require(m.result.shape == shape, "the result has not the shape of the data")
    for axes in (m.axes, m.more_axes):
        found = sorted(axis % len(rows) for axis in axes.data.reshape(-1).tolist())
        m.require(found == [1, 2, 4], "the mean is not over all pixels and the channels of a group")
    m.require(_number(m.epsilon) > 0, "epsilon is no positive number")
    strides = () if m.last is None else (m.last.attrs.get("stride_h", 1), m.last.attrs.get("stride_w", 1))
    m.require(all(stride == 1 for stride in strides), "some pixels are left out of the mean")
    for value in (m.gamma, m.beta):
        m.require(value is None or _fits_groups(value.shape, rows), "gamma or beta has not one number for each channel")


def _fits_groups(shape: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    """Return whether a factor is one number for each channel: [1,1,1,groups,channels of each], or [channels]."""
    channels = math.prod(rows[3:])
    return math.prod(shape) == channels and (shape[-2:] == rows[3:] or shape[-1:] == (channels,))


def rewrite_groups(tfl: Builder, m: Match) -> Value:
    """(x - mean) * rsqrt(variance + epsilon) * gamma + beta, of groups of channels -> odml.group_norm."""
    groups, epsilon = m.rows.result.shape[3], np.float32(_number(m.epsilon))
    channels, rows = m.x.shape[3], tfl.static_shape(m.rows.result.shape)
    back = tfl.static_shape(m.x.shape)
    m.require(rows is not None and back is not None, "more sizes than one are not known")
    gamma = np.ones(channels, np.float32) if m.gamma is None else m.gamma.data.reshape(-1)
    beta = np.zeros(channels, np.float32) if m.beta is None else m.beta.data.reshape(-1)

    def body(tfl: Builder, x: Value, gamma: Value, beta: Value) -> Value:
        grouped = tfl.reshape(x, rows)
        centered = tfl.sub(grouped, tfl.mean(grouped, [1, 2, 4], keep_dims=True))
        variance = tfl.mean(tfl.mul(centered, centered), [1, 2, 4], keep_dims=True)
        norm = tfl.reshape(tfl.mul(centered, tfl.rsqrt(tfl.add(variance, epsilon))), back)
        return tfl.add(tfl.mul(norm, gamma), beta)

    attributes = {"num_groups": groups, "epsilon": float(epsilon), "channel_axis": _IMAGE_RANK - 1}
    made = tfl.composite("odml.group_norm", [m.x, gamma, beta], body, attributes)
    activation = "NONE" if m.last is None else activation_of(m.last)
    return made if activation == "NONE" else getattr(tfl, activation.lower())(made)


FUSIONS = [
    Fusion("odml.rms_norm", "STABLEHLO_COMPOSITE", rms_norm, rewrite_rms, check_rms),
    Fusion("odml.l2_norm", "STABLEHLO_COMPOSITE", l2_norm, rewrite_l2, check_last),
    Fusion("odml.group_norm", "STABLEHLO_COMPOSITE", (keras_group_norm, group_norm), rewrite_groups, check_groups),
]
