"""Folders of activations, normalization and biases."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import kernel, require, rounded_once, widened


@kernel("BiasAdd")
def bias_add(op: Op, x: np.ndarray, bias: np.ndarray, *, data_format: str = "NHWC") -> np.ndarray:
    if data_format == "NCHW":
        return x + bias.reshape(-1, *(1,) * (x.ndim - 2))
    return x + bias


@kernel("BiasAddV1")
def bias_add_v1(op: Op, x: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return x + bias


@kernel("Relu")
def relu(op: Op, x: np.ndarray) -> np.ndarray:
    return np.maximum(x, x.dtype.type(0))


@kernel("Relu6")
def relu6(op: Op, x: np.ndarray) -> np.ndarray:
    return np.minimum(np.maximum(x, x.dtype.type(0)), x.dtype.type(6))


@kernel("LeakyRelu")
def leaky_relu(op: Op, x: np.ndarray, *, alpha: float = 0.2) -> np.ndarray:
    return np.where(x > 0, x, x * x.dtype.type(alpha))


@kernel("Elu")
def elu(op: Op, x: np.ndarray) -> np.ndarray:
    return np.where(x < 0, rounded_once(np.expm1)(x), x)


@kernel("Selu")
def selu(op: Op, x: np.ndarray) -> np.ndarray:
    # The constants of Klambauer et al., "Self-Normalizing Neural Networks".
    scale, alpha = 1.0507009873554804934193349852946, 1.6732632423543772848170429916717
    return np.where(x < 0, x.dtype.type(scale * alpha) * rounded_once(np.expm1)(x), x.dtype.type(scale) * x)


@kernel("Sigmoid")
def sigmoid(op: Op, x: np.ndarray) -> np.ndarray:
    return rounded_once(_sigmoid)(x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    return one / (one + np.exp(-x))


@kernel("Softplus")
def softplus(op: Op, x: np.ndarray) -> np.ndarray:
    return rounded_once(_softplus)(x)


def _softplus(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, x.dtype.type(0)) + np.log1p(np.exp(-np.abs(x)))


@kernel("Softsign")
def softsign(op: Op, x: np.ndarray) -> np.ndarray:
    return x / (x.dtype.type(1) + np.abs(x))


@kernel("Softmax")
def softmax(op: Op, x: np.ndarray) -> np.ndarray:
    require(x.size)
    wide = widened(x)
    exponentials = np.exp(wide - wide.max(-1, keepdims=True))
    return (exponentials / exponentials.sum(-1, keepdims=True, dtype=wide.dtype)).astype(x.dtype, copy=False)


@kernel("LogSoftmax")
def log_softmax(op: Op, x: np.ndarray) -> np.ndarray:
    require(x.size)
    wide = widened(x)
    shifted = wide - wide.max(-1, keepdims=True)
    return (shifted - np.log(np.exp(shifted).sum(-1, keepdims=True, dtype=wide.dtype))).astype(x.dtype, copy=False)


@kernel("L2Loss")
def l2_loss(op: Op, x: np.ndarray) -> np.ndarray:
    wide = widened(x)
    return ((wide * wide).sum(dtype=wide.dtype) / wide.dtype.type(2)).astype(x.dtype)
