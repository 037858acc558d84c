"""Random bits: TensorFlow's Philox is XLA's, and ThreeFry is arithmetic."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.bits import as_bits
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, static_shape, tensor_type, text

# What XLA runs on the CPU by these names.
_PHILOX = ("DEFAULT", "PHILOX")
_THREE_FRY = "THREE_FRY"
_OF_TENSORFLOW = 1
# How many numbers of 32 bits each number takes, and those of a block; of fewer bits are the lowest of 32.
_WORDS = {
    types.UINT32: 1, types.INT32: 1, types.UINT64: 2, types.INT64: 2, types.UINT8: 1, types.INT8: 1, types.UINT16: 1,
    types.INT16: 1,
}  # fmt: skip
_BLOCK = 4
# How far ThreeFry turns bits, in rounds of four, and what the keys' third number is made with.
_TURNS = ((13, 15, 26, 6), (17, 29, 16, 24))
_ROUNDS = 5
_PARITY = 0x1BD11BDA


@imports
def rng_bit_generator(tf: Scope, op: Operation, state: Value) -> list[Value]:
    """rng_bit_generator(key, counter) -> key, counter + blocks, StatelessRandomUniformFullIntV2(key, counter, key), or
    ThreeFry of the key and counters."""
    algorithm = text(op.attribute("rng_algorithm"))
    _check(op, state)
    shape = static_shape(op.results[1], "its result")
    if math.prod(shape) * _WORDS[tensor_type(op.results[1]).dtype] >= 1 << 31:
        raise DamagedError(f"{math.prod(shape)} random numbers are to be made at once")
    if algorithm == _THREE_FRY:
        return _three_fry(tf, op, state, shape)
    refuse_unless(algorithm in _PHILOX, f"random bits of {algorithm}")
    return _philox(tf, op, state, tf.ints(shape))


def dynamic_bits(tf: Scope, op: Operation, state: Value, shape: Value) -> list[Value]:
    """Return what rng_bit_generator makes of a shape that is computed."""
    algorithm = text(op.attribute("rng_algorithm"))
    refuse_unless(algorithm in _PHILOX, f"random bits of {algorithm} of an unknown amount")
    _check(op, state)
    return _philox(tf, op, state, tf.as_int32(shape))


def _check(op: Operation, state: Value) -> None:
    plain = state.dtype is types.UINT64 and tensor_type(op.operands[0]).shape == (2,)
    refuse_unless(plain, "its state is not two numbers of uint64")
    made = tensor_type(op.results[1]).dtype
    refuse_unless(made in _WORDS, f"random bits as {made}")


def _philox(tf: Scope, op: Operation, state: Value, shape: Value) -> list[Value]:
    made = tensor_type(op.results[1]).dtype
    words = _WORDS[made]
    state = as_bits(tf, state, types.INT64)
    key, counter = (tf.StridedSlice(state, [at], [at + 1], [1]) for at in (0, 1))
    count = tf.Mul(tf.Prod(shape, tf.const([0]), keep_dims=True), tf.const(words))
    blocks = tf.TruncateDiv(tf.AddV2(count, tf.const(_BLOCK - 1)), tf.const(_BLOCK))
    after = tf.ConcatV2(key, tf.AddV2(counter, tf.Cast(blocks, dtype=types.INT64)), 0)
    seed = [tf.Bitcast(key, dtype=types.UINT64), tf.Bitcast(tf.ConcatV2(counter, key, 0), dtype=types.UINT64)]
    drawn = types.INT64 if words > 1 else types.UINT32
    bits = tf.add("StatelessRandomUniformFullIntV2", [shape, *seed, tf.const(_OF_TENSORFLOW)], {}, drawn)
    return [as_bits(tf, after, types.UINT64), _of_width(tf, bits, made)]


def _three_fry(tf: Scope, op: Operation, state: Value, shape: list[int]) -> list[Value]:
    """Return the state after, and the bits: pairs of counters become pairs of numbers, which lie side by side along the
    first even dimension, or the longest one."""
    made = tensor_type(op.results[1]).dtype
    words = as_bits(tf, state, types.INT64)
    key, counter = (tf.StridedSlice(words, [at], [at + 1], [1]) for at in (0, 1))
    sizes = shape or [1]
    even = [axis for axis, size in enumerate(sizes) if size % 2 == 0]
    axis = even[0] if even else int(np.argmax(sizes))
    pairs = list(shape) or [1]
    if _WORDS[made] == 1:
        pairs[axis] = -(-pairs[axis] // 2)
    count = math.prod(pairs)
    budget.require_elements((count,), np.dtype(np.int64), tf.op.name)
    places = tf.AddV2(counter, tf.const(np.arange(count, dtype=np.int64), types.INT64))
    after = tf.ConcatV2(key, tf.AddV2(counter, tf.const([count], types.INT64)), 0)
    drawn = _mixed(tf, _halves(tf, key), _halves(tf, places))
    if _WORDS[made] == 1:
        both = tf.add("Pack", [tf.Reshape(half, pairs) for half in drawn], {"axis": axis + 1}, types.INT32)
        bits = tf.Reshape(both, [*pairs[:axis], 2 * pairs[axis], *pairs[axis + 1 :]])
        bits = tf.Reshape(tf.Slice(bits, [0] * len(sizes), sizes), shape)
    else:
        bits = tf.Bitcast(tf.add("Pack", drawn, {"axis": 1}, types.INT32), dtype=types.INT64)
        bits = tf.Reshape(bits, shape)
    return [as_bits(tf, after, types.UINT64), _of_width(tf, bits, made)]


def _mixed(tf: Scope, key: list[Value], counters: list[Value]) -> list[Value]:
    """Return what ThreeFry-2x32 of twenty rounds makes of pairs of int32: sums and turns of their bits."""
    third = tf.BitwiseXor(tf.BitwiseXor(*key), tf.const(_PARITY))
    keys = [*key, third]
    x, y = (tf.AddV2(half, one) for half, one in zip(counters, keys))
    for step in range(_ROUNDS):
        for turn in _TURNS[step % 2]:
            x = tf.AddV2(x, y)
            y = tf.BitwiseXor(_turned(tf, y, turn), x)
        x = tf.AddV2(x, keys[(step + 1) % 3])
        y = tf.AddV2(y, tf.AddV2(keys[(step + 2) % 3], tf.const(step + 1)))
    return [x, y]


def _turned(tf: Scope, x: Value, count: int) -> Value:
    """Return the bits of int32 turned to the left."""
    right = tf.RightShift(as_bits(tf, x, types.UINT32), tf.const(32 - count, types.UINT32))
    # The halves have no bit in common: their sum is what either has.
    return tf.AddV2(tf.LeftShift(x, tf.const(count)), as_bits(tf, right, types.INT32))


def _halves(tf: Scope, x: Value) -> list[Value]:
    """Return the low and the high 32 bits of int64 [n]."""
    parts = tf.Bitcast(x, dtype=types.INT32)
    masks = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2}
    return [tf.StridedSlice(parts, [0, at], [0, at + 1], [1, 1], **masks) for at in (0, 1)]


def _of_width(tf: Scope, bits: Value, dtype: types.DType) -> Value:
    """Return the lowest bits of numbers as a type of no more."""
    if dtype.numpy.itemsize == bits.dtype.numpy.itemsize:
        return as_bits(tf, bits, dtype)
    return tf.Cast(bits, dtype=dtype)
