"""PAD before convolutions."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, convert_function

RNG = np.random.default_rng(0)


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def padded(pads, kernel, stride, dilation=1):
    w = draw(*kernel, 3, 4)
    return lambda x: tf.nn.conv2d(tf.pad(x, [[0, 0], *pads, [0, 0]]), w, stride, "VALID", dilations=dilation)


SAME = [
    ((8, 8), [[0, 1], [0, 1]], (3, 3), 2),
    ((9, 9), [[1, 1], [1, 1]], (3, 3), 2),
    ((8, 7), [[0, 1], [1, 1]], (3, 3), 2),
    ((7, 8), [[1, 1], [2, 3]], (3, 6), 1),
    ((8, 8), [[0, 2], [0, 2]], (3, 3), 2),  # the last zeros are read by no window
]
DIFFERENT = [
    ((8, 8), [[1, 1], [1, 1]], (3, 3), 2),
    ((9, 9), [[0, 1], [0, 1]], (3, 3), 2),
    ((8, 8), [[3, 3], [3, 3]], (7, 7), 2),
    ((8, 8), [[2, 0], [0, 0]], (3, 1), 1),
    ((8, 8), [[2, 2], [2, 2]], (3, 3), 1),
]


@pytest.mark.parametrize("size, pads, kernel, stride", SAME)
def test_same(size, pads, kernel, stride):
    check(padded(pads, kernel, stride), tf.TensorSpec([None, *size, 3]), ops=["CONV_2D"], static=False)


@pytest.mark.parametrize("size, pads, kernel, stride", DIFFERENT)
def test_different(size, pads, kernel, stride):
    check(padded(pads, kernel, stride), tf.TensorSpec([None, *size, 3]), ops=["PAD", "CONV_2D"], static=False)


def test_unknown_sizes():
    image = tf.TensorSpec([None, None, None, 3])
    check(padded([[1, 1], [1, 1]], (3, 3), 1), image, ops=["CONV_2D"], batches=(1, 4), static=False)
    check(padded([[2, 2], [2, 2]], (3, 3), 1, dilation=2), image, ops=["CONV_2D"], batches=(1, 4), static=False)
    check(padded([[0, 1], [0, 1]], (3, 3), 2), image, ops=["PAD", "CONV_2D"], batches=(1, 4), static=False)


def test_other_numbers_and_dimensions_stay():
    w = draw(3, 3, 5, 4)
    image = tf.TensorSpec([None, 8, 8, 3])
    # TensorFlow fails on it, as it takes any padding into the convolution.
    fn = lambda x: tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [1, 1]]), w, 1, "VALID")  # noqa: E731
    assert convert_function(fn, image).ops == ["PAD", "CONV_2D"]
    ones = lambda x: tf.nn.conv2d(tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], constant_values=1), w, 1, "VALID")  # noqa: E731
    check(ones, tf.TensorSpec([None, 8, 8, 5]), ops=["PADV2", "CONV_2D"], static=False)


def test_depthwise():
    w = draw(3, 3, 3, 2)
    fn = lambda x: tf.nn.depthwise_conv2d(tf.pad(x, [[0, 0], [0, 1], [0, 1], [0, 0]]), w, [1, 2, 2, 1], "VALID")  # noqa: E731
    check(fn, tf.TensorSpec([None, 8, 8, 3]), ops=["DEPTHWISE_CONV_2D"])
