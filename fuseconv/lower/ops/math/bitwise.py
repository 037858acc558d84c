"""Arithmetic on the bits of numbers."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.arithmetic import floor_quotient
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import shape_of
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.type_promotion import cast, in_float32


@lowers
def BitwiseAnd(tfl, x, y):
    """STABLEHLO_AND."""
    return elementwise(tfl, "STABLEHLO_AND", x, y)


@lowers
def BitwiseOr(tfl, x, y):
    """x + y less the bits that both have."""
    return _without_common(tfl, x, y, 1)


@lowers
def BitwiseXor(tfl, x, y):
    """BITWISE_XOR; of int64 x + y less twice the bits that both have."""
    return _without_common(tfl, x, y, 2) if x.dtype is types.INT64 else elementwise(tfl, "BITWISE_XOR", x, y)


@lowers
def Invert(tfl, x):
    """-1 - x of signed integers, the largest number less x of unsigned ones."""
    require(x.dtype is not types.UINT64, "TFLite has no arithmetic on uint64")
    return elementwise(tfl, "SUB", -1 if x.dtype.numpy.kind == "i" else np.iinfo(x.dtype.numpy).max, x)


@lowers
def LeftShift(tfl, x, y):
    """MUL with a power of two, which is gathered from a table."""
    require(x.dtype is not types.UINT64, "TFLite has no arithmetic on uint64")
    wide = types.INT64 if x.dtype in (types.INT64, types.UINT32) else types.INT32
    powers = np.left_shift(np.ones((), wide.numpy), np.arange(np.iinfo(x.dtype.numpy).bits)).astype(wide.numpy)
    power = tfl.gather(powers, cast(tfl, _count(tfl, x, y), types.INT32))
    return cast(tfl, elementwise(tfl, "MUL", cast(tfl, x, wide), power), x.dtype)


@lowers
def RightShift(tfl, x, y):
    """RIGHT_SHIFT, which cuts the distance to the bits that there are, as TensorFlow does; int64 is divided by a power
    of two."""
    if x.dtype is not types.INT64:
        return elementwise(tfl, "RIGHT_SHIFT", x, y)
    count = _count(tfl, x, y)
    # There is no 2^63; what so long a shift leaves of a number is its sign.
    powers = np.left_shift(np.ones((), np.int64), np.arange(63))
    divisor = tfl.gather(powers, cast(tfl, elementwise(tfl, "MINIMUM", count, 62), types.INT32))
    sign = tfl.neg(cast(tfl, elementwise(tfl, "LESS", x, 0), types.INT64))
    return select(tfl, elementwise(tfl, "LESS", count, 63), floor_quotient(tfl, x, divisor), sign)


@lowers
def PopulationCount(tfl, x):
    """SUM of the bits of each byte, which GATHER takes from a table."""
    dims = shape_of(x)
    size = x.dtype.numpy.itemsize
    octets = tfl.bitcast(x, results=[(types.UINT8, dims if size == 1 else (*dims, size))])
    table = np.array([byte.bit_count() for byte in range(256)], np.int32)
    ones = tfl.gather(table, cast(tfl, octets, types.INT32), axis=0)
    return cast(tfl, ones if size == 1 else tfl.sum(ones, [len(dims)]), types.UINT8)


@lowers
@in_float32
def NextAfter(tfl, x, y):
    """Return x with its bits, as an integer, 1 more where y lies further from zero, else 1 less; from zero the least
    number of y's sign."""
    bits = tfl.bitcast(x, results=[(types.INT32, x.shape)])
    rises = elementwise(tfl, "GREATER", y, x)
    outwards = elementwise(tfl, "EQUAL", rises, elementwise(tfl, "GREATER", x, 0))
    one = scalar(1, types.INT32)
    moved = elementwise(tfl, "ADD", bits, select(tfl, outwards, one, -1))
    least = select(tfl, elementwise(tfl, "GREATER", y, 0), one, np.iinfo(np.int32).min + 1)
    moved = select(tfl, elementwise(tfl, "EQUAL", x, 0), least, moved)
    apart = elementwise(tfl, "LOGICAL_OR", rises, elementwise(tfl, "GREATER", x, y))
    # Where neither is greater they are equal, or one is no number.
    other = select(tfl, elementwise(tfl, "EQUAL", x, x), y, x)
    return select(tfl, apart, tfl.bitcast(moved, results=[(types.FLOAT32, moved.shape)]), other)


def _count(tfl: Lowering, x: Value, y: Value) -> Value:
    """Return how far to shift: TensorFlow cuts it to the bits that the type has."""
    return elementwise(tfl, "MINIMUM", elementwise(tfl, "MAXIMUM", y, 0), np.iinfo(x.dtype.numpy).bits - 1)


def _without_common(tfl: Lowering, x: Value, y: Value, times: int) -> Value:
    common = elementwise(tfl, "STABLEHLO_AND", x, y)
    either = elementwise(tfl, "ADD", x, y)
    for _ in range(times):
        either = elementwise(tfl, "SUB", either, common)
    return either
