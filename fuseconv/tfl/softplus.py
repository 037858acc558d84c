"""Softplus in ops of TFLite, which has no kernel for it.

Where LOG alone has lost what 1 does not keep, and XNNPACK's is off by 2e-7 near 1, one step of Newton's method for
1 - exp(-y) = sigmoid(x), by which the softplus y is defined, brings it back: ELU(-y) is exp(-y) - 1, and is right
to 3e-7 of it however small y is. Where y is large the step adds what rounding leaves beside 1.

The error is 7e-7 of the result at most, with XNNPACK and without; but of x below -76 the result, which is then
below 1e-33, is that of XNNPACK's LOGISTIC, which is off by up to 1.3e-38, about float32's least normal number.
"""

from __future__ import annotations

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


def softplus(tfl: Builder, x: Value) -> Value:
    """Return log(1 + exp(x)) of float32: x, LOGISTIC of it and of its size, LOG and ELU."""
    below = tfl.sub(tfl.log(tfl.logistic(tfl.abs(x))), tfl.relu(x))
    return _corrected(tfl, below, tfl.logistic(x))


def coarse_softplus(tfl: Builder, x: Value) -> Value:
    """Return log(1 + exp(x)) of float32, off by 2e-7 where it is below 1, however small it is."""
    return tfl.sub(tfl.relu(x), tfl.log(tfl.logistic(tfl.abs(x))))


def softplus_of_negative(tfl: Builder, size: Value) -> Value:
    """Return log(1 + exp(-size)) of float32 that is not negative."""
    return _corrected(tfl, tfl.log(tfl.logistic(size)), tfl.logistic(tfl.neg(size)))


def _corrected(tfl: Builder, below: Value, sigmoid: Value) -> Value:
    """Return a softplus by a step of Newton's method. below: an estimate of it, negated."""
    return tfl.sub(tfl.add(tfl.elu(below), sigmoid), below)
