"""Polynomials by Horner's scheme, which rules and forms approximate functions with."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder


def polynomial(tfl: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Return the sum of coefficients, two at least, times falling powers of x (float32)."""
    total = tfl.add(tfl.mul(x, coefficients[0]), coefficients[1])
    for coefficient in coefficients[2:]:
        total = tfl.add(tfl.mul(total, x), coefficient)
    return total


def odd_polynomial(tfl: Builder, x: Value, coefficients: Sequence[float]) -> Value:
    """Return x times a polynomial of x * x: where x is small, to the last bits of the result."""
    return tfl.mul(polynomial(tfl, tfl.mul(x, x), coefficients), x)
