"""Forms of ops that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.targets.forms.shapes import known_shape
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.erf import erf

_BOUNDS = {"RELU_0_TO_1": (0.0, 1.0), "RELU_N1_TO_1": (-1.0, 1.0), "RELU6": (0.0, 6.0), "RELU": (0.0, None)}
_SMALL = (types.BOOL, types.INT8, types.UINT8, types.INT16)


def clamp(tfl: Builder, op: Op) -> list[Value] | None:
    """RELU_0_TO_1(x) -> MAXIMUM(MINIMUM(x, 1), 0), and others of two bounds."""
    low, high = _BOUNDS[op.type]
    if op.result.quantization:
        return None
    below = op.operands[0] if high is None else tfl.minimum(op.operands[0], high)
    return [tfl.maximum(below, low)]


def clamp_by_units(tfl: Builder, op: Op) -> list[Value] | None:
    """RELU_0_TO_1(x) -> RELU_N1_TO_1(RELU(x))."""
    return None if op.result.quantization else [tfl.relu_n1_to_1(tfl.relu(op.operands[0]))]


def elu(tfl: Builder, op: Op) -> list[Value] | None:
    """ELU(x) -> RELU(x) + 2 t / (1 - t), t = TANH(MINIMUM(x, 0) / 2): the quotient is e^x - 1, as exact near 0."""
    x = op.operands[0]
    if x is None or x.dtype is not types.FLOAT32:
        return None
    half = tfl.tanh(tfl.mul(tfl.minimum(x, 0.0), 0.5))
    one = np.ones((), np.float32)
    return [tfl.add(tfl.relu(x), tfl.div(tfl.mul(half, 2.0), tfl.sub(one, half)))]


def subtraction(tfl: Builder, op: Op) -> list[Value] | None:
    """SUB(x, y) -> ADD(x, MUL(y, -1))."""
    x, y = op.operands
    if y is None or y.dtype not in (types.FLOAT32, types.INT32) or op.result.quantization:
        return None
    return [tfl.add(x, tfl.mul(y, -1), **op.attrs)]


def gelu(tfl: Builder, op: Op) -> list[Value] | None:
    """GELU(x) -> x / 2 * (1 + erf(x / sqrt(2))), erf by TANH of a polynomial, right to 2.5e-7 of it; where it is
    approximate, by TANH as it is defined."""
    x = op.operands[0]
    if x is None or x.dtype is not types.FLOAT32:
        return None
    if op.attrs.get("approximate"):
        cube = tfl.mul(tfl.mul(x, x), x)
        inner = tfl.tanh(tfl.mul(tfl.add(x, tfl.mul(cube, 0.044715)), math.sqrt(2 / math.pi)))
    else:
        inner = erf(tfl, x, math.sqrt(0.5))
    return [tfl.mul(tfl.mul(x, 0.5), tfl.add(inner, 1.0))]


def cast_to_truth(tfl: Builder, op: Op) -> list[Value] | None:
    """CAST(x) to bool -> NOT_EQUAL(CAST(x) to float32, 0): LiteRT's open GPU delegate compares floats only."""
    x = op.operands[0]
    if x is None or op.result.dtype is not types.BOOL or not (x.dtype is types.INT32 or x.dtype in _SMALL):
        return None
    return [tfl.not_equal(_cast(tfl, x, types.FLOAT32), 0.0)]


def compare_integers(tfl: Builder, op: Op) -> list[Value] | None:
    """CAST(x) to bool -> NOT_EQUAL(x, 0)."""
    x = op.operands[0]
    if x is None or op.result.dtype is not types.BOOL or x.dtype not in (types.INT32, types.FLOAT32, types.INT64):
        return None
    return [tfl.not_equal(x, 0)]


def cast_by_float(tfl: Builder, op: Op) -> list[Value] | None:
    """CAST(x) of bool or few bits -> CAST(CAST(x) to float32), which holds them all."""
    x = op.operands[0]
    if x is None or x.dtype not in _SMALL or types.FLOAT32 in (x.dtype, op.result.dtype):
        return None
    return [_cast(tfl, _cast(tfl, x, types.FLOAT32), op.result.dtype)]


