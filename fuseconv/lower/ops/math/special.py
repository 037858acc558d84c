"""Functions that TFLite has no kernel for, composed so that they do not overflow early.

They are as accurate as float32 kernels of TFLite compose to: to a few parts in 1e7 of 1 or of the result, whichever is
larger. LOG near 1 is no better than that under XNNPACK, so that nothing is gained by more care near zero.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import elementwise, filled, scalar, select
from fuseconv.lower.support.type_promotion import in_float32

_ONE = np.ones((), np.float32)
# Where sqrt(x * x + 1) is x in float32, and x * x does not overflow.
_LARGE = 1e9
# erf(x) = tanh(x * p(x * x)), p of falling powers: fitted for |x| <= 4 with a relative error of erf below 2.5e-7. Where
# |x| is larger, erf is 1 in float32.
_ERF = (
    1.4196397195601683e-07, -5.670196981416356e-06, 8.764630143733078e-05, -0.0006198039556606975,
    -0.00019181419803937603, 0.10276905122762485, 1.1283792744824277,
)  # fmt: skip
_ERF_RANGE = 4.0
# erfinv(x) = x * p(w), w = -log(1 - x * x), p of falling powers: of w - 2.5 where w is below 5, else of sqrt(w) - 3.
# Fitted with relative errors of 6e-8 and 5e-7.
_ERFINV_NEAR = (
    -8.726328992736399e-09, 2.3767041668065758e-08, 4.6595127400905767e-07, -3.468536078798934e-06,
    -4.965725565853063e-06, 0.00021836358064319938, -0.0012527317740023136, -0.0041774059645831585,
    0.24664027988910675, 1.5014094114303589,
)  # fmt: skip
_ERFINV_FAR = (
    -0.00011835979967145249, 5.262288323137909e-05, 0.0012261640513315797, -0.0036188128869980574,
    0.005798778031021357, -0.007638850249350071, 0.009429569356143475, 1.0016751289367676, 2.832977056503296,
)  # fmt: skip


@lowers
@in_float32
def Expm1(tfl, x):
    """tanh(x / 2) * (exp(x) + 1)."""
    return tfl.mul(tfl.tanh(tfl.mul(x, 0.5)), tfl.add(tfl.exp(x), 1.0))


@lowers
@in_float32
def Log1p(tfl, x):
    """LOG of 1 + x."""
    return log1p(tfl, x)


@lowers
@in_float32
def Xlogy(tfl, x, y):
    """x * log(y), and 0 where x is 0."""
    return select(tfl, elementwise(tfl, "EQUAL", x, 0), 0, elementwise(tfl, "MUL", x, tfl.log(y)))


@lowers
@in_float32
def Xlog1py(tfl, x, y):
    """x * log(1 + y), and 0 where x is 0."""
    return select(tfl, elementwise(tfl, "EQUAL", x, 0), 0, elementwise(tfl, "MUL", x, log1p(tfl, y)))


@lowers
@in_float32
def Erf(tfl, x):
    """tanh of a polynomial, which erf is."""
    return tfl.tanh(_erf_argument(tfl, x))


@lowers
@in_float32
def Erfc(tfl, x):
    """1 - tanh of erf's polynomial, which is twice the sigmoid of -2 times it."""
    return tfl.mul(tfl.logistic(tfl.mul(_erf_argument(tfl, x), -2.0)), 2.0)


@lowers
@in_float32
def Erfinv(tfl, x):
    """x times a polynomial of the logarithm of 1 - x * x; infinite at -1 and 1."""
    return _erfinv_to_ends(tfl, x)


@lowers
@in_float32
def Ndtri(tfl, x):
    """sqrt(2) times the inverse of erf at 2 * x - 1."""
    inverse = _erfinv_to_ends(tfl, tfl.sub(tfl.mul(x, 2.0), 1.0))
    # A product with infinity would be cut to the largest number.
    return select(tfl, tfl.less(tfl.abs_(inverse), np.inf), tfl.mul(inverse, math.sqrt(2.0)), inverse)


@lowers
@in_float32
def Asin(tfl, x):
    """atan2(x, sqrt(1 - x * x))."""
    return tfl.atan2(x, _cosine(tfl, x))


@lowers
@in_float32
def Acos(tfl, x):
    """atan2(sqrt(1 - x * x), x)."""
    return tfl.atan2(_cosine(tfl, x), x)


@lowers
@in_float32
def Atan(tfl, x):
    """ATAN2 of x and 1."""
    return tfl.atan2(x, filled(tfl, x.shape, 1, x.dtype, x))


