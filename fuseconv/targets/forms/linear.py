"""Forms of ops that multiply by weights: of lower versions, and with or without a bias."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import op_of
from fuseconv.targets.forms.shapes import known_shape
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


def activation_apart(tfl: Builder, op: Op) -> list[Value] | None:
    """TRANSPOSE_CONV(shape, w, x, bias) {RELU} -> RELU(TRANSPOSE_CONV(shape, w, x, bias))."""
    activation = activation_of(op)
    if op.result.quantization or activation not in _BEHIND:
        return None
    attrs = {**op.attrs, "fused_activation_function": "NONE"}
    return tfl.op(_BEHIND[activation], (tfl.op(op.type, tuple(op.operands), attrs)[0],), {})


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


def cropped(tfl: Builder, op: Op) -> list[Value] | None:
    """TRANSPOSE_CONV(shape, w, x) {SAME} -> SLICE(TRANSPOSE_CONV(whole, w, x) {VALID}), its activation behind: what is
    left off tells how it was padded."""
    _, weights, x, *bias = op.operands
    kept, before, kernel = (None if value is None else known_shape(value) for value in (op.result, x, weights))
    activation = activation_of(op)
    if kept is None or before is None or kernel is None or activation not in ("NONE", *_BEHIND):
        return None
    if op.attrs.get("padding", "SAME") != "SAME" or op.result.quantization:
        return None
    strides = (op.attrs.get("stride_h", 1), op.attrs.get("stride_w", 1))
    whole = [(before[i] - 1) * stride + kernel[i] for i, stride in zip((1, 2), strides)]
    left = [(size - kept[i]) // 2 for i, size in zip((1, 2), whole)]
    if min(left) < 0:
        return None
    attrs = {**op.attrs, "padding": "VALID", "fused_activation_function": "NONE"}
    shape = tfl.ints([kept[0], *whole, kept[3]])
    y = tfl.slice_(tfl.op(op.type, (shape, weights, x, *bias), attrs)[0], [0, *left, 0], kept)
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


def rows(tfl: Builder, op: Op) -> list[Value] | None:
    """FULLY_CONNECTED(x[1,4,4,8], w[n,128]) -> FULLY_CONNECTED(RESHAPE(x, [1,128]), w)."""
    x, weights = op.operands[:2]
    shape = None if x is None else known_shape(x)
    width = None if weights is None or weights.shape is None else weights.shape[-1]
    if x is None or shape is None or not isinstance(width, int) or len(shape) < 3 or op.attrs.get("keep_num_dims"):
        return None
    matrix = tfl.reshape(x, [math.prod(shape) // width, width])
    return tfl.op("FULLY_CONNECTED", (matrix, *op.operands[1:]), dict(op.attrs))


def product(tfl: Builder, op: Op) -> list[Value] | None:
    """BATCH_MATMUL(x, y) {adj_y} -> BATCH_MATMUL(x, TRANSPOSE(y)); a constant stands on the right, as a matrix:
    BATCH_MATMUL(c[1,m,k], x[b,k,n]) -> TRANSPOSE(BATCH_MATMUL(TRANSPOSE(x), c[k,m]))."""
    x, y = op.operands[:2]
    if x is None or y is None or x.shape is None or y.shape is None or (x.is_const and y.is_const):
        return None
    attrs = {name: value for name, value in op.attrs.items() if name not in ("adj_x", "adj_y")}
    flips = bool(op.attrs.get("adj_x")), bool(op.attrs.get("adj_y"))
    if x.is_const:
        matrix = _matrix(tfl, x, not flips[0])
        if matrix is None or len(y.shape) < len(x.shape):
            return None
        return [_flipped(tfl, tfl.op("BATCH_MATMUL", (_flipped(tfl, y, not flips[1]), matrix), attrs)[0], True)]
    matrix = _matrix(tfl, y, flips[1]) if y.is_const and len(x.shape) >= len(y.shape) else None
    operands = _flipped(tfl, x, flips[0]), _flipped(tfl, y, flips[1]) if matrix is None else matrix
    return None if operands == (x, y) else tfl.op("BATCH_MATMUL", operands, attrs)


def _flipped(tfl: Builder, x: Value, flip: bool) -> Value:
    """Return matrices with columns for rows, if they are to be flipped."""
    if not flip:
        return x
    *batch, row, column = range(len(x.shape or ()))
    return tfl.transpose(x, np.array([*batch, column, row], np.int32))  # type: ignore[no-any-return]


def _matrix(tfl: Builder, x: Value, flip: bool) -> Value | None:
    """Return a constant as a matrix, flipped or not; None if it holds several."""
    data = x.data
    if data is None or x.quantization is not None or data.ndim < 2 or math.prod(data.shape[:-2]) != 1:
        return None
    if data.ndim == 2 and not flip:
        return x
    matrix = data.reshape(data.shape[-2:])
    return tfl.const(matrix.T.copy() if flip else matrix, x.dtype, x.name)


FORMS = {
    "BATCH_MATMUL": (product,),
    "CONV_2D": (zero_bias,), "DEPTHWISE_CONV_2D": (zero_bias,), "FULLY_CONNECTED": (rows,), "RESHAPE": (dense,),
    "CONV_3D": (activation_apart,), "TRANSPOSE_CONV": (activation_apart, apart, cropped),
}  # fmt: skip
