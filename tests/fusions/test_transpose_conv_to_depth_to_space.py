"""Transposed convolutions whose windows lie side by side."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 3, 4, 5])
OPS = ["CONV_2D", "DEPTH_TO_SPACE"]
SIZED = ["SHAPE", "STRIDED_SLICE", "CONCATENATION", "TRANSPOSE_CONV"]


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def up(x, w, stride, sizes=(6, 8), padding="SAME"):
    shape = tf.stack([tf.shape(x)[0], *sizes, w.shape[2]])
    return tf.nn.conv2d_transpose(x, w, shape, stride, padding)


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("block", [2, 3])
def test_keras_layer(block, padding):
    import keras

    layer = keras.layers.Conv2DTranspose(
        2, block, block, padding, activation="relu", bias_initializer="normal", kernel_initializer="normal"
    )
    layer.build((None, 3, 4, 5))
    check(layer, IMAGE, ops=OPS)


def test_bias_and_norm_go_into_the_weights():
    w = draw(2, 2, 6, 5)
    check(lambda x: tf.nn.relu6(up(x, w, 2) * draw(6) + draw(6)), IMAGE, ops=OPS)
    check(lambda x: up(x, w, 2), IMAGE, ops=OPS)


def test_windows_of_one_element():
    w = draw(1, 1, 6, 5)
    check(lambda x: up(x, w, 1, (3, 4)) + draw(6), IMAGE, ops=["CONV_2D"])
    check(lambda x: up(x, w, 1, (3, 4)), tf.TensorSpec([2, 3, 4, 5]), ops=["CONV_2D"])


def test_images_of_unknown_size():
    w = draw(2, 2, 6, 5)

    def fn(x):
        sizes = tf.shape(x)
        return tf.nn.conv2d_transpose(x, w, tf.stack([sizes[0], 2 * sizes[1], 2 * sizes[2], 6]), 2, "SAME")

    check(fn, tf.TensorSpec([None, None, None, 5]), ops=OPS)


def test_rows():
    import keras

    layer = keras.layers.Conv1DTranspose(2, 3, 3, bias_initializer="normal", kernel_initializer="normal")
    layer.build((None, 4, 5))
    check(layer, tf.TensorSpec([None, 4, 5]), ops=["RESHAPE", "CONV_2D", "RESHAPE"])
    check(lambda x: up(x, draw(1, 3, 6, 5), (1, 3), (3, 12)), IMAGE, ops=["CONV_2D", "RESHAPE"])
    check(lambda x: up(x, draw(3, 1, 6, 5), (3, 1), (9, 4)), IMAGE, ops=SIZED)


def test_windows_that_overlap_or_leave_gaps():
    for size in (1, 3):
        check(lambda x: up(x, draw(size, size, 6, 5), 2), IMAGE, ops=SIZED)  # noqa: B023
    check(lambda x: up(x, draw(2, 3, 6, 5), (2, 3), (6, 12)), IMAGE, ops=SIZED)


def test_a_result_that_is_cut():
    check(lambda x: up(x, draw(2, 2, 6, 5), 2, (5, 7)), IMAGE, ops=SIZED)


def test_a_known_batch():
    check(lambda x: up(x, draw(2, 2, 6, 5), 2), tf.TensorSpec([2, 3, 4, 5]), ops=["TRANSPOSE_CONV"])


def test_weights_that_are_no_constant():
    ops = check(lambda x, w: up(x, w, 2), IMAGE, tf.TensorSpec([2, 2, 6, 5]), static=False).ops
    assert "TRANSPOSE_CONV" in ops