@lowers
@in_float32
def Sinh(tfl, x):
    """tanh(x) * cosh(x)."""
    return tfl.mul(tfl.tanh(x), _cosh(tfl, x))


@lowers
@in_float32
def Cosh(tfl, x):
    """(exp(x) + exp(-x)) / 2."""
    return _cosh(tfl, x)


@lowers
@in_float32
def Asinh(tfl, x):
    """sign(x) * log(|x| + sqrt(x * x + 1))."""
    size = tfl.abs_(x)
    near = tfl.minimum(size, _LARGE)
    root = tfl.sqrt(tfl.add(tfl.mul(near, near), 1.0))
    return tfl.mul(tfl.sign(x), tfl.add(tfl.log(tfl.add(near, root)), _beyond(tfl, size)))


@lowers
@in_float32
def Acosh(tfl, x):
    """log(x + sqrt(x * x - 1))."""
    near = tfl.minimum(x, _LARGE)
    root = tfl.sqrt(tfl.mul(tfl.sub(near, 1.0), tfl.add(near, 1.0)))
    return tfl.add(tfl.log(tfl.add(near, root)), _beyond(tfl, x))


@lowers
@in_float32
def Atanh(tfl, x):
    """log((1 + x) / (1 - x)) / 2."""
    return tfl.mul(tfl.log(tfl.div(tfl.add(x, 1.0), tfl.sub(_ONE, x))), 0.5)


def erfinv(tfl: Lowering, x: Value) -> Value:
    """Return the inverse of erf at x of float32, between -1 and 1."""
    w = tfl.neg(tfl.log(tfl.mul(tfl.sub(_ONE, x), tfl.add(x, 1.0))))
    near = _polynomial(tfl, tfl.sub(w, 2.5), _ERFINV_NEAR)
    # Where w is small its root is not needed, and may be of a number just below 0.
    far = _polynomial(tfl, tfl.sub(tfl.sqrt(tfl.maximum(w, 5.0)), 3.0), _ERFINV_FAR)
    return tfl.mul(x, select(tfl, tfl.less(w, 5.0), near, far))


def _erfinv_to_ends(tfl: Lowering, x: Value) -> Value:
    """Return the inverse of erf, infinite at -1 and 1."""
    end = select(tfl, tfl.less(x, 0.0), scalar(-np.inf, x.dtype), scalar(np.inf, x.dtype))
    return select(tfl, elementwise(tfl, "EQUAL", tfl.abs_(x), 1), end, erfinv(tfl, x))


def _polynomial(tfl: Lowering, x: Value, coefficients: tuple[float, ...]) -> Value:
    """Return the sum of coefficients times falling powers of x."""
    total = tfl.add(tfl.mul(x, coefficients[0]), coefficients[1])
    for coefficient in coefficients[2:]:
        total = tfl.add(tfl.mul(total, x), coefficient)
    return total


def log1p(tfl: Lowering, x: Value) -> Value:
    """Return log(1 + x) of float32."""
    return tfl.log(tfl.add(x, 1.0))


def _beyond(tfl: Lowering, x: Value) -> Value:
    """Return log(x / large) where x is larger than that, else 0."""
    return tfl.log(tfl.maximum(tfl.mul(x, 1 / _LARGE), 1.0))


def _cosine(tfl: Lowering, sine: Value) -> Value:
    return tfl.sqrt(tfl.mul(tfl.sub(_ONE, sine), tfl.add(sine, 1.0)))


def _cosh(tfl: Lowering, x: Value) -> Value:
    # The halves of the exponents: exp(x) overflows where cosh(x) does not yet.
    half = tfl.mul(x, 0.5)
    up, down = tfl.exp(half), tfl.exp(tfl.neg(half))
    return tfl.add(tfl.mul(tfl.mul(up, 0.5), up), tfl.mul(tfl.mul(down, 0.5), down))


def _erf_argument(tfl: Lowering, x: Value) -> Value:
    """Return artanh(erf(x))."""
    x = tfl.maximum(tfl.minimum(x, _ERF_RANGE), -_ERF_RANGE)
    square = tfl.mul(x, x)
    polynomial = tfl.mul(square, _ERF[0])
    for coefficient in _ERF[1:-1]:
        polynomial = tfl.mul(tfl.add(polynomial, coefficient), square)
    return tfl.mul(tfl.add(polynomial, _ERF[-1]), x)
