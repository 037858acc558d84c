"""Arithmetic on two operands that broadcast."""

from __future__ import annotations

import functools

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.complex import is_zero, power, quotient
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import shape_of
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, scalar, select
from fuseconv.lower.support.type_promotion import cast, conjugate, promote
from fuseconv.tf.operands import is_kept_from_zero
from fuseconv.tfl.kernel_limits import BROADCAST_RANK, TYPES

_LONG = (types.INT64, types.UINT32)
# A power of two, below zero, for which LEAKY_RELU is a product.
_BELOW = -8.0
# TF ops, and the TFLite ops that compute the same.
_KERNELS = {
    "Add": "ADD", "AddV2": "ADD", "Atan2": "ATAN2", "FloorMod": "FLOOR_MOD", "Maximum": "MAXIMUM",
    "Minimum": "MINIMUM", "Mul": "MUL", "Sub": "SUB",
}  # fmt: skip


@lowers(*_KERNELS)
def OneKernel(tfl, x, y):
    """The op of the same name. The larger and the smaller of NaN and a number are not specified."""
    return elementwise(tfl, _KERNELS[tfl.source.type], x, y)


@lowers
def AddN(tfl, *inputs):
    """ADD of two, ADD_N of more."""
    if len(inputs) > 2 and inputs[0].dtype in TYPES["ADD_N"]:
        return tfl.add_n(*inputs)
    return functools.reduce(lambda x, y: elementwise(tfl, "ADD", x, y), inputs)


@lowers
def MulNoNan(tfl, x, y):
    """x * y, and 0 where y is 0 whatever x is."""
    return select(tfl, is_zero(tfl, y), 0, elementwise(tfl, "MUL", x, y))


@lowers
def DivNoNan(tfl, x, y):
    """x / y, and 0 where y is 0."""
    divided = quotient(tfl, x, y) if x.dtype is types.COMPLEX64 else elementwise(tfl, "DIV", x, y)
    if y.data is not None and y.data.all():
        return divided
    return select(tfl, is_zero(tfl, y), 0, divided)


@lowers
def Xdivy(tfl, x, y):
    """x / y, and 0 where x is 0."""
    return unless_zero(tfl, x, elementwise(tfl, "DIV", x, y))


@lowers("Div", "RealDiv", "TruncateDiv")
def Div(tfl, x, y):
    """DIV; integers are divided toward zero, and so does TruncateDiv round. int64 is divided in float32 and corrected
    until it is exact; complex numbers are multiplied with the conjugate."""
    if x.dtype is types.COMPLEX64:
        return quotient(tfl, x, y)
    if x.dtype.is_float and tfl.source.type == "TruncateDiv":
        fraction = elementwise(tfl, "DIV", x, y)
        negative = elementwise(tfl, "LESS", fraction, 0)
        return select(tfl, negative, elementwise(tfl, "CEIL", fraction), elementwise(tfl, "FLOOR", fraction))
    if x.dtype in _LONG:
        return cast(tfl, _quotient(tfl, cast(tfl, x, types.INT64), cast(tfl, y, types.INT64)), tfl.dtype)
    return elementwise(tfl, "DIV", x, y)


@lowers
def FloorDiv(tfl, x, y):
    """FLOOR_DIV of integers; FLOOR of DIV of floats, since FLOOR_DIV fails where a divisor is 0."""
    if x.dtype.is_float:
        return elementwise(tfl, "FLOOR", elementwise(tfl, "DIV", x, y))
    if x.dtype in _LONG:
        return cast(tfl, floor_quotient(tfl, cast(tfl, x, types.INT64), cast(tfl, y, types.INT64)), tfl.dtype)
    return elementwise(tfl, "FLOOR_DIV", x, y)


@lowers("Mod", "TruncateMod")
def Mod(tfl, x, y):
    """Remainder of a division that truncates toward zero: FLOOR_MOD, moved to the sign of x."""
    if x.dtype.is_float:
        # The rest of the absolute values is exact.
        rest = elementwise(tfl, "FLOOR_MOD", elementwise(tfl, "ABS", x), elementwise(tfl, "ABS", y))
        return select(tfl, elementwise(tfl, "LESS", x, 0), elementwise(tfl, "NEG", rest), rest)
    return _truncated_mod(tfl, x, y)


