"""Pools that only leave elements out."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 7, 6, 4])
W1, W3 = (RNG.standard_normal((size, size, 4, 5)).astype(np.float32) for size in (1, 3))


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("pool", [tf.nn.avg_pool2d, tf.nn.max_pool2d])
def test_into_the_stride(pool, padding):
    check(lambda x: tf.nn.conv2d(pool(x, 1, 2, padding), W1, 1, padding), IMAGE, ops=["CONV_2D"])
    check(lambda x: tf.nn.conv2d(pool(x, 1, [3, 2], "SAME"), W1, [1, 2], padding), IMAGE, ops=["CONV_2D"])


def test_several_readers():
    def fn(x):
        y = tf.nn.avg_pool2d(x, 1, 2, "VALID")
        return tf.nn.conv2d(y, W1, 1, "SAME"), tf.nn.conv2d(y, -W1, 1, "SAME")

    check(fn, IMAGE, ops=["CONV_2D", "CONV_2D"])


def test_larger_windows_stay():
    ops = ["AVERAGE_POOL_2D", "CONV_2D"]
    check(lambda x: tf.nn.conv2d(tf.nn.avg_pool2d(x, 1, 2, "SAME"), W3, 1, "SAME"), IMAGE, ops=ops)
    check(lambda x: tf.nn.conv2d(tf.nn.avg_pool2d(x, 2, 2, "SAME"), W1, 1, "SAME"), IMAGE, ops=ops)
    check(lambda x: tf.nn.conv2d(tf.nn.avg_pool2d(x, [2, 1], 2, "SAME"), W1, 1, "SAME"), IMAGE, ops=ops)


def test_an_activation_between_stays():
    fn = lambda x: tf.nn.conv2d(tf.nn.relu(tf.nn.avg_pool2d(x, 1, 2, "SAME")), W1, 1, "SAME")  # noqa: E731
    check(fn, IMAGE, ops=["AVERAGE_POOL_2D", "CONV_2D"])
