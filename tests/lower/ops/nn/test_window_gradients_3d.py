"""Parity of the gradients of convolutions and pooling in three dimensions."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused
from tests.lower.ops.nn.test_window_gradients import gradient, gradients, images


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("strides", [(1, 1, 1), (2, 1, 3)], ids=["ones", "mixed"])
def test_convolution(strides, padding):
    def layer(x, w):
        return tf.nn.conv3d(x, w, [1, *strides, 1], padding)

    check(gradients(layer), images(None, 4, 5, 6, 2), images(2, 3, 2, 2, 3), atol=3e-5)


def test_grouped_convolution():
    def by_filter(x, dy):
        shape = [2, 1, 2, 2, 6]
        return tf.raw_ops.Conv3DBackpropFilterV2(
            input=x, filter_sizes=shape, out_backprop=dy, strides=[1] * 5, padding="VALID"
        )

    def reference(x, dy):
        parts = zip(tf.split(x, 2, 4), tf.split(dy, 2, 4))
        shape = [2, 1, 2, 2, 3]
        made = [
            tf.raw_ops.Conv3DBackpropFilterV2(
                input=part, filter_sizes=shape, out_backprop=own, strides=[1] * 5, padding="VALID"
            )
            for part, own in parts
        ]
        return tf.concat(made, 4)

    check(by_filter, images(None, 3, 3, 4, 4), images(None, 2, 3, 3, 6), reference=reference)


POOLS = {"max": tf.nn.max_pool3d, "average": tf.nn.avg_pool3d}


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize(
    ("kernel", "strides", "padding"),
    [(2, 2, "VALID"), ((1, 2, 2), (1, 2, 2), "VALID"), (3, 2, "SAME"), (2, 3, "VALID"), (2, (1, 2, 1), "SAME")],
    ids=str,
)
def test_pooling(pool, kernel, strides, padding):
    def drawn(rng, shape, dtype):
        # Several elements of a window are its maximum, as after a ReLU.
        return np.maximum(rng.integers(-2, 3, shape), 0).astype(dtype)

    layer = lambda x: POOLS[pool](x, kernel, strides, padding)  # noqa: E731
    check(gradient(layer), images(None, 5, 7, 6, 2), inputs=drawn)


@pytest.mark.parametrize("pool", POOLS)
def test_windows_side_by_side_are_not_added(pool):
    converted = check(gradient(lambda x: POOLS[pool](x, 2, 2, "VALID")), images(None, 4, 4, 4, 3))
    assert "ADD" not in converted.ops


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize(("kernel", "strides"), [(2, 2), (3, 2), (2, 3)], ids=str)
def test_pooling_of_unknown_sizes(pool, kernel, strides):
    run = gradient(lambda x: POOLS[pool](x, kernel, strides, "VALID"))
    check(run, images(None, None, 7, None, 2), batches=(3, 6))


def test_convolution_of_unknown_sizes():
    both = gradients(lambda x, w: tf.nn.conv3d(x, w, [1, 2, 1, 3, 1], "VALID"))
    check(both, images(None, None, 5, None, 2), images(2, 3, 2, 2, 3), batches=(3, 6), atol=3e-5)


def test_what_same_pads_by_unknown_sizes_is_refused():
    pool = gradient(lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"))
    check_refused(pool, images(1, None, 4, 4, 3), match="depth, height and width must be known")


@pytest.mark.parametrize(("kernel", "strides"), [(2, 2), (3, 2)], ids=str)
def test_same_pads_by_unknown_sizes(kernel, strides):
    run = gradient(lambda x: tf.nn.max_pool3d(x, kernel, strides, "SAME"))
    check(run, images(None, None, 7, None, 2), batches=(3, 6))
    both = gradients(lambda x, w: tf.nn.conv3d(x, w, [1, 2, 1, 3, 1], "SAME"))
    check(both, images(None, None, 5, None, 2), images(2, 3, 2, 2, 3), batches=(3, 6), atol=3e-5)


def test_a_large_window_is_refused():
    wide = gradient(lambda x: tf.nn.avg_pool3d(x, 7, 1, "SAME"))
    check_refused(wide, images(1, 8, 8, 8, 1), match="too large")
