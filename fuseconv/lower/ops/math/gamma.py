"""The logarithm of the gamma function, and its derivative.

From 1/2 to 3 they are rational functions times their zeros, above that Stirling's series, below that reflections. Where
x is above 0 they are right to 1.5e-6 of the result. For a negative x the reflection subtracts, and is right to 1.5e-6
of its larger term. So digits are lost near zeros of the result, of which there are one or two between any two whole
numbers. Of infinity XNNPACK's LOG makes 88.4, as of all above 2.4e38.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.merged_dims import merging_dims
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tfl.horner import odd_polynomial, polynomial

_ONE = np.ones((), np.float32)
# Polynomials of falling powers of z - 1, for 1/2 <= z <= 3: lgamma(z) / ((z - 1) * (z - 2)) and digamma(z) / (z - root)
# are their quotients, with relative errors of 7e-8 and 2e-7.
_LGAMMA = (
    (0.025947148449305877, 0.3144187440843792, 0.8236073519895959, 0.5772156763710052),
    (0.00730808680067227, 0.19710862017444958, 1.0622189959384511, 1.8517498992275039, 1.0),
)
_DIGAMMA = (
    (0.00258459680495525, 0.21607810821860915, 1.141946260679094, 1.2503803327914516),
    (0.06544501281597397, 0.6625279036847362, 1.596825217073838, 1.0),
)
# The root as float32 has it, and what the function is there.
_ROOT, _AT_ROOT = np.float32(1.4616321449683623), -1.2036055e-08
_NEAR = 3.0
# What Stirling's series adds for z >= 3, of falling powers of 1 / z^2: fitted, and Bernoulli's numbers.
_STIRLING = (-0.002653208172987674, 0.08332842067703257)
_BERNOULLI = (1 / 252, -1 / 120, 1 / 12)


@lowers
@in_float32
@merging_dims("LESS")
def Lgamma(tfl, x):
    """log|gamma(x)|: where x is below 1/2, log(pi / |sin(pi * x)|) less that of 1 - x; infinite at 0, -1, -2, ..."""
    # Infinities would be subtracted from each other; here, every number is a whole one.
    x = tfl.maximum(scalar(-1e30, x.dtype), x)
    y = _lgamma(tfl, _reflected(tfl, x))
    wave = tfl.mul(tfl.abs_(tfl.sin(_angle(tfl, x))), 1 / math.pi)
    below = tfl.sub(tfl.neg(tfl.log(wave)), y)
    return select(tfl, tfl.less(x, 0.5), below, y)


@lowers
@in_float32
@merging_dims("LESS")
def Digamma(tfl, x):
    """The derivative of lgamma: where x is below 1/2, that at 1 - x less pi / tan(pi * x); NaN at 0, -1, -2, ..."""
    return digamma(tfl, x)


def digamma(tfl: Lowering, x: Value) -> Value:
    """Return the digamma function of float32 numbers."""
    angle = _angle(tfl, x)
    cotangent = tfl.div(tfl.mul(tfl.cos(angle), math.pi), tfl.sin(angle))
    y = _digamma(tfl, _reflected(tfl, x))
    pole = elementwise(tfl, "EQUAL", angle, 0)
    below = select(tfl, pole, math.nan, tfl.sub(y, cotangent))
    return select(tfl, tfl.less(x, 0.5), below, y)


def stirling_error(tfl: Lowering, a: Value) -> Value:
    """Return what lgamma(a), a > 0 of float32, has beyond Stirling's (a - 1/2) * log(a) - a + log(2 * pi) / 2."""
    far = odd_polynomial(tfl, tfl.div(_ONE, tfl.maximum(a, _NEAR)), _STIRLING)
    a = tfl.minimum(a, _NEAR)
    # lgamma(a + 1) is lgamma(a) + log(a).
    near = tfl.sub(_lgamma(tfl, tfl.add(a, 1.0)), tfl.mul(tfl.add(a, 0.5), tfl.log(a)))
    near = tfl.add(tfl.add(near, a), -math.log(2 * math.pi) / 2)
    return select(tfl, tfl.less(a, _NEAR), near, far)


def _reflected(tfl: Lowering, x: Value) -> Value:
    """Return the larger of x and 1 - x."""
    return tfl.maximum(tfl.sub(_ONE, x), x)


def _angle(tfl: Lowering, x: Value) -> Value:
    """Return pi times the distance to the nearest whole number."""
    return tfl.mul(tfl.sub(x, tfl.round(x)), math.pi)


def _lgamma(tfl: Lowering, z: Value) -> Value:
    """Return lgamma(z) for z >= 1/2."""
    u = tfl.add(z, -1.0)
    zeros = tfl.mul(u, tfl.add(z, -2.0))
    series = odd_polynomial(tfl, tfl.div(_ONE, z), _STIRLING)
    rest = tfl.add(series, (math.log(2 * math.pi) - 1) / 2)
    far = tfl.add(tfl.mul(tfl.add(z, -0.5), tfl.add(tfl.log(z), -1.0)), rest)
    return select(tfl, tfl.greater(z, _NEAR), far, tfl.mul(zeros, _quotient(tfl, u, _LGAMMA)))


def _digamma(tfl: Lowering, z: Value) -> Value:
    """Return digamma(z) for z >= 1/2."""
    inverse = tfl.div(_ONE, z)
    square = tfl.mul(inverse, inverse)
    series = tfl.add(tfl.mul(inverse, 0.5), tfl.mul(polynomial(tfl, square, _BERNOULLI), square))
    far = tfl.sub(tfl.log(z), series)
    # Not the difference from the root's two parts, which would be made one.
    near = tfl.add(tfl.mul(tfl.sub(z, _ROOT), _quotient(tfl, tfl.add(z, -1.0), _DIGAMMA)), _AT_ROOT)
    return select(tfl, tfl.greater(z, _NEAR), far, near)


def _quotient(tfl: Lowering, x: Value, parts: tuple[tuple[float, ...], tuple[float, ...]]) -> Value:
    """Return the quotient of two polynomials."""
    top, bottom = (polynomial(tfl, x, coefficients) for coefficients in parts)
    return tfl.div(top, bottom)
