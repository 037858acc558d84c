"""Parity of pooling."""

import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def images(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("pool", [tf.nn.avg_pool2d, tf.nn.max_pool2d])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("window", "strides"), [(2, 2), ([3, 2], [1, 2]), ([1, 1], [2, 3])])
def test_pool_2d(pool, padding, window, strides):
    check(lambda x: pool(x, window, strides, padding), images(None, 9, 8, 3))


def test_pool_2d_is_one_op():
    check(lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), images(None, 9, None, 3), ops=["AVERAGE_POOL_2D"])
    check(lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), images(None, None, 8, 3), ops=["MAX_POOL_2D"])


def test_pool_of_channels_first():
    check(lambda x: tf.nn.max_pool2d(x, [3, 2], [2, 1], "SAME", "NCHW"), images(None, 3, 9, 8))


@pytest.mark.parametrize("size", [9, None])
def test_max_pool_with_explicit_padding(size):
    pads = [[0, 0], [1, 0], [2, 1], [0, 0]]
    check(lambda x: tf.nn.max_pool2d(x - 9, 3, 2, pads), images(None, size, 8, 3))


def test_max_pool_with_padding_like_same():
    pads = [[0, 0], [0, 1], [0, 1], [0, 0]]
    check(lambda x: tf.nn.max_pool2d(x, 3, 2, pads), images(None, 8, 10, 3), ops=["MAX_POOL_2D"])


def test_max_pool_with_windows_as_operands():
    def layer(x):
        return tf.raw_ops.MaxPoolV2(input=x, ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding="SAME")

    check(layer, images(None, 9, 8, 3), ops=["MAX_POOL_2D"])


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.float16, tf.bfloat16])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_max_pool_of_other_types(dtype, padding):
    def layer(x):
        return tf.raw_ops.MaxPool(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding=padding)

    check(layer, images(None, 9, 8, 3, dtype=dtype))


def test_max_pool_of_wide_integers_and_unknown_size():
    def layer(x):
        return tf.raw_ops.MaxPool(input=x, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding="VALID")

    check(layer, images(None, None, None, 3, dtype=tf.int32))


@pytest.mark.parametrize(("window", "step"), [((3, 2), (2, 2)), ((1, 2), (3, 4)), ((5, 3), (1, 2))])
def test_max_pool_of_wide_integers_and_unknown_size_that_is_padded(window, step):
    def layer(x):
        return tf.raw_ops.MaxPool(input=x, ksize=[1, *window, 1], strides=[1, *step, 1], padding="SAME")

    check(layer, images(None, None, 8, 3, dtype=tf.int32))
    check(layer, images(2, 9, None, 3, dtype=tf.int64), batches=(2, 3, 4))
    # A size of which only the whole can be read off.
    check(lambda x: layer(tf.concat([x[:, :1], x[:, ::3]], 1)), images(None, None, 8, 3, dtype=tf.int32))


def test_what_pools_refuse():
    check_refused(lambda x: tf.nn.avg_pool2d(x, 2, 2, "SAME"), images(2, 9, 8, 3, dtype=tf.float64), match="float64")
    check_refused(lambda x: tf.nn.max_pool(x, [1, 1, 1, 3], [1, 1, 1, 3], "SAME"), images(2, 9, 8, 3), match="channels")


@pytest.mark.parametrize("pool", [tf.nn.avg_pool3d, tf.nn.max_pool3d])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("window", "strides"), [(2, 2), ([3, 2, 4], [1, 2, 3])])
def test_pool_3d(pool, padding, window, strides):
    check(lambda x: pool(x, window, strides, padding), images(None, 7, 9, 8, 3))


def test_pool_3d_of_unknown_size():
    check(lambda x: tf.nn.avg_pool3d(x, [2, 3, 2], [1, 2, 2], "SAME"), images(None, None, None, None, 3))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("include_batch", [True, False])
@pytest.mark.parametrize("output", [tf.int64, tf.int32])
def test_max_pool_with_argmax(padding, include_batch, output):
    def layer(x):
        return tf.nn.max_pool_with_argmax(x, [3, 2], 2, padding, "NHWC", output, include_batch)

    check(layer, images(None, 7, 8, 3))


def test_max_pool_with_argmax_takes_the_first_of_equals():
    def draw(rng, shape, dtype):
        return rng.integers(-1, 2, shape).astype(dtype)

    check(lambda x: tf.nn.max_pool_with_argmax(x, 3, 1, "VALID"), images(None, 7, 8, 3), inputs=draw)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [1, [2, 3]])
def test_max_pool_with_argmax_of_unknown_sizes(padding, strides):
    def layer(x):
        return tf.nn.max_pool_with_argmax(x, [3, 2], strides, padding, include_batch_in_index=True)

    check(layer, images(None, None, None, 3), batches=[1, 2])
    check(layer, images(2, None, 8, 3), static=False)


def test_max_pool_with_argmax_of_an_unknown_number_of_channels_is_refused():
    check_refused(lambda x: tf.nn.max_pool_with_argmax(x, 3, 1, "VALID"), images(2, 8, 8, None), match="channels")