def select_v2(tfl: Builder, op: Op) -> list[Value] | None:
    """SELECT(c, x, y) -> SELECT_V2(c, x, y), c of rows reshaped to [n, 1, ...]."""
    c, x, y = op.operands
    if c is None or x is None or c.shape is None or x.rank is None:
        return None
    if len(c.shape) == 1 and x.rank > 1:
        if not c.is_static:
            return None
        c = tfl.reshape(c, [*known_shape(c), *[1] * (x.rank - 1)])  # type: ignore[misc]
    return [tfl.select_v2(c, x, y)]


def select_of_three(tfl: Builder, op: Op, fewest: int = 3) -> list[Value] | None:
    """SELECT_V2(c, x, y) -> RESHAPE(SELECT_V2(RESHAPE(c), x, y)) of 3 dimensions, x and y each of the result's shape or
    a scalar."""
    shape = known_shape(op.result)
    if shape is None or any(value is None or not value.is_static for value in op.operands):
        return None
    wide = [1] * (fewest - len(shape)) + shape
    c, x, y = op.operands
    assert c is not None
    condition = tfl.reshape(c, [1] * (len(wide) - len(c.shape)) + list(c.shape)) if c.shape else c  # type: ignore[arg-type]
    branches = [_branch(tfl, value, wide) for value in (x, y) if value is not None]
    return [tfl.reshape(tfl.select_v2(condition, *branches), shape)]


def select_of_four(tfl: Builder, op: Op) -> list[Value] | None:
    """SELECT_V2(c, x, constant) -> RESHAPE(SELECT_V2(RESHAPE(c), x, constant)) of 4 dimensions."""
    return select_of_three(tfl, op, 4)


def select_of_integers(tfl: Builder, op: Op) -> list[Value] | None:
    """SELECT_V2(c, x, y) of int32 -> ADD(MUL(CAST(c), x), MUL(CAST(LOGICAL_NOT(c)), y))."""
    c, x, y = op.operands
    if c is None or op.result.dtype is not types.INT32 or op.result.quantization:
        return None
    kept, others = (_cast(tfl, truth, types.INT32) for truth in (c, tfl.logical_not(c)))
    return [tfl.add(tfl.mul(kept, x), tfl.mul(others, y))]


def _branch(tfl: Builder, value: Value, shape: list[int]) -> Value:
    assert value.shape is not None
    if math.prod(value.shape) == 1:  # type: ignore[arg-type]
        # The shape of a scalar has no elements, which readers take for one that is not constant.
        return value if value.shape in ((), (1,)) else tfl.reshape(value, [1])
    aligned = [1] * (len(shape) - len(value.shape)) + list(value.shape)
    if value.data is not None:
        return tfl.const(np.broadcast_to(value.data.reshape(aligned), shape).copy(), value.dtype)
    value = tfl.reshape(value, aligned)
    return value if aligned == shape else tfl.broadcast_to(value, shape)


def power(tfl: Builder, op: Op) -> list[Value] | None:
    """POW(x, n) of a small whole number or a half -> products, SQRT, RSQRT."""
    x, exponent = op.operands
    if x is None or exponent is None or exponent.data is None or exponent.data.size != 1:
        return None
    n = float(exponent.data.reshape(()))
    shape = known_shape(op.result) if op.result.is_static else None
    if x.dtype is not types.FLOAT32 or op.result.shape != x.shape or shape is None:
        return None
    roots: dict[float, Callable[[], Value]] = {0.5: lambda: tfl.sqrt(x), -0.5: lambda: tfl.rsqrt(x)}
    if n in roots:
        return [roots[n]()]
    if n not in (1.0, 2.0, 3.0, 4.0):
        return None
    square = tfl.mul(x, x)
    return [{1.0: x, 2.0: square}.get(n) or tfl.mul(square, x if n == 3.0 else square)]


