"""Ops on one operand, element by element, that have a kernel of their own or nearly.

XNNPACK's kernels are not as exact as TFLite's own, and these rules leave that: LOG is off by 6e-8 near 1, where its
result is small, and of infinity and NaN makes 88; EXP is off by 4e-6 of its result far from 0, and of NaN makes 0; SQRT
and RSQRT fail above 2^126, SIN and COS lose digits above 1e6 and fail above 1e8. It takes numbers below 2^-126 for 0.
"""

from __future__ import annotations

import math

from fuseconv.ir import types
from fuseconv.lower.ops.math import complex as numbers
from fuseconv.lower.ops.math.arithmetic import reciprocal, reciprocal_root
from fuseconv.lower.rules import lowers
from fuseconv.lower.support.legalize_operands import elementwise, filled
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.kernel_limits import TYPES


@lowers
def Abs(tfl, x):
    """ABS; the larger of x and -x of int64."""
    if x.dtype is types.INT64:
        return tfl.maximum(x, tfl.neg(x))
    return elementwise(tfl, "ABS", x)


@lowers
def Neg(tfl, x):
    """Lower Neg(x) -> NEG(x)."""
    return elementwise(tfl, "NEG", x)


@lowers
def Sign(tfl, x):
    """SIGN; of int64 whether x is above 0 less whether it is below. The sign of NaN is not specified."""
    if x.dtype is types.INT64:
        return tfl.sub(cast(tfl, tfl.greater(x, 0), types.INT64), cast(tfl, tfl.less(x, 0), types.INT64))
    return elementwise(tfl, "SIGN", x)


@lowers
def Square(tfl, x):
    """SQUARE; MUL of integers and complex numbers."""
    return elementwise(tfl, "SQUARE", x) if x.dtype.is_float else elementwise(tfl, "MUL", x, x)


@lowers
@numbers.on_complex_numbers(numbers.root)
def Sqrt(tfl, x):
    """Lower Sqrt(x) -> SQRT(x)."""
    return elementwise(tfl, "SQRT", x)


@lowers
@numbers.on_complex_numbers(numbers.reciprocal_of_root)
def Rsqrt(tfl, x):
    """RSQRT; infinity where x is 0, unless the model has seen to it that it is not."""
    return reciprocal_root(tfl, x)


@lowers("Reciprocal", "Inv")
def Reciprocal(tfl, x):
    """DIV of 1."""
    return reciprocal(tfl, x)


@lowers
@numbers.on_complex_numbers(numbers.exponential)
def Exp(tfl, x):
    """EXP; of complex numbers that of the real part, turned by COS and SIN of the other."""
    return elementwise(tfl, "EXP", x)


@lowers
@numbers.on_complex_numbers(numbers.logarithm)
def Log(tfl, x):
    """Lower Log(x) -> LOG(x)."""
    return elementwise(tfl, "LOG", x)


@lowers
@numbers.on_complex_numbers(numbers.sine)
def Sin(tfl, x):
    """Lower Sin(x) -> SIN(x)."""
    return elementwise(tfl, "SIN", x)


@lowers
@numbers.on_complex_numbers(numbers.cosine)
def Cos(tfl, x):
    """Lower Cos(x) -> COS(x)."""
    return elementwise(tfl, "COS", x)


@lowers
@numbers.on_complex_numbers(numbers.tangent)
@in_float32
def Tan(tfl, x):
    """SIN over COS."""
    return tfl.div(tfl.sin(x), tfl.cos(x))


@lowers
@numbers.on_complex_numbers(numbers.hyperbolic_tangent)
def Tanh(tfl, x):
    """Lower Tanh(x) -> TANH(x)."""
    return elementwise(tfl, "TANH", x)


@lowers
@numbers.on_complex_numbers(numbers.logistic)
def Sigmoid(tfl, x):
    """Lower Sigmoid(x) -> LOGISTIC(x)."""
    return elementwise(tfl, "LOGISTIC", x)


@lowers
def Floor(tfl, x):
    """FLOOR; an integer is its own."""
    return x if x.dtype.is_integer else elementwise(tfl, "FLOOR", x)


@lowers
def Ceil(tfl, x):
    """CEIL; an integer is its own."""
    return x if x.dtype.is_integer else elementwise(tfl, "CEIL", x)


@lowers("Round", "Rint")
def Round(tfl, x):
    """ROUND, halves to even; an integer is its own."""
    return x if x.dtype.is_integer else elementwise(tfl, "ROUND", x)


@lowers
def IsNan(tfl, x):
    """NOT_EQUAL to itself."""
    return elementwise(tfl, "NOT_EQUAL", x, x)


@lowers
def IsInf(tfl, x):
    """ABS EQUAL to infinity."""
    return elementwise(tfl, "EQUAL", elementwise(tfl, "ABS", x), math.inf)


@lowers
def IsFinite(tfl, x):
    """ABS LESS than infinity."""
    return elementwise(tfl, "LESS", elementwise(tfl, "ABS", x), math.inf)


@lowers
def ZerosLike(tfl, x):
    """ZEROS_LIKE; a constant where the shape is known, FILL of types that ZEROS_LIKE lacks."""
    if x.is_static or x.dtype not in (types.FLOAT32, types.INT32, types.INT64):
        return filled(tfl, x.shape, b"" if x.dtype is types.STRING else 0, x.dtype, x)
    return tfl.zeros_like(x)


@lowers
def OnesLike(tfl, x):
    """FILL with 1."""
    return filled(tfl, x.shape, 1, x.dtype, x)


@lowers
def Bucketize(tfl, x, *, boundaries=()):
    """BUCKETIZE."""
    wide = x if x.dtype in TYPES["BUCKETIZE"] else cast(tfl, x, types.FLOAT32 if x.dtype.is_float else types.INT32)
    return tfl.bucketize(wide, boundaries=tuple(map(float, boundaries)))
