"""Parity of shapes: changing them, telling them, making tensors of them."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
TYPES = [tf.float32, tf.float16, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.bool]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_reshape(dtype):
    check(lambda x: tf.reshape(x, [-1, 5, 3]), spec(None, 3, 5, dtype=dtype), ops=["RESHAPE"])


def test_reshape_to_a_shape_of_the_batch():
    check(lambda x: tf.reshape(x, [tf.shape(x)[0], 3, 5]), spec(None, 15), ops=["RESHAPE"])
    check(lambda x: tf.reshape(x, [tf.shape(x)[0] * 3, 5]), spec(None, 15), ops=["RESHAPE"])


def test_reshape_with_two_unknown_sizes():
    check(lambda x: tf.reshape(x, [tf.shape(x)[0], tf.shape(x)[1] * 3]), spec(None, None, 3))
    check(lambda x: tf.reshape(x, [-1, 3]), spec(None, None, 3), ops=["RESHAPE"])


def test_reshape_to_a_computed_shape():
    x, shape = np.arange(12, dtype=np.float32), np.array([2, -1, 3], np.int64)
    check(tf.reshape, spec(12), spec(3, dtype=tf.int64), inputs=[x, shape])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_dimensions_of_one(axis):
    check(lambda x: tf.expand_dims(x, axis), spec(None, 3), ops=["RESHAPE"])
    check(lambda x: tf.expand_dims(x, axis), spec(None, None, 3))
    check(lambda x: tf.squeeze(tf.expand_dims(x, axis) + 1, axis), spec(None, None, 3))


@pytest.mark.parametrize("shape", [(2, 4), (None, 4)])
def test_dimensions_that_come_and_go_leave_nothing(shape):
    # As TensorFlow Probability writes the density of a normal distribution with a diagonal.
    def density(x):
        x = tf.squeeze(tf.expand_dims(tf.sin(x), -1), -1)
        return tf.reduce_sum(tf.math.squared_difference(x, 1.5) * -0.5 - 0.9, 1)

    check(density, spec(*shape), ops=["SIN", "SQUARED_DIFFERENCE", "MUL", "ADD", "SUM"])


@pytest.mark.parametrize("batch", [2, None])
def test_pairs_are_broadcast_and_not_repeated(batch):
    def pairs(x):
        return tf.expand_dims(x, 1) - tf.tile(tf.expand_dims(x, 2), [1, 1, 6])

    check(pairs, spec(batch, 6), ops=["RESHAPE", "RESHAPE", "SUB"])
    check(lambda x: tf.where(x[:, None] > 0, tf.tile(x[:, :, None], [1, 1, 6]), tf.ones([6, 6])), spec(batch, 6))


def test_squeeze_of_all():
    check(lambda x: tf.squeeze(x + 1), spec(1, 3, 1, 2))
    check(lambda x: tf.squeeze(x + 1, [1, -1]), spec(None, 1, None, 1))


@pytest.mark.parametrize("out_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_telling_a_shape(out_type):
    check(lambda x: tf.shape(x, out_type), spec(None, 3))
    check(lambda x: tf.size(x, out_type), spec(None, 3))
    check(lambda x: tf.rank(x), spec(None, 3))
    check(lambda x, y: tf.shape_n([x, y], out_type), spec(None, 3), spec(None))


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_fill(dtype):
    check(lambda x, y: tf.fill([tf.shape(x)[0], 3], y), spec(None, 2), spec(dtype=dtype))
    check(lambda y: tf.fill([2, 3], y), spec(dtype=dtype))


def test_fill_of_a_computed_shape():
    dims = np.array([2, 3], np.int64)
    check(lambda dims: tf.fill(dims, 7.5), spec(2, dtype=tf.int64), inputs=[dims])
    dims = dims.astype(np.int32)
    check(lambda dims: raw.Empty(shape=dims, dtype=tf.int32, init=True), spec(2, dtype=tf.int32), inputs=[dims])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.float32], ids=lambda t: t.name)
def test_range(dtype):
    ends = [np.array(n, dtype.as_numpy_dtype) for n in (7, 1, -2)]
    check(tf.range, *[spec(dtype=dtype)] * 3, inputs=ends)
    check(lambda x: tf.range(tf.shape(x)[0]), spec(None, 2))


@pytest.mark.parametrize("count", [1, 2, 7])
def test_lin_space(count):
    check(lambda a, b: tf.linspace(a, b, count), spec(), spec())


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_broadcast_to(dtype):
    check(lambda x: tf.broadcast_to(x, [2, 4, 3]), spec(4, 1, dtype=dtype))
    check(lambda x, y: tf.broadcast_to(y, tf.shape(x)), spec(None, 3), spec(3, dtype=dtype))


@pytest.mark.parametrize("batch", [2, None])
def test_broadcast_to_more_dimensions_than_the_kernel_takes(batch):
    def tile(x):
        n = tf.shape(x)[0]
        apart = tf.reshape(x, [1, n, 1, 3, 1, 2, 1, 2, 1, 3])
        return tf.reshape(tf.broadcast_to(apart, [1, n, 2, 3, 1, 2, 3, 2, 1, 3]), [n, 6, 2, 6, 3])

    def tile_alike(x, y):
        n = tf.shape(x)[0]
        return tf.broadcast_to(tf.reshape(y, [1, 2, 1, 1, 1, 3, 1, 1, 2]), [n, 2, 3, n, 1, 3, 1, 1, 2]) + 1.0

    check(tile, spec(batch, 3, 2, 2, 3), ops=["RESHAPE", "TILE", "RESHAPE"])
    check(tile_alike, spec(batch, 5), spec(2, 3, 2))


def test_broadcast_to_too_many_dimensions_is_refused():
    check_refused(lambda x: tf.broadcast_to(x, [2] * 9), spec(*[1, 2] * 4, 1), match="rank 9 is more than the 8")


def test_broadcast_to_a_computed_shape():
    x, shape = np.ones((3, 1), np.float32), np.array([2, 3, 4])
    check(tf.broadcast_to, spec(3, 1), spec(3, dtype=tf.int64), inputs=[x, shape])


@pytest.mark.parametrize("dtype", [tf.string, tf.complex64], ids=lambda t: t.name)
def test_broadcast_of_types_that_the_kernel_lacks(dtype):
    check(lambda x: tf.broadcast_to(x, [2, 4, 3]), spec(4, 1, dtype=dtype))


PAIRS = [
    ([1, 2], [1, 2]), ([2, 1], [1, 1]), ([2, 1, 3], [1, 3]), ([1, 1], [2, 1]), ([2, 3], [2, 3]), ([1, 3], [3]),
    ([1, 3], [2, 3]), ([4], [2, 3, 4]),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), PAIRS)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_shapes_that_broadcast(a, b, dtype):
    inputs = [np.array(a, dtype.as_numpy_dtype), np.array(b, dtype.as_numpy_dtype)]
    specs = spec(len(a), dtype=dtype), spec(len(b), dtype=dtype)
    check(lambda a, b: raw.BroadcastArgs(s0=a, s1=b), *specs, inputs=inputs)
    check(lambda a, b: list(raw.BroadcastGradientArgs(s0=a, s1=b)), *specs, inputs=inputs)