@lowers
def ClipByValue(tfl, x, low, high):
    """MINIMUM and MAXIMUM."""
    return elementwise(tfl, "MAXIMUM", elementwise(tfl, "MINIMUM", x, high), low)


@lowers
def Pow(tfl, x, y):
    """POW; products, SQRT, RSQRT or DIV where the exponent is a small constant. Integers, which wrap around in
    TensorFlow, are multiplied and squared: in a WHILE if the exponents are no constant."""
    plain = y.is_const and y.rank == 0 and not np.imag(y.data)
    exponent = float(np.real(y.data.reshape(()))) if plain else None
    if exponent in (1.0, 2.0, 3.0):
        return functools.reduce(lambda a, b: elementwise(tfl, "MUL", a, b), [x] * int(exponent))
    if x.dtype is types.COMPLEX64:
        return power(tfl, x, y)
    if x.dtype.is_integer:
        x, y = (promote(tfl, v, (types.INT32, types.INT64)) for v in (x, y))
        return cast(tfl, _integer_power(tfl, x, y), tfl.dtype)
    if x.dtype.is_float and exponent in (0.5, -0.5):
        return elementwise(tfl, "SQRT", x) if exponent > 0 else reciprocal_root(tfl, x)
    if x.dtype.is_float and exponent == -1.0:
        return reciprocal(tfl, x)
    return elementwise(tfl, "POW", x, y)


@lowers
def SquaredDifference(tfl, x, y):
    """SQUARED_DIFFERENCE; SUB and MUL of types, and of numbers of dimensions, that it lacks; a complex number is
    multiplied with its conjugate."""
    few = max(x.rank or 0, y.rank or 0) <= BROADCAST_RANK["SQUARED_DIFFERENCE"]
    if x.dtype is types.INT32 or (x.dtype is types.FLOAT32 and few):
        return elementwise(tfl, "SQUARED_DIFFERENCE", x, y)
    difference = elementwise(tfl, "SUB", x, y)
    other = conjugate(tfl, difference) if x.dtype.is_complex else difference
    return elementwise(tfl, "MUL", other, difference)


@lowers
def Cross(tfl, a, b):
    """MUL and SUB of the components in their cyclic orders, by GATHER."""
    last = len(shape_of(a)) - 1

    def turned(x: Value, order: list[int]) -> Value:
        return build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, order, axis=last), x)

    forward = elementwise(tfl, "MUL", turned(a, [1, 2, 0]), turned(b, [2, 0, 1]))
    return elementwise(tfl, "SUB", forward, elementwise(tfl, "MUL", turned(a, [2, 0, 1]), turned(b, [1, 2, 0])))


@lowers
def AccumulateNV2(tfl, *inputs, shape=None):
    """ADD of two, ADD_N of more."""
    return AddN(tfl, *inputs)


def unless_zero(tfl: Lowering, x: Value, made: Value) -> Value:
    """Return what is made of x, and 0 where x is 0: x itself if it has the shape, as SELECT_V2 takes twice as long to
    broadcast a number. Of a constant that is 0 nowhere, nothing is to be chosen."""
    if x.data is not None and np.all(x.data != 0):
        return made
    zero = x if x.shape is not None and x.shape == made.shape else 0
    return select(tfl, elementwise(tfl, "EQUAL", x, 0), zero, made)


def reciprocal_root(tfl: Lowering, x: Value) -> Value:
    """Return 1 / sqrt(x) of floats: RSQRT; DIV by SQRT where x may be 0, of which XNNPACK's RSQRT makes NaN.

    Where no delegate runs, DIV ends at the largest number. So the quotient is made -8 times as small, and LEAKY_RELU,
    which has no such bound, multiplies by that: no digit is lost, and of 0 comes infinity."""
    if is_kept_from_zero(x):
        return elementwise(tfl, "RSQRT", x)
    root = elementwise(tfl, "SQRT", promote(tfl, x, (types.FLOAT32,)))
    below = elementwise(tfl, "DIV", scalar(1 / _BELOW, types.FLOAT32), root)
    return cast(tfl, tfl.leaky_relu(below, alpha=_BELOW), x.dtype)


