"""Logarithms of numbers near 1, and the inverse hyperbolic functions, which are such.

The sum 1 + x keeps of a small x what float32 holds beside 1, and XNNPACK's LOG is off by 2e-7 near 1, however small its
result is. So log(1 + x) and artanh take a step of Newton's method from that logarithm, as TANH is right to 3e-7 of
itself and LOG of 1 is 0. Where arsinh and arcosh are small, they are polynomials, fitted with relative errors below
2e-7. The results are right to a few parts in 1e7 of themselves, with XNNPACK and without. NaN stays NaN, though
XNNPACK's LOG of NaN is a number. Of infinity that LOG makes 88.4, so that log(1 + x) is 86.4; and where no delegate
runs, infinities come out as the largest number, where sums and products end. XNNPACK takes denormals for 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.arithmetic import unless_zero
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import elementwise, select
from fuseconv.lower.support.merged_dims import merging_dims
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tf.operands import is_whole
from fuseconv.tfl.horner import odd_polynomial

_ONE = np.ones((), np.float32)
_LARGE = 3e38
# arsinh(x) = x * p(x * x) for |x| <= 0.4.
_ARSINH = (-0.03662969269109237, 0.07429617382469464, -0.1666486510320107, 1.0)
_ARSINH_OF_TWICE = tuple(coefficient * 2**power for coefficient, power in zip(_ARSINH, (7, 5, 3, 1)))
_ARSINH_RANGE = 0.4


@lowers
@in_float32
@merging_dims("MINIMUM")
def Log1p(tfl, x):
    """LOG of 1 + x, and what x / (x + 2) differs by from the TANH of half that: the part that 1 + x has lost."""
    return log1p(tfl, x)


@lowers
@in_float32
def Xlogy(tfl, x, y):
    """x * log(y), and 0 where x is 0."""
    return _times_log(tfl, x, y, np.log, lambda tfl, y: tfl.log(y))


@lowers
@in_float32
def Xlog1py(tfl, x, y):
    """x * log(1 + y), and 0 where x is 0."""
    return _times_log(tfl, x, y, np.log1p, log1p)


def _times_log(tfl: Lowering, x: Value, y: Value, known: np.ufunc, log: Callable[[Lowering, Value], Value]) -> Value:
    """Return x times a logarithm, and 0 where x is 0, which is their product if the logarithm is a finite constant."""
    if y.data is not None:
        with np.errstate(all="ignore"):
            factors = known(y.data.astype(np.float64)).astype(np.float32)
        if np.isfinite(factors).all():
            return elementwise(tfl, "MUL", x, tfl.const(factors, types.FLOAT32))
    return unless_zero(tfl, x, elementwise(tfl, "MUL", x, log(tfl, y)))


@lowers
@in_float32
@merging_dims("GREATER")
def Asinh(tfl, x):
    """sign(x) * log(|x| + sqrt(x * x + 1)); a polynomial near 0."""
    size = tfl.abs_(x)
    # |x| * (1 + sqrt(1 + 1 / x^2)) does not overflow as x * x does; a 16th of it is far from where XNNPACK's LOG ends.
    inverse = tfl.div(_ONE, x)
    root = tfl.sqrt(tfl.add(tfl.mul(inverse, inverse), 1.0))
    log = tfl.add(tfl.log(tfl.mul(size, tfl.add(tfl.mul(root, 1 / 16), 1 / 16))), math.log(16))
    far = tfl.greater(size, _ARSINH_RANGE)
    return select(tfl, far, tfl.mul(tfl.sign(x), log), odd_polynomial(tfl, x, _ARSINH))


@lowers
@in_float32
@merging_dims("GREATER")
def Acosh(tfl, x):
    """2 * arsinh(sqrt((x - 1) / 2)), which keeps x - 1 where that is small; NaN where x is below 1."""
    # Of half the root: XNNPACK's SQRT fails where its operand is above 2^126.
    square = tfl.mul(tfl.add(x, -1.0), 1 / 8)
    root = tfl.sqrt(square)
    log = tfl.add(tfl.log(tfl.add(root, tfl.sqrt(tfl.add(square, 1 / 4)))), math.log(2))
    far = tfl.greater(square, (_ARSINH_RANGE / 2) ** 2)
    return tfl.mul(select(tfl, far, log, odd_polynomial(tfl, root, _ARSINH_OF_TWICE)), 2.0)


@lowers
@in_float32
def Atanh(tfl, x):
    """Half of log(1 + x) less half of log(1 - x), and what x differs by from the TANH of that."""
    # Halves first: where no delegate runs, the difference is the largest number for infinity.
    upper, lower = (tfl.mul(tfl.log(sum_), 0.5) for sum_ in (tfl.add(x, 1.0), tfl.sub(_ONE, x)))
    return _artanh(tfl, x, tfl.sub(upper, lower))


def log1p(tfl: Lowering, x: Value) -> Value:
    """Return log(1 + x) of float32, right to 4e-7 of it: LOG, corrected as that of the quotient x / (x + 2). Beside a
    whole number 1 loses nothing, and LOG of 1 is 0."""
    if is_whole(x):
        return tfl.log(tfl.add(x, 1.0))
    # The bound keeps infinity from making NaN of the quotient; of what is that large the correction tells nothing.
    quotient = tfl.div(tfl.minimum(x, _LARGE), tfl.add(x, 2.0))
    return tfl.mul(_artanh(tfl, quotient, tfl.mul(tfl.log(tfl.add(x, 1.0)), 0.5)), 2.0)


def _artanh(tfl: Lowering, x: Value, estimate: Value) -> Value:
    """Return the inverse of tanh by a step of Newton's method, from an estimate that may be off by 2e-7. Where x is
    small, that is off by x * x of what the estimate was, where x is near 1, by what rounding leaves of 1."""
    return tfl.add(tfl.sub(x, tfl.tanh(estimate)), estimate)
