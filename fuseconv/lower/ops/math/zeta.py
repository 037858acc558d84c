"""Hurwitz's zeta function, and the derivatives of digamma, which are multiples of it.

Nine terms of its sum or more, one in each run of a WHILE, and what the formula of Euler and Maclaurin says of the rest,
with five of its terms. They are right to 2e-6 of the result. Of a negative q, whose terms may cancel each other, the
loop has as many runs as lead to 9, a million at most.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.gamma import digamma
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.legalize_operands import as_vectors, elementwise, select
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.builder import Builder

_TERMS, _MOST_TERMS = 9, 1 << 20
# What the next of the formula's terms is smaller by, but for powers, the last first.
_QUOTIENTS = (1188 / 30, 40, 42, 60)
# From here on float32 holds no power of 9 or more, nor factorials.
_LARGEST, _FACTORIALS = 1e3, 35


@lowers
@in_float32
def Zeta(tfl, x, q):
    """The sum of (q + k)^-x over k = 0, 1, 2, ...; infinite where x is 1, NaN where it is below, or where q is below 0
    and x not whole."""
    x, q, restore = as_vectors(tfl, x, q)
    return restore(_zeta(tfl, x, q))


@lowers
@in_float32
def Polygamma(tfl, a, x):
    """Digamma where a is 0, else the factorial of a times the zeta function of a + 1 and x, or less that where a is
    even."""
    order, q, restore = as_vectors(tfl, a, x)
    # NaN is not greater than 0.
    number = tfl.minimum(select(tfl, tfl.greater(order, 0.0), order, 0.0), float(_FACTORIALS))
    factorials = np.array([*map(math.factorial, range(_FACTORIALS)), np.inf], np.float32)
    size = tfl.gather(tfl.const(factorials), cast(tfl, number, types.INT32))
    made = tfl.mul(size, _zeta(tfl, tfl.add(order, 1.0), q))
    made = tfl.select_v2(_whole(tfl, tfl.mul(order, 0.5)), tfl.neg(made), made)
    made = restore(select(tfl, _whole(tfl, order), made, math.nan))
    if a.is_const and np.all(a.data):
        return made
    return select(tfl, elementwise(tfl, "EQUAL", a, 0), digamma(tfl, x), made)


def _whole(tfl: Lowering, x: Value) -> Value:
    """Return whether numbers are whole; NaN is not."""
    return tfl.equal(x, tfl.floor(x))


def _zeta(tfl: Lowering, x: Value, q: Value) -> Value:
    """Return the zeta function of vectors."""

    def counts(tfl: Builder, step: Value, q: Value) -> Value:
        return tfl.logical_or(tfl.less_equal(q, float(_TERMS)), tfl.less(step, _TERMS))

    def more(tfl: Builder, step: Value, x: Value, q: Value, total: Value) -> Value:
        return tfl.logical_and(tfl.reduce_any(counts(tfl, step, q), [0]), tfl.less(step, _MOST_TERMS))

    def once(tfl: Builder, step: Value, x: Value, q: Value, total: Value) -> list[Value]:
        counted = counts(tfl, step, q)
        term = tfl.pow_(q, tfl.neg(x))
        total = tfl.select_v2(counted, tfl.add(total, term), total)
        return [tfl.add(step, 1), x, tfl.select_v2(counted, tfl.add(q, 1.0), q), total]

    zero = cast(tfl, tfl.less(x, x), types.FLOAT32)
    *_, end, total = tfl.loop(more, once, [tfl.const(np.int32(0)), x, q, zero])
    total = select(tfl, tfl.equal(q, np.inf), 0.0, tfl.add(total, _rest(tfl, x, end)))
    pole = tfl.logical_and(tfl.less_equal(q, 0.0), _whole(tfl, q))
    at_pole = select(tfl, _whole(tfl, tfl.mul(x, 0.5)), tfl.const(np.float32(np.inf)), math.nan)
    total = tfl.select_v2(pole, at_pole, total)
    total = select(tfl, tfl.equal(x, 1.0), np.inf, total)
    # Of NaN no comparison holds.
    allowed = tfl.logical_or(tfl.greater(q, 0.0), _whole(tfl, x))
    return select(tfl, tfl.logical_and(tfl.greater_equal(x, 1.0), allowed), total, math.nan)


def _rest(tfl: Lowering, x: Value, q: Value) -> Value:
    """Return the sum of (q + k)^-x, q > 9, over k = 0, 1, 2, ..., as q^-x times a sum."""
    x = tfl.minimum(x, _LARGEST)
    inverse = tfl.div(np.float32(1), q)
    square = tfl.mul(inverse, inverse)
    series: Value | None = None
    for last, quotient in zip(range(2 * len(_QUOTIENTS) - 1, 0, -2), _QUOTIENTS):
        pair = tfl.mul(tfl.add(x, float(last)), tfl.add(x, float(last + 1)))
        term = tfl.mul(tfl.mul(pair, square), -1 / quotient)
        series = tfl.add(term if series is None else tfl.mul(term, series), 1.0)
    near = tfl.add(tfl.mul(tfl.mul(tfl.mul(x, inverse), 1 / 12), series), 0.5)
    far = tfl.div(q, tfl.sub(x, np.float32(1)))
    return tfl.mul(tfl.pow_(q, tfl.neg(x)), tfl.add(far, near))
