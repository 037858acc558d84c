"""Lowering of complex numbers: their parts, and functions composed of them."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import shape_of
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.type_promotion import complex_from_parts, conjugate


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
