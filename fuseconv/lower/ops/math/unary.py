"""Ops on one operand, element by element, that have a kernel of their own or nearly.

XNNPACK's kernels are not as exact as TFLite's own, and these rules leave that: LOG is off by 6e-8 near 1, where its
result is small, and of infinity and NaN makes 88; EXP is off by 4e-6 of its result far from 0, and of NaN makes 0; SQRT
and RSQRT fail above 2^126, SIN and COS lose digits above 1e6 and fail above 1e8. It takes numbers below 2^-126 for 0.
"""

from __future__ import annotations

import itertools
import math

from fuseconv.ir import types
from fuseconv.lower.ops.math import complex as numbers
from fuseconv.lower.ops.math.arithmetic import reciprocal, reciprocal_root
from fuseconv.lower.rules import lowers, require
from fuseconv.lower.support.legalize_operands import elementwise, filled
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.kernel_limits import TYPES

# TF ops, the TFLite ops that compute the same, and what is composed of the parts of complex numbers.
_KERNELS = {
    "Cos": "COS", "Exp": "EXP", "Log": "LOG", "Neg": "NEG", "Sigmoid": "LOGISTIC", "Sin": "SIN", "Sqrt": "SQRT",
    "Tanh": "TANH",
}  # fmt: skip
_OF_COMPLEX = {
    "Cos": numbers.cosine, "Exp": numbers.exponential, "Log": numbers.logarithm, "Sigmoid": numbers.logistic,
    "Sin": numbers.sine, "Sqrt": numbers.root, "Tanh": numbers.hyperbolic_tangent,
}  # fmt: skip
_ROUNDING = {"Ceil": "CEIL", "Floor": "FLOOR", "Rint": "ROUND", "Round": "ROUND"}


@lowers(*_KERNELS)
def OneKernel(tfl, x):
    """The op of the same name; complex numbers are computed by their parts, which have their kernels."""
    op = tfl.source.type
    if x.dtype is types.COMPLEX64 and op in _OF_COMPLEX:
        return _OF_COMPLEX[op](tfl, x)
    return elementwise(tfl, _KERNELS[op], x)


@lowers(*_ROUNDING)
def Rounding(tfl, x):
    """CEIL, FLOOR, or ROUND with halves to even; an integer is its own."""
    return x if x.dtype.is_integer else elementwise(tfl, _ROUNDING[tfl.source.type], x)


@lowers
def Abs(tfl, x):
    """ABS; the larger of x and -x of int64."""
    if x.dtype is types.INT64:
        return tfl.maximum(x, tfl.neg(x))
    return elementwise(tfl, "ABS", x)


@lowers
def Sign(tfl, x):
    """SIGN; of int64 whether x is above 0 less whether it is below. The sign of NaN is not specified."""
    if x.dtype is types.INT64:
        return tfl.sub(cast(tfl, tfl.greater(x, 0), types.INT64), cast(tfl, tfl.less(x, 0), types.INT64))
    return elementwise(tfl, "SIGN", x)


@lowers
def Square(tfl, x):
    """MUL of x and itself: SQUARE's kernel in LiteRT takes 14 times as long where XNNPACK does not run."""
    return elementwise(tfl, "MUL", x, x)


@lowers
@numbers.on_complex_numbers(numbers.reciprocal_of_root)
def Rsqrt(tfl, x):
    """RSQRT; DIV by SQRT unless the model has seen to it that x is not 0."""
    return reciprocal_root(tfl, x)


@lowers("Reciprocal", "Inv")
def Reciprocal(tfl, x):
    """DIV of 1."""
    return reciprocal(tfl, x)


@lowers
@numbers.on_complex_numbers(numbers.tangent)
@in_float32
def Tan(tfl, x):
    """SIN over COS."""
    return tfl.div(tfl.sin(x), tfl.cos(x))


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
    require(all(low <= high for low, high in itertools.pairwise(boundaries)), "its boundaries do not ascend")
    wide = x if x.dtype in TYPES["BUCKETIZE"] else cast(tfl, x, types.FLOAT32 if x.dtype.is_float else types.INT32)
    return tfl.bucketize(wide, boundaries=tuple(map(float, boundaries)))
