"""Ops that compute each element by itself -> the `tf` ops of the same meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.bits import as_bits, narrowed, narrowed_together
from fuseconv.load.stablehlo.ops.interleave import interleaved
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, number, refuse_unless, tensor_type, text
from fuseconv.load.stablehlo.spelled_out import ordered_number, spelled_function
from fuseconv.tf.traits import RESHAPES

SAME = {
    "abs": "Abs", "add": "AddV2", "atan2": "Atan2", "ceil": "Ceil", "cosine": "Cos", "exponential": "Exp",
    "exponential_minus_one": "Expm1", "floor": "Floor", "log": "Log", "log_plus_one": "Log1p", "logistic": "Sigmoid",
    "maximum": "Maximum", "minimum": "Minimum", "multiply": "Mul", "negate": "Neg",
    "round_nearest_even": "Round", "rsqrt": "Rsqrt", "sign": "Sign", "sine": "Sin", "sqrt": "Sqrt",
    "subtract": "Sub", "tan": "Tan", "tanh": "Tanh",
}  # fmt: skip
# What has the same bits of signed numbers as of unsigned ones.
_SIGNLESS = {"add", "multiply", "negate", "subtract"}
_BINARY = {"add", "atan2", "maximum", "minimum", "multiply", "subtract"}
# What broadcasts its operands by itself in `tf`; in StableHLO all have the shape of the result.
BROADCASTING = _BINARY | {"and", "clamp", "compare", "divide", "or", "power", "remainder", "select", "xor"}
_LOGICAL = {"and": "LogicalAnd", "or": "LogicalOr", "xor": "NotEqual", "not": "LogicalNot"}
_BITWISE = {"and": "BitwiseAnd", "or": "BitwiseOr", "xor": "BitwiseXor", "not": "Invert"}
_BOOLEAN = {"add": "LogicalOr", "maximum": "LogicalOr", "multiply": "LogicalAnd", "minimum": "LogicalAnd"}
_COMPARISONS = {
    "EQ": "Equal", "NE": "NotEqual", "GE": "GreaterEqual", "GT": "Greater", "LE": "LessEqual", "LT": "Less",
}  # fmt: skip
_SIGNLESS_COMPARISONS = {"EQ", "NE"}
_UNSIGNED = {types.INT8: types.UINT8, types.INT16: types.UINT16, types.INT32: types.UINT32, types.INT64: types.UINT64}
_SIGNED = {unsigned: signed for signed, unsigned in _UNSIGNED.items()}


@imports(*SAME)
def same(tf: Scope, op: Operation, *operands: Value) -> Value:
    """add(x, y) -> AddV2(x, y)."""
    if len(operands) != (2 if op.name in _BINARY else 1):
        raise DamagedError(f"{op.name} has {len(operands)} operands")
    if op.name == "add" and (made := interleaved(tf, op)) is not None:
        return made
    if operands[0].dtype is types.BOOL:
        refuse_unless(op.name in _BOOLEAN, f"there is no {op.name} of booleans")
        return tf.add(_BOOLEAN[op.name], operands, {}, types.BOOL)
    if op.name in _SIGNLESS:
        signed = [narrowed(tf, x) for x in operands]
        return as_bits(tf, tf.add(SAME[op.name], signed, {}, signed[0].dtype), operands[0].dtype)
    name = "ComplexAbs" if op.name == "abs" and operands[0].dtype.is_complex else SAME[op.name]
    return tf.add(name, operands, {}, tensor_type(op.results[0]).dtype)


@imports
def power(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    """Pow(x, y). What negative exponents make of integers is cut to a whole number: 0, but of 1 and -1."""
    if not x.dtype.is_integer or x.dtype in _SIGNED or (y.is_const and np.all(y.data >= 0)):  # type: ignore[operator]
        return tf.Pow(x, y)
    zero, one, minus = (tf.same(number, x) for number in (0, 1, -1))
    odd = tf.NotEqual(tf.BitwiseAnd(y, one), zero, dtype=types.BOOL)
    of_minus = tf.SelectV2(odd, minus, one, dtype=x.dtype)
    rest = tf.SelectV2(tf.Equal(x, minus, dtype=types.BOOL), of_minus, zero, dtype=x.dtype)
    inverse = tf.SelectV2(tf.Equal(x, one, dtype=types.BOOL), one, rest, dtype=x.dtype)
    negative = tf.Less(y, zero, dtype=types.BOOL)
    return tf.SelectV2(negative, inverse, tf.Pow(x, tf.Maximum(y, zero)), dtype=x.dtype)


@imports("and", "or", "xor", "not")
def logic(tf: Scope, op: Operation, *operands: Value) -> Value:
    """and(x, y) -> LogicalAnd(x, y) of booleans, BitwiseAnd(x, y) of integers."""
    if len(operands) != (1 if op.name == "not" else 2):
        raise DamagedError(f"{op.name} has {len(operands)} operands")
    if op.name == "or" and (joined := interleaved(tf, op)) is not None:
        return joined
    names = _LOGICAL if operands[0].dtype is types.BOOL else _BITWISE
    made = narrowed_together(tf, *operands)
    return as_bits(tf, tf.add(names[op.name], made, {}, made[0].dtype), operands[0].dtype)


@imports
def divide(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    """x / y, toward zero of integers. What StableHLO leaves open is as in XLA: x / 0 has all bits set, and the least
    number / -1 is itself."""
    if not x.dtype.is_integer:
        return tf.RealDiv(x, y)
    if _divides_all(y):
        return tf.TruncateDiv(x, y)
    zero, minus, divisor = _guarded(tf, y)
    if minus is not None:
        x = tf.SelectV2(minus, tf.Neg(x), x, dtype=x.dtype)
    every_bit = tf.same(-1 if x.dtype.numpy.kind == "i" else np.iinfo(x.dtype.numpy).max, x)
    return tf.SelectV2(zero, every_bit, tf.TruncateDiv(x, divisor), dtype=x.dtype)


@imports
def remainder(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    """What is left of a division toward zero: x where the divisor is 0."""
    if not x.dtype.is_integer or _divides_all(y):
        return tf.TruncateMod(x, y)
    zero, _, divisor = _guarded(tf, y)
    return tf.SelectV2(zero, x, tf.TruncateMod(x, divisor), dtype=x.dtype)


def _divides_all(y: Value) -> bool:
    """Return whether TFLite's kernels, which fail at 0 and trap at the least number / -1, divide all integers by y."""
    if y.data is not None:
        return bool(np.all((y.data != 0) & (y.data != -1)))
    size = y  # of a tensor, taken out of its shape
    while size.op is not None and (size.op.kind in RESHAPES or size.op.type in ("Cast", "StridedSlice", "BroadcastTo")):
        size = size.op.operands[0]  # type: ignore[assignment]
    return y.dtype is types.UINT64 or (size.op is not None and size.op.kind == "tf.Shape")


