"""Parity of moves between space and batch."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


DTYPES = [tf.float32, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.float16, tf.bfloat16]


@pytest.mark.parametrize(
    ("block", "paddings", "shape"),
    [
        ([2, 3], [[1, 0], [0, 2]], (None, 5, 4, 3)),
        ([2], [[0, 1]], (None, 5, 3)),
        ([2], [[0, 1]], (None, 5, 4, 3)),
        ([2], [[0, 1]], (None, 5)),
        ([2, 3], [[1, 0], [0, 2]], (None, 5, 4)),
        ([2, 3], [[1, 0], [0, 2]], (None, 5, 4, 2, 3)),
        ([2, 3, 2], [[1, 0], [0, 2], [1, 1]], (None, 5, 4, 2, 3)),
        ([2, 1, 2], [[1, 0], [0, 0], [0, 0]], (None, 5, 4, 2)),
        ([2, 3, 2, 3], [[1, 0], [0, 2], [1, 1], [0, 0]], (None, 5, 4, 2, 3)),
    ],
)
def test_space_to_batch_and_back(block, paddings, shape):
    check(lambda x: tf.space_to_batch(x, block, paddings), spec(*shape))

    def there_and_back(x):
        return tf.batch_to_space(tf.space_to_batch(x, block, paddings), block, paddings)

    check(there_and_back, spec(*shape))


@pytest.mark.parametrize("dtype", DTYPES)
def test_space_to_batch_of_other_types(dtype):
    check(lambda x: tf.space_to_batch(x, [2, 2], [[1, 0], [0, 0]]), spec(None, 5, 4, 3, dtype=dtype))


def test_space_to_batch_of_unknown_size():
    check(lambda x: tf.space_to_batch(x, [2, 1], [[1, 2], [0, 0]]), spec(3, 5, None, 3))
    check(lambda x: tf.space_to_batch(x, [2], [[1, 2]]), spec(None, 5, None, None))


def test_space_to_batch_of_old():
    def layer(x):
        y = tf.raw_ops.SpaceToBatch(input=x, paddings=[[1, 0], [0, 2]], block_size=2)
        return y, tf.raw_ops.BatchToSpace(input=y, crops=[[1, 0], [0, 2]], block_size=2)

    check(layer, spec(None, 5, 4, 3))


def test_space_to_batch_of_three_unknown_sizes():
    check(lambda x: tf.space_to_batch(x, [2, 1, 3], [[1, 2], [0, 0], [1, 2]]), spec(3, 5, None, 3))


def test_blocks_that_are_inputs():
    def layer(x, block, margins):
        return tf.batch_to_space(x, block, margins)

    def draw(rng, shape, dtype):
        arrays = {4: rng.random((12, 5, 4, 3)), 1: np.array([2, 3]), 2: np.array([[1, 0], [0, 2]])}
        return arrays[len(shape)].astype(dtype)

    blocks = spec(2, dtype=tf.int32), spec(2, 2, dtype=tf.int32)
    check(layer, spec(None, 5, 4, 3), *blocks, inputs=draw, static=False)
    blocks = spec(3, dtype=tf.int32), spec(3, 2, dtype=tf.int32)
    check_refused(layer, spec(None, 5, 4, 3), *blocks, match="the block is not a constant")


def test_dilated_conv_3d():
    w = np.random.default_rng(1).standard_normal((2, 2, 2, 3, 4)).astype(np.float32)
    check(lambda x: tf.nn.convolution(x, w, 1, "SAME", dilations=2), spec(None, 6, 7, 5, 3))