def sign(tfl: Builder, op: Op) -> list[Value] | None:
    """SIGN(x) -> CAST(GREATER(x, 0)) - CAST(LESS(x, 0))."""
    x = op.operands[0]
    if x is None or x.dtype not in (types.FLOAT32, types.INT32):
        return None
    return [tfl.sub(_cast(tfl, tfl.greater(x, 0), x.dtype), _cast(tfl, tfl.less(x, 0), x.dtype))]


def square(tfl: Builder, op: Op) -> list[Value] | None:
    """SQUARE(x) -> MUL(x, x)."""
    return [tfl.mul(op.operands[0], op.operands[0])]


def negation(tfl: Builder, op: Op) -> list[Value] | None:
    """NEG(x) -> MUL(x, -1)."""
    x = op.operands[0]
    return [tfl.mul(x, -1)] if x is not None and x.dtype in (types.FLOAT32, types.INT32) else None


def squared_difference(tfl: Builder, op: Op) -> list[Value] | None:
    """SQUARED_DIFFERENCE(x, y) -> MUL(d, d), d = x - y."""
    if op.result.quantization:
        return None
    difference = tfl.sub(*op.operands)
    return [tfl.mul(difference, difference)]


def reciprocal_root(tfl: Builder, op: Op) -> list[Value] | None:
    """RSQRT(x) -> DIV(1, SQRT(x))."""
    return None if op.result.quantization else [tfl.div(np.ones((), np.float32), tfl.sqrt(op.operands[0]))]


def hard_swish(tfl: Builder, op: Op) -> list[Value] | None:
    """HARD_SWISH(x) -> x * RELU6(x + 3) / 6."""
    x = op.operands[0]
    if x is None or op.result.quantization:
        return None
    return [tfl.mul(tfl.mul(x, tfl.add(x, 3.0, fused_activation_function="RELU6")), 1 / 6)]


def leaky_relu(tfl: Builder, op: Op) -> list[Value] | None:
    """LEAKY_RELU(x) -> MAXIMUM(x, x * alpha), or MINIMUM where alpha is above 1."""
    x, alpha = op.operands[0], float(op.attrs.get("alpha", 0.0))
    if x is None or op.result.quantization or not math.isfinite(alpha):
        return None
    if alpha == 0.0:
        return [tfl.relu(x)]
    extreme = tfl.maximum if alpha <= 1 else tfl.minimum
    return [extreme(x, tfl.mul(x, alpha))]


def scaled_softmax(tfl: Builder, op: Op) -> list[Value] | None:
    """SOFTMAX(x, beta) -> SOFTMAX(x * beta)."""
    beta = float(op.attrs.get("beta", 1.0))
    if op.result.quantization or beta == 1.0:
        return None
    return [tfl.softmax(tfl.mul(op.operands[0], beta), beta=1.0)]


def slopes(tfl: Builder, op: Op) -> list[Value] | None:
    """PRELU(x, alpha) -> ADD(RELU(x), MUL(alpha, MINIMUM(x, 0)))."""
    x, alpha = op.operands
    if op.result.quantization or op.result.dtype is not types.FLOAT32:
        return None
    return [tfl.add(tfl.relu(x), tfl.mul(tfl.minimum(x, 0.0), alpha))]


def _cast(tfl: Builder, x: Value, dtype: types.DType) -> Value:
    return tfl.cast(x, out_data_type=dtype.name.upper())


FORMS = {
    **dict.fromkeys(_BOUNDS, (clamp,)), "RELU_0_TO_1": (clamp, clamp_by_units), "ELU": (elu,), "GELU": (gelu,),
    "SUB": (subtraction,), "CAST": (cast_to_truth, compare_integers, cast_by_float),
    "SELECT": (select_v2,), "SELECT_V2": (select_of_three, select_of_four, select_of_integers), "POW": (power,),
    "SIGN": (sign,), "SQUARE": (square,), "NEG": (negation,), "SQUARED_DIFFERENCE": (squared_difference,),
    "RSQRT": (reciprocal_root,),
    "HARD_SWISH": (hard_swish,), "LEAKY_RELU": (leaky_relu,), "SOFTMAX": (scaled_softmax,), "PRELU": (slopes,),
}  # fmt: skip
