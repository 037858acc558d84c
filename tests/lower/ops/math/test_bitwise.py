"""Parity of arithmetic on bits."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

INTEGERS = [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32]
BITWISE = {"and": tf.bitwise.bitwise_and, "or": tf.bitwise.bitwise_or, "xor": tf.bitwise.bitwise_xor}


def spec(*shape, dtype):
    return tf.TensorSpec(shape, dtype)


def any_bits(rng, shape, dtype):
    return rng.integers(-(2**62), 2**62, shape).astype(dtype)


@pytest.mark.parametrize("op", BITWISE)
@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_bitwise(op, dtype):
    check(BITWISE[op], spec(None, 5, dtype=dtype), spec(None, 5, dtype=dtype), inputs=any_bits)
    check(BITWISE[op], spec(None, 5, dtype=dtype), spec(5, dtype=dtype), inputs=any_bits)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_invert(dtype):
    check(tf.bitwise.invert, spec(None, 5, dtype=dtype), inputs=any_bits)


def distances(rng, shape, dtype):
    """Shifts of up to more than the type has bits; the first operand's numbers are of any size."""
    return rng.integers(0, 70, shape).astype(dtype)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_left_shift(dtype):
    check(tf.bitwise.left_shift, spec(None, 9, dtype=dtype), spec(9, dtype=dtype), inputs=distances)


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda t: t.name)
def test_right_shift(dtype):
    def layer(x, y):
        return tf.bitwise.right_shift(tf.bitwise.invert(x), y)

    check(layer, spec(None, 9, dtype=dtype), spec(9, dtype=dtype), inputs=distances)


def test_right_shift_of_large_int64():
    x = np.array([2**63 - 1, -(2**63), -1, -(2**53) - 1, 2**40 + 1, -7], np.int64)[:, None]
    y = np.array([0, 1, 5, 31, 32, 62, 63, 64], np.int64)
    check(tf.bitwise.right_shift, spec(6, 1, dtype=tf.int64), spec(8, dtype=tf.int64), inputs=[x, y])


WHOLE = [tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64]


@pytest.mark.parametrize("dtype", WHOLE, ids=lambda t: t.name)
def test_population_count(dtype):
    def any_bits(rng, shape, numpy_type):
        return rng.integers(0, 256, (*shape, numpy_type.itemsize)).astype(np.uint8).view(numpy_type).reshape(shape)

    check(lambda x: tf.raw_ops.PopulationCount(x=x), tf.TensorSpec([None, 5], dtype), inputs=any_bits)


def test_next_after():
    least = np.finfo(np.float32).tiny
    ends = np.array([0, -0.0, 1, -1, 2, -3.5, 3e38, np.inf, -np.inf, np.nan, least, -least], np.float32)
    converted = check(tf.math.nextafter, tf.TensorSpec([None, 1]), tf.TensorSpec([12]), inputs=[ends[:, None], ends])
    assert "BITCAST" in converted.ops

    def exact(x, y):
        moved = tf.math.nextafter(x, y)
        return tf.bitcast(moved, tf.int32) - tf.bitcast(x, tf.int32)

    check(exact, tf.TensorSpec([None, 7]), tf.TensorSpec([7]))
