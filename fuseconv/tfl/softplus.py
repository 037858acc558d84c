"""Softplus in ops of TFLite, which has no kernel for it.

log(1 + exp(-size)) is -log(1 - q), q = LOGISTIC(-size) being half at most: q times a quotient of two polynomials, which
is right to 5e-7 by a fit of its largest error. There is no LOG in it, which TensorFlow's XNNPACK leaves to a slower
kernel, and which near 1 has lost what small results are made of; nor what is slow without XNNPACK: ABS, EXP, ELU, and a
number divided by a tensor.

The error is 1.1e-6 of the result at most, with XNNPACK and without. Of x below -76 the result, then below 1e-33, is
that of XNNPACK's LOGISTIC, which is off by up to 1.3e-38, about float32's least normal number.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.horner import polynomial

# log(1 - q) / q is the first number, and the line divided by the parabola.
_WHOLE = np.float32(-0.14582582)
_LINE = (np.float32(1.6482109), np.float32(-2.2980576))
_PARABOLA = (np.float32(-3.5043218), np.float32(2.6903837))


def softplus(tfl: Builder, x: Value) -> Value:
    """Return log(1 + exp(x)) of float32: what RELU leaves of x, less the logarithm of what a LOGISTIC lacks to 1."""
    return tfl.sub(tfl.relu(x), _logarithm_of_rest(tfl, tfl.logistic(tfl.neg(size_of(tfl, x)))))


def coarse_softplus(tfl: Builder, x: Value) -> Value:
    """Return log(1 + exp(x)) of float32, off by 2e-7 where it is below 1, however small it is."""
    return tfl.sub(tfl.relu(x), tfl.log(tfl.logistic(size_of(tfl, x))))


def softplus_of_negative(tfl: Builder, size: Value) -> Value:
    """Return log(1 + exp(-size)) of float32 that is not negative."""
    return tfl.neg(_logarithm_of_rest(tfl, tfl.logistic(tfl.neg(size))))


def size_of(tfl: Builder, x: Value) -> Value:
    """Return |x| by a kernel that takes a tenth of the time of ABS without XNNPACK."""
    return tfl.leaky_relu(x, alpha=-1.0)


def _logarithm_of_rest(tfl: Builder, q: Value) -> Value:
    """Return log(1 - q) of q between 0 and a half, right to 8e-7 of it."""
    parabola = tfl.add(tfl.mul(tfl.add(q, _PARABOLA[0]), q), _PARABOLA[1])
    return tfl.mul(tfl.add(tfl.div(polynomial(tfl, q, _LINE), parabola), _WHOLE), q)
