"""The incomplete gamma and beta functions.

Each is a density times a series or continued fraction, of which each run of a WHILE adds a term until none changes the
sum. The density's form loses no digits where its logarithm is a small difference of large numbers (Loader, "Fast and
accurate computation of binomial probabilities", 2000). They are right to 3e-6 where parameters are from 1e-3 to 1e4;
TensorFlow's own kernels of float32 to 8e-3. The loops run 10 to 20 times where parameters are about 1, and 100 times
where they are about 1000. The gamma parts take 155 ops, the beta part takes 185; 10 to 25 of them are in a loop.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.gamma import stirling_error
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import as_vectors, select
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.horner import polynomial

_ONE, _TWO = np.float32(1), np.float32(2)
# Of falling powers of d, |d| <= 0.4: (d - log(1 + d)) / (d * d), fitted with a relative error of 6e-8.
_DEVIANCE = (
    -0.13517714324793673, 0.1426435038111651, -0.10340928503002048, 0.11854928419720927, -0.1434193665325108,
    0.16704986342657085, -0.19998352321933227, 0.2499921538612616, -0.3333334674203671, 0.5000000255077488,
)  # fmt: skip
_NEAR = 0.4
# Parameters beyond make no other results.
_SMALLEST, _LARGEST = 1e-30, 1e30
# What a term changes where the sum is right, and the most terms.
_SERIES_END, _FRACTION_END, _MOST_TERMS = 5e-8, 5e-7, 1 << 14


@lowers
@in_float32
def Igamma(tfl, a, x):
    """The part of gamma(a) below x: a series of x / (a + n) where x is below 1 or a, else 1 less Igammac; NaN where x
    is below 0, or a not above."""
    return _gamma_parts(tfl, a, x)[0]


@lowers
@in_float32
def Igammac(tfl, a, x):
    """The part of gamma(a) above x: a continued fraction where x is above 1 and a, else 1 less Igamma."""
    return _gamma_parts(tfl, a, x)[1]


@lowers
@in_float32
def Betainc(tfl, a, b, x):
    """The part of beta(a, b) below x: a continued fraction where x is below (a + 1) / (a + b + 2), else 1 less that of
    b, a and 1 - x; NaN where x is not between 0 and 1, or a or b not above 0."""
    a, b, x, restore = as_vectors(tfl, a, b, x)
    # Of NaN no comparison holds.
    good = functools.reduce(
        tfl.logical_and,
        [tfl.greater(each, 0.0) for each in (a, b)]
        + [tfl.less(tfl.add(a, b), np.inf), tfl.greater_equal(x, 0.0), tfl.less_equal(x, 1.0)],
    )
    a, b = (tfl.maximum(each, _SMALLEST) for each in (a, b))
    turned = tfl.greater(tfl.mul(x, tfl.add(tfl.add(a, b), 2.0)), tfl.add(a, 1.0))
    rest = tfl.sub(_ONE, x)
    a, b = tfl.select_v2(turned, b, a), tfl.select_v2(turned, a, b)
    x, rest = tfl.select_v2(turned, rest, x), tfl.select_v2(turned, x, rest)
    away = tfl.sub(tfl.mul(x, b), tfl.mul(rest, a))
    part = tfl.div(_beta_density(tfl, a, b, x, rest, away), _beta_fraction(tfl, a, b, x, away))
    part = select(tfl, tfl.equal(x, 0.0), 0.0, part)
    part = tfl.select_v2(turned, tfl.sub(_ONE, part), part)
    return restore(select(tfl, good, part, math.nan))


def _gamma_parts(tfl: Lowering, a: Value, x: Value) -> list[Value]:
    """Return the parts of gamma(a) below and above x."""
    a, x, restore = as_vectors(tfl, a, x)
    # Of NaN no comparison holds.
    good = tfl.logical_and(tfl.greater(a, 0.0), tfl.greater_equal(x, 0.0))
    a = tfl.minimum(tfl.maximum(a, _SMALLEST), _LARGEST)
    beyond = tfl.greater(x, tfl.maximum(a, 1.0))
    density = _gamma_density(tfl, a, x)
    # Where the other form counts, a loop shall end at once.
    below = tfl.div(tfl.mul(density, _gamma_series(tfl, a, select(tfl, beyond, 0.0, x))), a)
    far = tfl.add(tfl.mul(a, 2.0), 1e4)  # from there on nothing is left above
    above = tfl.mul(density, _gamma_fraction(tfl, a, tfl.select_v2(beyond, tfl.minimum(x, far), far)))
    above = select(tfl, tfl.less(x, far), above, 0.0)
    none = tfl.equal(x, 0.0)
    below = select(tfl, none, 0.0, below)
    parts = tfl.select_v2(beyond, tfl.sub(_ONE, above), below), tfl.select_v2(beyond, above, tfl.sub(_ONE, below))
    valid = tfl.logical_or(good, none), good
    return [restore(select(tfl, where, part, math.nan)) for where, part in zip(valid, parts)]


def _gamma_density(tfl: Lowering, a: Value, x: Value) -> Value:
    """Return x^a * exp(-x) / gamma(a)."""
    exponent = tfl.add(_deviance(tfl, a, x, tfl.sub(x, a)), stirling_error(tfl, a))
    return tfl.mul(tfl.sqrt(tfl.mul(a, 1 / (2 * math.pi))), tfl.exp(tfl.neg(exponent)))


def _beta_density(tfl: Lowering, a: Value, b: Value, x: Value, rest: Value, away: Value) -> Value:
    """Return x^a * (1 - x)^b / beta(a, b); rest: 1 - x, away: x * b - (1 - x) * a."""
    both = tfl.add(a, b)
    deviances = _deviance(tfl, tfl.pack(a, b), tfl.mul(tfl.pack(x, rest), both), tfl.pack(away, tfl.neg(away)))
    errors = tfl.mul(stirling_error(tfl, tfl.pack(a, b, both)), np.array([[1], [1], [-1]], np.float32))
    exponent = tfl.sum_(tfl.concatenation(deviances, errors, axis=0), [0])
    scale = tfl.sqrt(tfl.mul(tfl.mul(a, tfl.div(b, both)), 1 / (2 * math.pi)))
    return tfl.mul(scale, tfl.exp(tfl.neg(exponent)))


def _deviance(tfl: Lowering, a: Value, x: Value, away: Value) -> Value:
    """Return x - a - a * log(x / a); away: x - a."""
    d = tfl.div(away, a)
    within = tfl.maximum(tfl.minimum(d, _NEAR), -_NEAR)
    near = tfl.mul(tfl.mul(polynomial(tfl, within, _DEVIANCE), away), d)
    far = tfl.sub(away, tfl.mul(a, tfl.log(tfl.div(x, a))))
    return tfl.select_v2(tfl.less(tfl.abs_(d), _NEAR), near, far)


def _gamma_series(tfl: Lowering, a: Value, x: Value) -> Value:
    """Return 1 + x / (a + 1) + x^2 / ((a + 1) * (a + 2)) + ..."""

    def more(tfl: Builder, step: Value, a: Value, x: Value, term: Value, total: Value) -> Value:
        return _unfinished(tfl, step, tfl.greater(term, tfl.mul(total, _SERIES_END)))

    def once(tfl: Builder, step: Value, a: Value, x: Value, term: Value, total: Value) -> list[Value]:
        a = tfl.add(a, 1.0)
        term = tfl.mul(term, tfl.div(x, a))
        return [tfl.add(step, 1), a, x, term, tfl.add(total, term)]

    one = _ones(tfl, x)
    return tfl.loop(more, once, [tfl.const(np.int32(0)), a, x, one, one])[-1]


def _gamma_fraction(tfl: Lowering, a: Value, x: Value) -> Value:
    """Return 1 / (x + 1 - a - 1 * (1 - a) / (x + 3 - a - 2 * (2 - a) / (x + 5 - a - ...)))."""

    def once(
        tfl: Builder, step: Value, a: Value, b: Value, top: Value, bottom: Value, factor: Value, total: Value
    ) -> list[Value]:
        step = tfl.add(step, 1)
        number = tfl.cast(step, out_data_type="FLOAT32")
        b = tfl.add(b, 2.0)
        part = tfl.mul(number, tfl.sub(a, number))
        bottom = tfl.div(_ONE, tfl.add(tfl.mul(part, bottom), b))
        top = tfl.add(tfl.div(part, top), b)
        factor = _unless_done(tfl, factor, tfl.mul(top, bottom))
        return [step, a, b, top, bottom, factor, tfl.mul(total, factor)]

    b = tfl.sub(tfl.add(x, 1.0), a)
    start = tfl.div(_ONE, b)
    none = tfl.mul(_ones(tfl, x), 1e30)
    return tfl.loop(_factor_counts, once, [tfl.const(np.int32(0)), a, b, none, start, none, start])[-1]


def _beta_fraction(tfl: Lowering, a: Value, b: Value, x: Value, away: Value) -> Value:
    """Return the continued fraction that divides the density: that whose terms are all positive (DiDonato and Morris,
    "Algorithm 708", 1992); away: x * b - (1 - x) * a."""

    def once(
        tfl: Builder, step: Value, a: Value, b: Value, x: Value, rest: Value, top: Value, bottom: Value, factor: Value,
        total: Value,
    ) -> list[Value]:  # fmt: skip
        step = tfl.add(step, 1)
        number = tfl.cast(step, out_data_type="FLOAT32")
        far = tfl.add(tfl.add(number, number), a)
        last, ahead = tfl.sub(far, _ONE), tfl.add(a, number)
        share = tfl.div(tfl.mul(tfl.mul(tfl.sub(b, number), number), x), last)
        before = tfl.sub(ahead, _ONE)
        part = tfl.mul(tfl.div(tfl.mul(tfl.mul(before, tfl.add(before, b)), x), last), share)
        more = tfl.add(tfl.mul(number, tfl.sub(_TWO, x)), rest)
        whole = tfl.add(tfl.add(tfl.div(tfl.mul(ahead, more), tfl.add(far, 1.0)), share), number)
        bottom = tfl.div(_ONE, tfl.add(tfl.mul(part, bottom), whole))
        top = tfl.add(tfl.div(part, top), whole)
        factor = _unless_done(tfl, factor, tfl.mul(top, bottom))
        return [step, a, b, x, rest, top, bottom, factor, tfl.mul(total, factor)]

    rest = tfl.sub(_ONE, away)
    start = tfl.div(tfl.mul(a, rest), tfl.add(a, 1.0))
    one = _ones(tfl, x)
    carried = [tfl.const(np.int32(0)), a, b, x, rest, start, tfl.sub(one, one), tfl.add(one, 1.0), start]
    return tfl.loop(_factor_counts, once, carried)[-1]


def _factor_counts(tfl: Builder, step: Value, *carried: Value) -> Value:
    """Return whether the last factor, carried before the total, is not 1 yet."""
    return _unfinished(tfl, step, _differs_from_one(tfl, carried[-2]))


def _unless_done(tfl: Builder, last: Value, factor: Value) -> Value:
    """Return the factor, and 1 where the last one was 1 but for rounding, which other elements' runs would add up."""
    return tfl.select_v2(_differs_from_one(tfl, last), factor, _ONE)


def _differs_from_one(tfl: Builder, factor: Value) -> Value:
    return tfl.greater(tfl.abs_(tfl.sub(factor, _ONE)), _FRACTION_END)


def _unfinished(tfl: Builder, step: Value, counts: Value) -> Value:
    return tfl.logical_and(tfl.reduce_any(counts, [0]), tfl.less(step, _MOST_TERMS))


def _ones(tfl: Lowering, x: Value) -> Value:
    """Return ones of the shape of x, even where x holds NaN."""
    return tfl.add(cast(tfl, tfl.less(x, x), types.FLOAT32), 1.0)
