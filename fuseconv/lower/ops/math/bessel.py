"""The modified Bessel functions of the first kind, of orders 0 and 1, also times exp(-|x|).

Up to 7.75 they are polynomials of x * x, whose coefficients are all positive, beyond that polynomials of 1 / |x| times
exp(|x|) / sqrt(|x|). They are right to 1e-6 of the result, near zero too.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import scalar, select
from fuseconv.lower.support.merged_dims import merging_dims
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tfl.horner import polynomial

_ONE = np.ones((), np.float32)
_NEAR = 7.75
_SCALE = 2.0**-10
# Of falling powers of x * x: i0(x) and i1(x) / x, with relative errors of 6e-9 and 2e-9.
_I0 = (
    5.5044342012065665e-17, 6.282114208542049e-15, 2.592612598108983e-12, 4.6427856466639717e-10, 6.795522579902383e-08,
    6.780027180355466e-06, 0.0004340384650393393, 0.015624967683923945, 0.25000003421827044, 0.9999999947629945,
)  # fmt: skip
_I1 = (
    2.6530674640917182e-18, 3.7284872437378926e-16, 1.5968411482979553e-13, 3.3286025746132017e-11,
    5.659242986907054e-09, 6.78066430652835e-07, 5.425420128255575e-05, 0.0026041641571622276, 0.06250000313554804,
    0.4999999994053903,
)  # fmt: skip
# Of falling powers of 1 / x: i0(x) and i1(x), times exp(-x) * sqrt(x), with relative errors of 2e-8.
_I0_FAR = (
    0.41366002105453825, -0.021283360558333853, 0.03453132682886521, 0.027868524018229833, 0.049870011301190474,
    0.39894227601494653,
)  # fmt: skip
_I1_FAR = (
    -0.4818995501386046, 0.01827252098808306, -0.047021225633946465, -0.046540460695506505, -0.14960594739737293,
    0.39894228556045047,
)  # fmt: skip


@lowers
@in_float32
@merging_dims("LESS")
def BesselI0e(tfl, x):
    """A polynomial of x * x times exp(-|x|), or one of 1 / |x| divided by sqrt(|x|)."""
    return _scaled(tfl, tfl.abs_(x), _I0, _I0_FAR)


@lowers
@in_float32
@merging_dims("LESS")
def BesselI1e(tfl, x):
    """As BesselI0e, times x or its sign."""
    return _odd(tfl, x, _scaled(tfl, tfl.abs_(x), _I1, _I1_FAR))


@lowers
@in_float32
@merging_dims("LESS")
def BesselI0(tfl, x):
    """BesselI0e times exp(|x|)."""
    size = tfl.abs_(x)
    return _unscaled(tfl, size, _scaled(tfl, size, _I0, _I0_FAR))


@lowers
@in_float32
@merging_dims("LESS")
def BesselI1(tfl, x):
    """BesselI1e times exp(|x|)."""
    size = tfl.abs_(x)
    return _odd(tfl, x, _unscaled(tfl, size, _scaled(tfl, size, _I1, _I1_FAR)))


def _scaled(tfl: Lowering, size: Value, near: tuple[float, ...], far: tuple[float, ...]) -> Value:
    """Return the function times exp(-|x|): where |x| is at most 7.75, that of the polynomial `near`, still to be
    multiplied by x if the function is odd."""
    # In this order TFLite's kernels keep NaN. What is not selected must not overflow.
    within = tfl.minimum(scalar(_NEAR, size.dtype), size)
    beyond = tfl.maximum(scalar(_NEAR, size.dtype), size)
    low = tfl.mul(polynomial(tfl, tfl.mul(within, within), near), tfl.exp(tfl.neg(within)))
    # XNNPACK's SQRT is wrong above 8e37.
    root = tfl.sqrt(tfl.mul(beyond, _SCALE * _SCALE))
    high = tfl.div(polynomial(tfl, tfl.div(_ONE, beyond), [each * _SCALE for each in far]), root)
    if near is _I1:
        low = tfl.mul(low, within)
    return select(tfl, tfl.greater(size, _NEAR), high, low)


def _unscaled(tfl: Lowering, size: Value, y: Value) -> Value:
    """Return y * exp(|x|), by the root of that, which overflows later."""
    root = tfl.exp(tfl.mul(size, 0.5))
    return tfl.mul(tfl.mul(y, root), root)


def _odd(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return y, or -y where x is below 0."""
    return select(tfl, tfl.less(x, 0.0), tfl.neg(y), y)
