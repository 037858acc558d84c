"""Complex numbers: their parts, and what is composed of them."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import complex_of, conjugate
from fuseconv.lower.native import elementwise, scalar, select
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.shapes import shape_of

_MOVES = frozenset({"Reshape", "Transpose", "ExpandDims", "Squeeze", "StridedSlice", "Slice", "GatherV2", "Identity"})


@lowers
def Real(tfl, x):
    """REAL."""
    return tfl.real(x) if x.dtype.is_complex else x


@lowers
def Imag(tfl, x):
    """IMAG."""
    require(x.dtype.is_complex, "a real number has no imaginary part in TFLite")
    is_measured = any(reader.kind == "tfl.ATAN2" for reader in tfl.source.result.uses)
    return _imaginary(tfl, x) if is_measured else tfl.imag(x)


@lowers
def ComplexAbs(tfl, x):
    """COMPLEX_ABS."""
    return tfl.complex_abs(x)


@lowers
def Angle(tfl, x):
    """ATAN2 of IMAG and REAL."""
    require(x.dtype.is_complex, "the angle of a real number is not composed")
    return elementwise(tfl, "ATAN2", _imaginary(tfl, x), tfl.real(x))


def _imaginary(tfl: Lowering, x: Value) -> Value:
    """IMAG, to take an angle of. The ends of a real signal's spectrum are real: TensorFlow gives them the imaginary
    part 0, and RFFT2D -0, which turns an angle of pi into -pi."""
    source = x
    while source.op is not None and source.op.type in _MOVES and source.op.operands[0] is not None:
        source = source.op.operands[0]
    is_spectrum = source.op is not None and source.op.type in ("RFFT", "RFFT2D")
    return tfl.add(tfl.imag(x), 0.0) if is_spectrum else tfl.imag(x)


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
    return complex_of(tfl, real, imag)


def quotient(tfl: Lowering, x: Value, y: Value) -> Value:
    """x / y of complex numbers: the product with the conjugate over the square of the length."""
    product = elementwise(tfl, "MUL", x, conjugate(tfl, y))
    real, imaginary = tfl.real(y), tfl.imag(y)
    length = tfl.add(tfl.mul(real, real), tfl.mul(imaginary, imaginary))
    return complex_of(tfl, *[elementwise(tfl, "DIV", part(product), length) for part in (tfl.real, tfl.imag)])


def exponential(tfl: Lowering, x: Value) -> Value:
    """exp of complex numbers: its length is that of the real part, its angle the imaginary part."""
    length, angle = tfl.exp(tfl.real(x)), tfl.imag(x)
    return complex_of(tfl, tfl.mul(length, tfl.cos(angle)), tfl.mul(length, tfl.sin(angle)))
