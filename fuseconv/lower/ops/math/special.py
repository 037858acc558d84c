"""Functions that TFLite has no kernel for, composed so that they do not overflow early.

They are right to a few parts in 1e7 of the result, unless one tells otherwise: near zero, too. Infinities come out as
the largest number where no delegate runs, whose sums and products end there.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.complex import cosh, hyperbolic_cosine, hyperbolic_sine, on_complex_numbers, sinh
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import elementwise, filled, scalar, select
from fuseconv.lower.support.merged_dims import merging_dims
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tfl.erf import erf
from fuseconv.tfl.horner import polynomial

_ONE = np.ones((), np.float32)
# erfc(x) = exp(-x * x) * t * p(t) for x >= 0, t = 1 / (1 + x * _ERFC_SLOPE), p of falling powers. Fitted with a
# relative error of 3e-7.
_ERFC = (
    0.06619792324959126, -0.237365949242541, 0.20362098555445718, 0.04530158205992392, 0.18588897510288616,
    0.22894550173240213, 0.2534927095933524, 0.2539185627341067,
)  # fmt: skip
_ERFC_SLOPE = 0.45
# erfinv(x), w = -log(1 - x * x): x * p(w - 2.5) where w is below 5, else sign(x) * p(u) / u, u = 1 / sqrt(w), to
# w = 88; p of falling powers. Fitted with relative errors of 6e-8 and 4e-7.
_ERFINV_NEAR = (
    -8.726328992736399e-09, 2.3767041668065758e-08, 4.6595127400905767e-07, -3.468536078798934e-06,
    -4.965725565853063e-06, 0.00021836358064319938, -0.0012527317740023136, -0.0041774059645831585,
    0.24664027988910675, 1.5014094114303589,
)  # fmt: skip
_ERFINV_FAR = (
    -2.550692664623411, 4.732544453529992, -4.432000048481914, 2.8243931050343916, -0.9657665267995121,
    -0.045371802312250215, 1.0008313162169482,
)  # fmt: skip
_ERFINV_RANGE = 5.0


@lowers
@in_float32
def Expm1(tfl, x):
    """tanh(x / 2) * (exp(x) + 1)."""
    return tfl.mul(tfl.tanh(tfl.mul(x, 0.5)), tfl.add(tfl.exp(x), 1.0))


@lowers
@in_float32
@merging_dims("MINIMUM")
def Erf(tfl, x):
    """tanh of a polynomial, which erf is."""
    return erf(tfl, x)


@lowers
@in_float32
@merging_dims("LESS")
def Erfc(tfl, x):
    """exp(-x * x) times a polynomial of 1 / (1 + 0.45 * |x|), and 2 less that where x is negative. As far as float32
    holds the result it is right to 8e-6 of it, which rounding x * x and EXP cost."""
    t = tfl.div(_ONE, tfl.add(tfl.mul(tfl.abs_(x), _ERFC_SLOPE), 1.0))
    gauss = tfl.exp(tfl.neg(tfl.mul(x, x)))
    tail = tfl.mul(tfl.mul(polynomial(tfl, t, _ERFC), t), gauss)
    return select(tfl, tfl.less(x, 0.0), tfl.sub(scalar(2, x.dtype), tail), tail)


@lowers
@in_float32
@merging_dims("LESS")
def Erfinv(tfl, x):
    """x times a polynomial of the logarithm of 1 - x * x; infinite at -1 and 1."""
    w = _erfinv_logarithm(tfl, x)
    return _to_ends(tfl, x, w, _erfinv(tfl, x, w))


@lowers
@in_float32
@merging_dims("LESS")
def Ndtri(tfl, x):
    """sqrt(2) times the inverse of erf at 2 * x - 1, whose logarithm is that of 4 * x * (1 - x)."""
    spread = tfl.sub(tfl.mul(x, 2.0), 1.0)
    w = tfl.neg(tfl.log(tfl.mul(x, tfl.sub(scalar(4, x.dtype), tfl.mul(x, 4.0)))))
    return _to_ends(tfl, spread, w, tfl.mul(_erfinv(tfl, spread, w), math.sqrt(2.0)))


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
@on_complex_numbers(hyperbolic_sine)
@in_float32
def Sinh(tfl, x):
    """tanh(x) * cosh(x)."""
    return sinh(tfl, x)


@lowers
@on_complex_numbers(hyperbolic_cosine)
@in_float32
def Cosh(tfl, x):
    """(exp(x) + exp(-x)) / 2."""
    return cosh(tfl, x)


def erfinv(tfl: Lowering, x: Value) -> Value:
    """Return the inverse of erf at x of float32, between -1 and 1."""
    return _erfinv(tfl, x, _erfinv_logarithm(tfl, x))


def _erfinv_logarithm(tfl: Lowering, x: Value) -> Value:
    """Return -log(1 - x * x)."""
    return tfl.neg(tfl.log(tfl.mul(tfl.sub(_ONE, x), tfl.add(x, 1.0))))


def _erfinv(tfl: Lowering, x: Value, w: Value) -> Value:
    """Return the inverse of erf at x, of which w is the logarithm above."""
    near = polynomial(tfl, tfl.sub(w, 2.5), _ERFINV_NEAR)
    # Where w is small its root is not needed, and may be of a number just below 0.
    reciprocal = tfl.rsqrt(tfl.maximum(w, _ERFINV_RANGE))
    far = tfl.div(polynomial(tfl, reciprocal, _ERFINV_FAR), reciprocal)
    return select(tfl, tfl.greater(w, _ERFINV_RANGE), tfl.mul(tfl.sign(x), far), tfl.mul(x, near))


def _to_ends(tfl: Lowering, x: Value, w: Value, inverse: Value) -> Value:
    """Return the inverse, and an infinity of the sign of x where w is infinite: a product with it would be cut to the
    largest number."""
    end = select(tfl, tfl.less(x, 0.0), scalar(-np.inf, x.dtype), scalar(np.inf, x.dtype))
    return select(tfl, elementwise(tfl, "EQUAL", w, np.inf), end, inverse)


def _cosine(tfl: Lowering, sine: Value) -> Value:
    return tfl.sqrt(tfl.mul(tfl.sub(_ONE, sine), tfl.add(sine, 1.0)))
