"""Forms of ops that multiply by weights: of lower versions, and with or without a bias."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import op_of
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of

_BEHIND = {"RELU": "RELU", "RELU6": "RELU6", "RELU_N1_TO_1": "RELU_N1_TO_1"}


def zero_bias(tfl: Builder, op: Op) -> list[Value] | None:
    """CONV_2D(x, w) -> CONV_2D(x, w, zeros)."""
    weights, bias = op.operands[1], op.operands[2] if len(op.operands) > 2 else None
    if weights is None or weights.shape is None or bias is not None or op.result.quantization:
        return None
    count = weights.shape[3 if op.type == "DEPTHWISE_CONV_2D" else 0]
    if not isinstance(count, int):
        return None
    zeros = np.zeros(count, np.float32)
    return tfl.op(op.type, (op.operands[0], weights, zeros), dict(op.attrs))


def apart(tfl: Builder, op: Op) -> list[Value] | None:
    """TRANSPOSE_CONV(shape, w, x, bias) -> ADD(TRANSPOSE_CONV(shape, w, x), bias), nothing added if that is zeros; its
    activation behind."""
    bias = op.operands[3] if len(op.operands) > 3 else None
    activation = activation_of(op)
    if op.result.quantization or (bias is None and activation == "NONE") or activation not in ("NONE", *_BEHIND):
        return None
    attrs = {name: value for name, value in op.attrs.items() if name != "fused_activation_function"}
    y = tfl.op(op.type, tuple(op.operands[:3]), attrs)[0]
    if bias is not None and (bias.data is None or bias.data.any()):
        return [tfl.add(y, bias, fused_activation_function=activation)]
    return [y if activation == "NONE" else tfl.op(_BEHIND[activation], (y,), {})[0]]


def dense(tfl: Builder, op: Op) -> list[Value] | None:
    """RESHAPE(CONV_2D(x[1,1,1,c], w[n,1,1,c])) -> FULLY_CONNECTED(x, w[n,c]), which reads data of any shape as rows."""
    made = op.operands[0]
    conv = op_of(made, "tfl.CONV_2D")
    if conv is None or len(conv.result.uses) > 1 or conv.result.quantization:
        return None
    (x, weights), shape = conv.operands[:2], op.result.shape
    if x is None or x.shape is None or weights is None or weights.data is None or weights.quantization:
        return None
    count, *kernel, depth = weights.data.shape
    if kernel != [1, 1] or tuple(x.shape) != (1, 1, 1, depth) or shape != (1, count):
        return None
    attrs = {"fused_activation_function": activation_of(conv)}
    matrix = tfl.const(weights.data.reshape(count, depth), weights.dtype, weights.name)
    return tfl.op("FULLY_CONNECTED", (x, matrix, *conv.operands[2:]), attrs)


FORMS = {"CONV_2D": (zero_bias,), "DEPTHWISE_CONV_2D": (zero_bias,), "TRANSPOSE_CONV": (apart,), "RESHAPE": (dense,)}
