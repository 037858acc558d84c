"""Random bits -> StatelessRandomUniformFullIntV2: TensorFlow's Philox is XLA's."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, static_shape, tensor_type, text

# What XLA runs on the CPU by these names.
_PHILOX = ("DEFAULT", "PHILOX")
_OF_TENSORFLOW = 1
# How many numbers of 32 bits each number takes, and those of a block.
_WORDS = {types.UINT32: 1, types.INT32: 1, types.UINT64: 2, types.INT64: 2}
_BLOCK = 4


@imports
def rng_bit_generator(tf: Scope, op: Operation, state: Value) -> list[Value]:
    """rng_bit_generator(key, counter) -> key, counter + blocks, StatelessRandomUniformFullIntV2(key, counter, key)."""
    algorithm, made = text(op.attribute("rng_algorithm")), tensor_type(op.results[1]).dtype
    refuse_unless(algorithm in _PHILOX, f"random bits of {algorithm}, and not of PHILOX")
    plain = state.dtype is types.UINT64 and tensor_type(op.operands[0]).shape == (2,)
    refuse_unless(plain, "its state is not two numbers of uint64")
    refuse_unless(made in _WORDS, f"random bits as {made}")
    shape = static_shape(op.results[1], "its result")
    count = _WORDS[made]
    for size in shape:
        count *= size
    if count >= 1 << 31:
        raise DamagedError(f"{count} random numbers are to be made at once")
    words = tf.Bitcast(state, dtype=types.INT64)
    key, counter = (tf.StridedSlice(words, [at], [at + 1], [1]) for at in (0, 1))
    after = tf.ConcatV2(key, tf.AddV2(counter, tf.const([-(-count // _BLOCK)], types.INT64)), 0)
    seed = [tf.Bitcast(key, dtype=types.UINT64), tf.Bitcast(tf.ConcatV2(counter, key, 0), dtype=types.UINT64)]
    drawn = types.INT64 if _WORDS[made] > 1 else types.UINT32
    operands = [tf.ints(shape), *seed, tf.const(_OF_TENSORFLOW)]
    bits = tf.add("StatelessRandomUniformFullIntV2", operands, {}, drawn)
    return [tf.Bitcast(after, dtype=types.UINT64), bits if drawn is made else tf.Bitcast(bits, dtype=made)]