def _guarded(tf: Scope, y: Value) -> tuple[Value, Value | None, Value]:
    """Return where y is 0; where it is -1, if that may overflow; and y with 1 in these places."""
    zero = tf.Equal(y, tf.same(0, y), dtype=types.BOOL)
    if y.dtype not in (types.INT32, types.INT64):
        return zero, None, tf.SelectV2(zero, tf.same(1, y), y, dtype=y.dtype)
    minus = tf.Equal(y, tf.same(-1, y), dtype=types.BOOL)
    return zero, minus, tf.SelectV2(tf.LogicalOr(zero, minus), tf.same(1, y), y, dtype=y.dtype)


@imports
def compare(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    """compare(x, y), LT -> Less(x, y); Less(order(x), order(y)) in the total order of floats."""
    kind = op.attribute("compare_type") if op.has("compare_type") else "NOTYPE"
    direction = text(op.attribute("comparison_direction"))
    if kind == "TOTALORDER":
        numbers = [ordered_number(operand) for operand in op.operands]
        if all(numbers) and direction in ("LE", "LT"):
            return _with_nan_last(tf, direction, *(tf.value(each) for each in numbers if each is not None))
        refuse_unless(x.dtype is types.FLOAT32, f"numbers of type {x.dtype} are compared in the total order")
        x, y = total_order(tf, x), total_order(tf, y)
    if direction in _SIGNLESS_COMPARISONS:
        x, y = narrowed(tf, x), narrowed(tf, y)
    return tf.add(_COMPARISONS[direction], [x, y], {}, types.BOOL)


def _with_nan_last(tf: Scope, direction: str, x: Value, y: Value) -> Value:
    """Return whether x is less than y, or less or equal, where NaN is the largest number, and equals NaN."""
    less = tf.add(_COMPARISONS[direction], [x, y], {}, types.BOOL)
    below = tf.NotEqual(y, y, dtype=types.BOOL)
    if direction == "LT":
        below = tf.LogicalAnd(below, tf.Equal(x, x, dtype=types.BOOL))
    return tf.LogicalOr(less, below)


def total_order(tf: Scope, x: Value) -> Value:
    """Return integers in the order in which float32 is compared: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    bits = tf.Bitcast(x, dtype=types.INT32)
    reversed_ = tf.BitwiseXor(bits, np.int32(0x7FFFFFFF))  # of negative numbers, whose bits grow with their size
    return tf.SelectV2(tf.Less(bits, np.int32(0), dtype=types.BOOL), reversed_, bits, dtype=types.INT32)


@imports
def select(tf: Scope, op: Operation, condition: Value, x: Value, y: Value) -> Value:
    """select(c, x, y) -> SelectV2(c, x, y), or the function that it is the end of."""
    spelled = spelled_function(op)
    if spelled is not None:
        name, of = spelled
        return tf.add(name, [tf.value(of)], {}, x.dtype)
    one, other = narrowed_together(tf, x, y)
    return as_bits(tf, tf.SelectV2(condition, one, other, dtype=one.dtype), x.dtype)


@imports
def clamp(tf: Scope, op: Operation, low: Value, x: Value, high: Value) -> Value:
    """clamp(low, x, high) -> Minimum(Maximum(x, low), high)."""
    return tf.Minimum(tf.Maximum(x, low), high)


@imports
def convert(tf: Scope, op: Operation, x: Value) -> Value:
    """convert(x) -> Cast(x); Real first where a complex number becomes another."""
    made = tensor_type(op.results[0]).dtype
    if x.dtype is made:
        return tf.Identity(x)
    if x.dtype.is_complex and not made.is_complex:
        x = tf.Real(x, dtype=_part(x))
    known = x.is_const or (x.op is not None and x.op.kind == "tf.Bitcast")
    if {x.dtype, made} == {types.INT32, types.UINT32} and known:
        return as_bits(tf, x, made)
    if made.is_integer and x.dtype is types.UINT64:
        x = narrowed(tf, x)  # the low bits are the same
    if made is types.UINT64 and x.dtype.is_integer:
        return as_bits(tf, x if x.dtype is types.INT64 else tf.Cast(x, dtype=types.INT64), made)
    return tf.Cast(x, dtype=made)


@imports
def bitcast_convert(tf: Scope, op: Operation, x: Value) -> Value:
    made = tensor_type(op.results[0]).dtype
    refuse_unless(types.BOOL not in (x.dtype, made), "TFLite keeps a boolean in a byte, not in a bit")
    return tf.Bitcast(x, dtype=made)


@imports
def reduce_precision(tf: Scope, op: Operation, x: Value) -> Value:
    """Round to so many bits of the mantissa, halves to even; what is then too large is infinite, what is too small 0.

    To the bits of bfloat16 it is a cast, and back."""
    exponent, mantissa = (number(op.attribute(f"{name}_bits")) for name in ("exponent", "mantissa"))
    refuse_unless(x.dtype is types.FLOAT32 and exponent, f"numbers of type {x.dtype} are rounded to {mantissa} bits")
    if exponent >= 8 and mantissa == 7:
        return tf.Cast(tf.Cast(x, dtype=types.BFLOAT16), dtype=types.FLOAT32)
    lost = max(23 - mantissa, 0)
    made = _rounded(tf, x, lost) if lost else tf.Identity(x)
    if exponent >= 8:
        return made
    bias = (1 << (exponent - 1)) - 1
    least = np.float32(2.0) ** (1 - bias)
    most = np.float32((2 - 2.0 ** -min(mantissa, 23)) * 2.0**bias)
    size, sign = tf.Abs(made), tf.Mul(x, tf.same(0, x))
    small = tf.Less(size, tf.const(least, types.FLOAT32), dtype=types.BOOL)
    large = tf.Greater(size, tf.const(most, types.FLOAT32), dtype=types.BOOL)
    made = tf.SelectV2(small, sign, made, dtype=x.dtype)
    # Chosen: LiteRT's kernel of MUL makes the largest number of what is infinite.
    below = tf.Less(x, tf.same(0, x), dtype=types.BOOL)
    infinite = tf.SelectV2(below, tf.same(-np.inf, x), tf.same(np.inf, x), dtype=x.dtype)
    return tf.SelectV2(large, infinite, made, dtype=x.dtype)


def _rounded(tf: Scope, x: Value, lost: int) -> Value:
    """Return float32 without the lowest bits, to the nearest, halves to even; what is no finite number as it is."""
    bits = tf.Bitcast(x, dtype=types.INT32)
    odd = tf.BitwiseAnd(tf.RightShift(bits, tf.const(lost), dtype=types.INT32), tf.const(1))
    up = tf.AddV2(odd, tf.const((1 << (lost - 1)) - 1))
    kept = tf.BitwiseAnd(tf.AddV2(bits, up), tf.const(-(1 << lost)))
    finite = tf.IsFinite(x, dtype=types.BOOL)
    return tf.SelectV2(finite, tf.Bitcast(kept, dtype=types.FLOAT32), x, dtype=x.dtype)


@imports
def round_nearest_afz(tf: Scope, op: Operation, x: Value) -> Value:
    """The nearest whole number, halves away from zero."""
    size = tf.Abs(x)
    whole = tf.Floor(size)
    up = tf.GreaterEqual(tf.Sub(size, whole), tf.same(0.5, x), dtype=types.BOOL)
    return tf.Mul(tf.Sign(x), tf.AddV2(whole, tf.Cast(up, dtype=x.dtype)))


@imports
def cbrt(tf: Scope, op: Operation, x: Value) -> Value:
    """sign(x) * |x| ^ (1/3)."""
    return tf.Mul(tf.Sign(x), tf.Pow(tf.Abs(x), tf.same(1 / 3, x)))


@imports
def is_finite(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.IsFinite(x, dtype=types.BOOL)


@imports
def shift_left(tf: Scope, op: Operation, x: Value, bits: Value) -> Value:
    """x << bits, and 0 where there are no more than so many bits."""
    if x.dtype in (types.UINT32, types.UINT64):
        return _shifted_as_signed(tf, shift_left, op, x, bits)
    return tf.SelectV2(_in_range(tf, bits), tf.LeftShift(x, bits), tf.same(0, x), dtype=x.dtype)


@imports
def shift_right_logical(tf: Scope, op: Operation, x: Value, bits: Value) -> Value:
    """RightShift of the unsigned number of the same bits, and 0 where there are no more than so many; of int64 the
    RightShift that keeps the sign, whose bits are then taken away."""
    if x.dtype is types.UINT64:
        return _shifted_as_signed(tf, shift_right_logical, op, x, bits)
    if x.dtype is types.INT64:
        by = tf.Minimum(tf.Maximum(bits, tf.same(0, bits)), tf.same(63, bits))
        left = tf.const(np.array([-1, *((1 << 64 - count) - 1 for count in range(1, 64))]), types.INT64)
        mask = tf.add("GatherV2", [left, tf.as_int32(by), tf.const(0)], {}, types.INT64)
        return tf.SelectV2(_in_range(tf, bits), tf.BitwiseAnd(tf.RightShift(x, by), mask), tf.same(0, x), dtype=x.dtype)
    unsigned = _UNSIGNED.get(x.dtype, x.dtype)
    shifted = tf.RightShift(as_bits(tf, x, unsigned), as_bits(tf, bits, unsigned), dtype=unsigned)
    return tf.SelectV2(_in_range(tf, bits), as_bits(tf, shifted, x.dtype), tf.same(0, x), dtype=x.dtype)


@imports
def shift_right_arithmetic(tf: Scope, op: Operation, x: Value, bits: Value) -> Value:
    """RightShift of the signed number of the same bits, by no more than there are."""
    signed = _SIGNED.get(x.dtype, x.dtype)
    most = tf.same(8 * x.dtype.numpy.itemsize - 1, bits)
    by = tf.SelectV2(_in_range(tf, bits), bits, most, dtype=bits.dtype)
    return as_bits(tf, tf.RightShift(as_bits(tf, x, signed), as_bits(tf, by, signed), dtype=signed), x.dtype)


@imports
def popcnt(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.Cast(tf.PopulationCount(x, dtype=types.UINT8), dtype=x.dtype)


@imports
def count_leading_zeros(tf: Scope, op: Operation, x: Value) -> Value:
    """Spread the highest bit to all below it, and count what is left."""
    size = 8 * x.dtype.numpy.itemsize
    unsigned = _UNSIGNED.get(x.dtype, x.dtype)
    spread = as_bits(tf, x, unsigned)
    for step in (1, 2, 4, 8, 16, 32):
        if step < size:
            spread = tf.BitwiseOr(spread, tf.RightShift(spread, tf.same(step, spread)))
    counted = tf.Cast(tf.PopulationCount(spread, dtype=types.UINT8), dtype=types.INT32)
    return tf.Cast(tf.Sub(tf.const(size), counted), dtype=x.dtype)


@imports
def real(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.Real(x, dtype=_part(x)) if x.dtype.is_complex else tf.Identity(x)


@imports
def imag(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.Imag(x, dtype=_part(x)) if x.dtype.is_complex else tf.ZerosLike(x)


@imports("complex")
def complex_number(tf: Scope, op: Operation, x: Value, y: Value) -> Value:
    return tf.Complex(x, y, dtype=tensor_type(op.results[0]).dtype)


@imports
def optimization_barrier(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """Nothing: it only keeps XLA from moving operations."""
    return [tf.Identity(x) for x in operands]


def _part(x: Value) -> types.DType:
    return types.FLOAT64 if x.dtype is types.COMPLEX128 else types.FLOAT32


def _shifted_as_signed(tf: Scope, shift: Callable[..., Value], op: Operation, x: Value, bits: Value) -> Value:
    """Shift the signed number of the same bits. A distance beyond its range is negative there, and no more in range."""
    return as_bits(tf, shift(tf, op, narrowed(tf, x), narrowed(tf, bits)), x.dtype)


def _in_range(tf: Scope, bits: Value) -> Value:
    """Return where a distance is no negative number, and less than the bits that there are."""
    most = tf.Less(bits, tf.same(8 * bits.dtype.numpy.itemsize, bits), dtype=types.BOOL)
    if bits.dtype in _SIGNED:
        return most
    return tf.LogicalAnd(most, tf.GreaterEqual(bits, tf.same(0, bits), dtype=types.BOOL))
