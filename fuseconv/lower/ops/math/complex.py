"""Lowering of complex numbers: their parts, and functions composed of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import shape_of
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.type_promotion import complex_from_parts, conjugate

Function = Callable[..., Value]


def on_complex_numbers(function: Function) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a rule of real numbers: operands of complex64 are given to `function` instead."""

    def decorate(rule: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(rule)
        def wrapped(tfl: Lowering, *operands: Value, **attrs: Any) -> Any:
            return (function if operands[0].dtype is types.COMPLEX64 else rule)(tfl, *operands, **attrs)

        return wrapped

    return decorate


@lowers
def Real(tfl, x):
    """REAL."""
    return tfl.real(x) if x.dtype.is_complex else x


@lowers
def Imag(tfl, x):
    """IMAG."""
    require(x.dtype.is_complex, "a real number has no imaginary part in TFLite")
    return tfl.imag(x)


@lowers
def ComplexAbs(tfl, x):
    """COMPLEX_ABS."""
    return tfl.complex_abs(x)


@lowers
def Angle(tfl, x):
    """ATAN2 of IMAG and REAL."""
    require(x.dtype.is_complex, "TFLite has no op for the angle of a real number")
    return elementwise(tfl, "ATAN2", tfl.imag(x), tfl.real(x))


@lowers
def Conj(tfl, x):
    """BITCAST of REAL and NEG of IMAG; a real number is its own."""
    return conjugate(tfl, x) if x.dtype.is_complex else x


@lowers
def Complex(tfl, real, imag):
    """BITCAST of the pairs."""
    require(real.dtype is types.FLOAT32, f"TFLite has no complex numbers of {real.dtype}")
    if shape_of(real) != shape_of(imag):
        always = scalar(True, types.BOOL)
        real, imag = select(tfl, always, real, imag), select(tfl, always, imag, real)
    return complex_from_parts(tfl, real, imag)


def quotient(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return x / y of complex numbers: the product with the conjugate over the square of the length. The conjugate is
    taken over the larger part of y, so that no square overflows or vanishes."""
    real, imaginary = tfl.real(y), tfl.imag(y)
    size = tfl.maximum(tfl.abs_(real), tfl.abs_(imaginary))
    parts = tfl.div(real, size), tfl.div(imaginary, size)
    length = tfl.add(tfl.mul(real, parts[0]), tfl.mul(imaginary, parts[1]))
    product = elementwise(tfl, "MUL", x, complex_from_parts(tfl, parts[0], tfl.neg(parts[1])))
    return complex_from_parts(tfl, *[elementwise(tfl, "DIV", part(product), length) for part in (tfl.real, tfl.imag)])


def exponential(tfl: Lowering, x: Value) -> Value:
    """Return exp of complex numbers: its length is that of the real part, its angle the imaginary part."""
    length, angle = tfl.exp(tfl.real(x)), tfl.imag(x)
    return complex_from_parts(tfl, tfl.mul(length, tfl.cos(angle)), tfl.mul(length, tfl.sin(angle)))


def is_zero(tfl: Lowering, x: Value) -> Value:
    """Return whether numbers, real or complex ones, are 0."""
    if x.dtype is not types.COMPLEX64:
        return elementwise(tfl, "EQUAL", x, 0)
    return tfl.logical_and(tfl.equal(tfl.real(x), 0.0), tfl.equal(tfl.imag(x), 0.0))


def logarithm(tfl: Lowering, x: Value) -> Value:
    """Return log of complex numbers: that of the length, and the angle. The real part is off by 6e-8 near length 1."""
    angle = elementwise(tfl, "ATAN2", tfl.imag(x), tfl.real(x))
    return complex_from_parts(tfl, tfl.log(tfl.complex_abs(x)), angle)


def root(tfl: Lowering, x: Value) -> Value:
    """Return the root, at the right of 0, of complex numbers: its larger part is that of half of |x| + |real|, and the
    other one what leaves the imaginary part."""
    real, imaginary = tfl.real(x), tfl.imag(x)
    large = tfl.sqrt(tfl.mul(tfl.add(tfl.complex_abs(x), tfl.abs_(real)), 0.5))
    small = select(tfl, tfl.equal(large, 0.0), 0, tfl.div(tfl.mul(tfl.abs_(imaginary), 0.5), large))
    right = tfl.greater_equal(real, 0.0)
    # -0 counts: the root of -1 - 0i is -i.
    below = tfl.less(tfl.bitcast(imaginary, results=[(types.INT32, x.shape)]), 0)
    height = select(tfl, right, small, large)
    turned = select(tfl, below, tfl.neg(height), height)
    return complex_from_parts(tfl, select(tfl, right, large, small), turned)


def reciprocal_of_root(tfl: Lowering, x: Value) -> Value:
    """Return 1 / sqrt(x) of complex numbers."""
    return quotient(tfl, scalar(1, x.dtype), root(tfl, x))


def power(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return x to the power of y of complex numbers: exp(y * log(x)), and 0 to the power of what is above 0."""
    above = tfl.greater(tfl.real(y), 0.0) if y.data is None else tfl.const(np.real(y.data) > 0)
    made = exponential(tfl, elementwise(tfl, "MUL", y, logarithm(tfl, x)))
    return select(tfl, elementwise(tfl, "LOGICAL_AND", is_zero(tfl, x), above), 0, made)


def cosh(tfl: Lowering, x: Value) -> Value:
    """Return cosh of float32."""
    # The halves of the exponents: exp(x) overflows where cosh(x) does not yet.
    half = tfl.mul(x, 0.5)
    up, down = tfl.exp(half), tfl.exp(tfl.neg(half))
    return tfl.add(tfl.mul(tfl.mul(up, 0.5), up), tfl.mul(tfl.mul(down, 0.5), down))


def sinh(tfl: Lowering, x: Value) -> Value:
    """Return sinh of float32: tanh(x) * cosh(x)."""
    return tfl.mul(tfl.tanh(x), cosh(tfl, x))


def sine(tfl: Lowering, x: Value) -> Value:
    """Return sin of complex numbers a + bi: sin(a) cosh(b) + i cos(a) sinh(b)."""
    a, b = tfl.real(x), tfl.imag(x)
    return complex_from_parts(tfl, tfl.mul(tfl.sin(a), cosh(tfl, b)), tfl.mul(tfl.cos(a), sinh(tfl, b)))


def cosine(tfl: Lowering, x: Value) -> Value:
    """Return cos of complex numbers a + bi: cos(a) cosh(b) - i sin(a) sinh(b)."""
    a, b = tfl.real(x), tfl.imag(x)
    return complex_from_parts(tfl, tfl.mul(tfl.cos(a), cosh(tfl, b)), tfl.neg(tfl.mul(tfl.sin(a), sinh(tfl, b))))


def hyperbolic_sine(tfl: Lowering, x: Value) -> Value:
    """Return sinh of complex numbers a + bi: sinh(a) cos(b) + i cosh(a) sin(b)."""
    a, b = tfl.real(x), tfl.imag(x)
    return complex_from_parts(tfl, tfl.mul(sinh(tfl, a), tfl.cos(b)), tfl.mul(cosh(tfl, a), tfl.sin(b)))


def hyperbolic_cosine(tfl: Lowering, x: Value) -> Value:
    """Return cosh of complex numbers a + bi: cosh(a) cos(b) + i sinh(a) sin(b)."""
    a, b = tfl.real(x), tfl.imag(x)
    return complex_from_parts(tfl, tfl.mul(cosh(tfl, a), tfl.cos(b)), tfl.mul(sinh(tfl, a), tfl.sin(b)))


def hyperbolic_tangent(tfl: Lowering, x: Value) -> Value:
    """Return tanh of complex numbers a + bi: (tanh(a) + i tan(b)) / (1 + i tanh(a) tan(b)), which cannot overflow."""
    return _tangents(tfl, tfl.tanh(tfl.real(x)), _tangent(tfl, tfl.imag(x)), 1.0)


def tangent(tfl: Lowering, x: Value) -> Value:
    """Return tan of complex numbers a + bi: (tan(a) + i tanh(b)) / (1 - i tan(a) tanh(b)), which cannot overflow."""
    return _tangents(tfl, _tangent(tfl, tfl.real(x)), tfl.tanh(tfl.imag(x)), -1.0)


def logistic(tfl: Lowering, x: Value) -> Value:
    """Return 1 / (1 + exp(-x)) of complex numbers: (1 + tanh(x / 2)) / 2."""
    half = scalar(0.5, x.dtype)
    turned = hyperbolic_tangent(tfl, elementwise(tfl, "MUL", x, half))
    return elementwise(tfl, "ADD", elementwise(tfl, "MUL", turned, half), half)


def _tangent(tfl: Lowering, x: Value) -> Value:
    return tfl.div(tfl.sin(x), tfl.cos(x))


def _tangents(tfl: Lowering, real: Value, imaginary: Value, sign: float) -> Value:
    """Return (real + i imaginary) / (1 + i sign real imaginary)."""
    slope = tfl.mul(tfl.mul(real, imaginary), sign)
    one = tfl.add(tfl.mul(slope, 0.0), 1.0)
    return quotient(tfl, complex_from_parts(tfl, real, imaginary), complex_from_parts(tfl, one, slope))
