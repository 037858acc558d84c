"""Random numbers that are a function of a seed: TensorFlow's generator, Philox, in whole numbers that TFLite has
(Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).

A block of four numbers of 32 bits is what ten rounds make of a counter, of four such numbers, and a key, of two. Here
the counters are two tensors, their numbers 0 and 2 and their numbers 1 and 3, uint32 [blocks, 2], and a key is int64
[2]. Keys and counters go from one op to the next as TensorFlow has them, uint64 [1] and [2].
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, shape_vector
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, scalar
from fuseconv.lower.support.type_promotion import HALVES, cast
from fuseconv.tfl.builder import Builder

_ROUNDS = 10
# The factors of the numbers 0 and 2 of a counter, and what each round adds to the key.
_FACTORS = np.array([0xD2511F53, 0xCD9E8D57], np.int64)
_STEPS = np.array([0x9E3779B9, 0xBB67AE85], np.int64)
# The key with which TensorFlow mixes seeds.
_MIXING = np.array([0x3EC8F720, 0x02461E29], np.int64)

_PHILOX, _OF_THE_DEVICE = 1, 3
# Of truncated normal numbers: how many are drawn for four, and how many blocks after the last four TensorFlow begins.
_CANDIDATES, _BLOCKS_APART = 16, 256
_FRACTION_BITS = {types.FLOAT32: 23, types.FLOAT16: 10, types.BFLOAT16: 7}


@lowers
def StatelessRandomGetKeyCounter(tfl, seed):
    """A block of Philox, of the seed."""
    return list(_as_uint64(tfl, *_mixed(tfl, seed)))


@lowers
def StatelessRandomGetKeyCounterAlg(tfl, seed):
    """A block of Philox, of the seed."""
    return [*_as_uint64(tfl, *_mixed(tfl, seed)), scalar(_PHILOX, types.INT32)]


@lowers("StatelessRandomUniform", "StatelessRandomUniformV2")
def StatelessRandomUniform(tfl, shape, *seed):
    """Numbers of Philox, of whose bits so many are taken as the type has after the point."""
    require(tfl.dtype in _FRACTION_BITS, f"numbers of {tfl.dtype} are not supported")
    return _shaped(tfl, cast(tfl, _unit(tfl, _bits(tfl, shape, seed), _FRACTION_BITS[tfl.dtype]), tfl.dtype), shape)


@lowers("StatelessRandomNormal", "StatelessRandomNormalV2")
def StatelessRandomNormal(tfl, shape, *seed):
    """The transform of Box and Muller, of each two numbers of Philox."""
    return _shaped(tfl, cast(tfl, _normal(tfl, _bits(tfl, shape, seed)), tfl.dtype), shape)


@lowers("StatelessTruncatedNormal", "StatelessTruncatedNormalV2")
def StatelessTruncatedNormal(tfl, shape, *seed):
    """Of each 16 normal numbers the first four within -2 and 2, which TOPK_V2 finds. TensorFlow goes on where there are
    fewer, as in 2e-15 of the cases."""
    groups = tfl.floor_div(tfl.add(_count(tfl, shape), 3), 4)
    begins = tfl.mul(tfl.range(scalar(0, types.INT32), groups, scalar(1, types.INT32)), _BLOCKS_APART)
    blocks = tfl.reshape(tfl.add(tfl.expand_dims(begins, 1), np.arange(_CANDIDATES // 4, dtype=np.int32)), [-1])
    drawn = tfl.reshape(_normal(tfl, _philox(tfl, blocks, *_key_and_counter(tfl, seed))), [-1, _CANDIDATES])
    beyond = cast(tfl, tfl.greater_equal(tfl.abs_(drawn), 2.0), types.INT32)
    # Those within are before the others, each in their order.
    rank = tfl.add(tfl.mul(beyond, _CANDIDATES), np.arange(_CANDIDATES, dtype=np.int32))
    _, first = tfl.topk_v2(tfl.neg(rank), scalar(4, types.INT32))
    kept = tfl.reshape(tfl.gather(drawn, first, axis=1, batch_dims=1), [-1])
    return _shaped(tfl, cast(tfl, kept, tfl.dtype), shape)


@lowers
def StatelessShuffle(tfl, value, *seed):
    """GATHER in an order of which each run of a WHILE exchanges two places, as Fisher and Yates do."""
    if not shape_of(value):
        return value
    count = shape_of(value)[0]
    every = iota(tfl, count, value)
    bits = cast(tfl, _bits(tfl, shape_vector(tfl, [count], value), seed), types.INT64)
    numbers = tfl.slice_(bits, [0], shape_vector(tfl, [count], value))
    left = cast(tfl, tfl.sub(dim_scalar(tfl, count, value), every), types.INT64)
    others = tfl.add(cast(tfl, elementwise(tfl, "FLOOR_MOD", numbers, left), types.INT32), every)

    def once(tfl: Builder, step: Value, order: Value, others: Value, every: Value) -> list[Value]:
        other = tfl.gather(others, step, axis=0)
        mine, its = tfl.gather(order, step, axis=0), tfl.gather(order, other, axis=0)
        exchanged = tfl.select_v2(tfl.equal(every, other), mine, order)
        return [tfl.select_v2(tfl.equal(every, step), its, exchanged), others, every]

    order, *_ = tfl.repeat(dim_scalar(tfl, count, value), once, [every, others, every])
    return build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, order, axis=0), value)


@lowers
def StatelessRandomUniformInt(tfl, shape, seed, minval, maxval):
    """Philox numbers modulo the range."""
    return _whole(tfl, shape, (seed,), minval, maxval)


@lowers
def StatelessRandomUniformIntV2(tfl, shape, key, counter, alg, minval, maxval):
    """Philox numbers modulo the range."""
    return _whole(tfl, shape, (key, counter, alg), minval, maxval)


@lowers("StatelessRandomUniformFullInt", "StatelessRandomUniformFullIntV2")
def StatelessRandomUniformFullInt(tfl, shape, *seed):
    """The numbers of Philox; of int64 two for each."""
    require(tfl.dtype in (types.INT32, types.UINT32, types.INT64), f"numbers of {tfl.dtype} are not supported")
    if tfl.dtype is types.INT64:
        return _shaped(tfl, _long(tfl, _bits(tfl, shape, seed, 2)), shape)
    bits = _bits(tfl, shape, seed)
    return _shaped(tfl, tfl.bitcast(bits, results=[(tfl.dtype, bits.shape)]), shape)


def _whole(tfl: Lowering, shape: Value, seed: tuple[Value, ...], minval: Value, maxval: Value) -> Value:
    low, high = cast(tfl, minval, types.INT64), cast(tfl, maxval, types.INT64)
    if tfl.dtype is types.INT32:
        rest = elementwise(tfl, "FLOOR_MOD", cast(tfl, _bits(tfl, shape, seed), types.INT64), tfl.sub(high, low))
        return _shaped(tfl, cast(tfl, elementwise(tfl, "ADD", rest, low), types.INT32), shape)
    require(tfl.dtype is types.INT64, f"numbers of {tfl.dtype} are not supported")
    ends = [int(constant_of(end, "a bound of int64").reshape(())) for end in (minval, maxval)]
    count = ends[1] - ends[0]
    require(0 < count <= 1 << 62, f"the range from {ends[0]} to {ends[1]} is too large")
    bits = _long(tfl, _bits(tfl, shape, seed, 2))
    # The bits are those of a number without a sign: what is negative is 2^64 short.
    short = elementwise(tfl, "MUL", cast(tfl, elementwise(tfl, "LESS", bits, 0), types.INT64), (1 << 64) % count)
    rest = elementwise(tfl, "ADD", elementwise(tfl, "FLOOR_MOD", bits, count), short)
    return _shaped(tfl, elementwise(tfl, "ADD", elementwise(tfl, "FLOOR_MOD", rest, count), ends[0]), shape)


def _normal(tfl: Lowering, bits: Value) -> Value:
    """Return as many normal numbers, float32, as there are numbers of Philox."""
    require(tfl.dtype is types.FLOAT32 or tfl.dtype in HALVES, f"numbers of {tfl.dtype} are not supported")
    pairs = tfl.reshape(bits, [-1, 2])
    distance, turn = tfl.split(scalar(1, types.INT32), _unit(tfl, pairs, _FRACTION_BITS[types.FLOAT32]), num_splits=2)
    radius = tfl.sqrt(tfl.mul(tfl.log(tfl.maximum(distance, 1e-7)), -2.0))
    angle = tfl.mul(turn, 2 * math.pi)
    normal = tfl.mul(tfl.concatenation(tfl.sin(angle), tfl.cos(angle), axis=1), radius)
    return tfl.reshape(normal, [-1])


def _unit(tfl: Lowering, bits: Value, count: int) -> Value:
    """Return the lowest bits of uint32 as float32 numbers from 0 to 1."""
    numbers = tfl.bitcast(bits, results=[(types.INT32, bits.shape)])
    low = elementwise(tfl, "FLOOR_MOD", numbers, 1 << count)
    return tfl.mul(cast(tfl, low, types.FLOAT32), 2.0**-count)


def _long(tfl: Lowering, bits: Value) -> Value:
    """Return each two numbers of uint32, the low one first, as one of int64."""
    pairs = tfl.reshape(bits, [-1, 2])
    return tfl.bitcast(pairs, results=[(types.INT64, shape_of(pairs)[:1])])


def _shaped(tfl: Lowering, numbers: Value, shape: Value) -> Value:
    """Return the first numbers, as many as the shape has elements, in that shape."""
    dims = tfl.ints(tfl.shape or ()) if tfl.source.result.is_static else cast(tfl, shape, types.INT32)
    count = tfl.reshape(tfl.reduce_prod(dims, [0]), [1])
    return tfl.reshape(tfl.slice_(numbers, [0], count), dims)


def _bits(tfl: Lowering, shape: Value, seed: tuple[Value, ...], each: int = 1) -> Value:
    """Return numbers of Philox, uint32 [4 * blocks], enough for `each` for each element of the shape.

    seed: an operand `seed`, or `key`, `counter` and `alg`."""
    blocks = tfl.floor_div(tfl.add(tfl.mul(_count(tfl, shape), each), 3), 4)
    every = tfl.range(scalar(0, types.INT32), blocks, scalar(1, types.INT32))
    return _philox(tfl, every, *_key_and_counter(tfl, seed))


def _count(tfl: Lowering, shape: Value) -> Value:
    return tfl.reduce_prod(cast(tfl, shape, types.INT32), [0])


def _key_and_counter(tfl: Lowering, seed: tuple[Value, ...]) -> tuple[Value, Value]:
    """Return the key, int64 [2], and the first counter that an operand `seed` gives, or `key`, `counter` and `alg`."""
    if len(seed) == 1:
        return _mixed(tfl, seed[0])
    require(len(seed) == 3, f"{len(seed)} operands for a seed are not supported")
    which = int(constant_of(seed[2], "the algorithm").reshape(()))
    require(which in (_PHILOX, _OF_THE_DEVICE), f"the algorithm number {which} is not Philox")
    key, counter = (_halves(tfl, part) for part in seed[:2])
    return cast(tfl, tfl.reshape(key, [2]), types.INT64), counter


def _philox(tfl: Lowering, blocks: Value, key: Value, counter: Value) -> Value:
    """Return the blocks of these numbers, uint32 [4 * blocks]."""
    # The counters go on from the given one, whose two lower numbers are one of 64 bits.
    numbers = cast(tfl, blocks, types.INT64)
    first, rest = tfl.split(scalar(0, types.INT32), tfl.bitcast(counter, results=[(types.INT64, (2,))]), num_splits=2)
    low = elementwise(tfl, "ADD", numbers, first)
    # One is carried to the higher numbers where the lower ones, as a number without a sign, begin again.
    again = tfl.logical_and(elementwise(tfl, "LESS", first, 0), elementwise(tfl, "GREATER_EQUAL", low, 0))
    high = elementwise(tfl, "ADD", cast(tfl, again, types.INT64), rest)
    halves = _halves(tfl, tfl.concatenation(tfl.expand_dims(low, 1), tfl.expand_dims(high, 1), axis=1))
    even, odd = (_column(tfl, halves, at) for at in (0, 1))
    return tfl.reshape(_rounds(tfl, even, odd, key), [-1])


def _mixed(tfl: Lowering, seed: Value) -> tuple[Value, Value]:
    """Return the key, int64 [2], and the first counter, uint32 [2, 2], of a seed of two numbers."""
    halves = _halves(tfl, cast(tfl, reshape(tfl, seed, (1, 2)), types.INT64))
    block = _rounds(tfl, _column(tfl, halves, 0), _column(tfl, halves, 1), tfl.const(_MIXING))
    key, high = (tfl.slice_(tfl.reshape(block, [2, 2]), [row, 0], [1, 2]) for row in (0, 1))
    counter = tfl.concatenation(tfl.const(np.zeros((1, 2), np.uint32)), high, axis=0)
    return cast(tfl, tfl.reshape(key, [2]), types.INT64), counter


def _as_uint64(tfl: Lowering, key: Value, counter: Value) -> tuple[Value, Value]:
    words = tfl.reshape(cast(tfl, key, types.UINT32), [1, 2])
    return tuple(tfl.bitcast(x, results=[(types.UINT64, shape_of(x)[:1])]) for x in (words, counter))


def _rounds(tfl: Lowering, even: Value, odd: Value, key: Value) -> Value:
    """Return the blocks, uint32 [blocks, 2, 2], that the rounds make of counters and a key."""

    def once(tfl: Builder, step: Value, key: Value, even: Value, odd: Value) -> list[Value]:
        products = tfl.reverse_v2(tfl.mul(tfl.cast(even, out_data_type="INT64"), tfl.const(_FACTORS)), [1])
        halves = _halves(tfl, products)
        mixed = tfl.bitwise_xor(_column(tfl, halves, 1), odd)
        mixed = tfl.bitwise_xor(mixed, tfl.cast(key, out_data_type="UINT32"))
        return [tfl.floor_mod(tfl.add(key, tfl.const(_STEPS)), 1 << 32), mixed, _column(tfl, halves, 0)]

    _, even, odd = tfl.repeat(_ROUNDS, once, [key, even, odd])
    return tfl.pack(even, odd, axis=2)


def _halves(tfl: Builder, x: Value) -> Value:
    """Return numbers of 64 bits as two of uint32 each, the low one first."""
    return tfl.bitcast(x, results=[(types.UINT32, (*shape_of(x), 2))])


def _column(tfl: Builder, halves: Value, at: int) -> Value:
    """Return the low (0) or high (1) halves [n, 2] of [n, 2, 2]."""
    return tfl.strided_slice(
        halves, [0, 0, at], [0, 0, at + 1], [1, 1, 1], begin_mask=0b011, end_mask=0b011, shrink_axis_mask=0b100
    )