def reciprocal(tfl: Lowering, x: Value) -> Value:
    """Return 1 / x."""
    if x.dtype is types.COMPLEX64:
        return quotient(tfl, scalar(1, x.dtype), x)
    return elementwise(tfl, "DIV", scalar(1, x.dtype), x)


def _integer_power(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return x to the power of y, int32 or int64: the product of x^1, x^2, x^4, ... for the bits of y. TensorFlow fails
    where y is negative."""
    one = elementwise(tfl, "ADD", elementwise(tfl, "MUL", elementwise(tfl, "ADD", x, y), 0), 1)
    if y.is_const and y.rank == 0:
        exponent, total = int(y.data), None  # type: ignore[arg-type]
        require(exponent >= 0, f"TensorFlow takes no integer to the power of {exponent}")
        while exponent:
            if exponent & 1:
                total = x if total is None else elementwise(tfl, "MUL", total, x)
            exponent >>= 1
            x = elementwise(tfl, "MUL", x, x) if exponent else x
        return one if total is None else total

    def more(tfl: Lowering, bit: Value, most: Value, *_: Value) -> Value:
        # After the last bit comes the lowest negative number.
        return tfl.logical_and(tfl.greater(bit, 0), tfl.less_equal(bit, most))

    def once(tfl: Lowering, bit: Value, most: Value, y: Value, power: Value, total: Value) -> list[Value]:
        takes = elementwise(tfl, "NOT_EQUAL", elementwise(tfl, "STABLEHLO_AND", y, bit), 0)
        total = select(tfl, takes, elementwise(tfl, "MUL", total, power), total)
        return [tfl.add(bit, bit), most, y, elementwise(tfl, "MUL", power, power), total]

    most = tfl.reduce_max(tfl.reshape(y, [-1]), [0])
    return tfl.loop(more, once, [scalar(1, y.dtype), most, y, x, one])[-1]


def _truncated_mod(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return the remainder of an integer division that truncates toward zero; it has the sign of x."""
    rest = elementwise(tfl, "FLOOR_MOD", x, y)
    if x.dtype.numpy.kind == "u":
        return rest
    beyond = elementwise(tfl, "LOGICAL_AND", elementwise(tfl, "NOT_EQUAL", rest, 0), _signs_differ(tfl, rest, x))
    return select(tfl, beyond, elementwise(tfl, "SUB", rest, y), rest)


def _quotient(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return x / y of int64, toward zero."""
    left = elementwise(tfl, "SUB", x, _truncated_mod(tfl, x, y))
    divisor = cast(tfl, y, types.FLOAT32)
    steps = []
    # y divides what is left, and a step in float32 leaves less than 2^-22 of the quotient: the third step is exact.
    for _ in range(3):
        step = elementwise(tfl, "ROUND", elementwise(tfl, "DIV", cast(tfl, left, types.FLOAT32), divisor))
        steps.append(cast(tfl, step, types.INT64))
        left = elementwise(tfl, "SUB", left, elementwise(tfl, "MUL", steps[-1], y))
    return functools.reduce(lambda a, b: elementwise(tfl, "ADD", a, b), steps)


def floor_quotient(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return x / y of int64, rounded down: one less than toward zero where that cut off a negative fraction."""
    quotient = _quotient(tfl, x, y)
    inexact = elementwise(tfl, "NOT_EQUAL", elementwise(tfl, "MUL", quotient, y), x)
    below = elementwise(tfl, "LOGICAL_AND", inexact, _signs_differ(tfl, x, y))
    return elementwise(tfl, "SUB", quotient, cast(tfl, below, types.INT64))


def _signs_differ(tfl: Lowering, x: Value, y: Value) -> Value:
    return elementwise(tfl, "NOT_EQUAL", elementwise(tfl, "LESS", x, 0), elementwise(tfl, "LESS", y, 0))
