"""Convolutions of parts of the channels."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 6, 7, 12])


def weights(groups, outputs=8, inputs=12, window=3):
    shape = (window, window, inputs // groups, outputs // groups)
    return [RNG.standard_normal(shape, np.float32) for _ in range(groups)]


def conv(x, w, **options):
    return tf.nn.conv2d(x, w, **{"strides": 1, "padding": "SAME"} | options)


@pytest.mark.parametrize("groups", [2, 4])
@pytest.mark.parametrize("options", [{}, {"strides": 2}, {"dilations": 2}, {"padding": "VALID"}])
def test_split(groups, options):
    w, b = weights(groups), RNG.standard_normal(8, np.float32)

    def fn(x):
        parts = [conv(a, f, **options) for a, f in zip(tf.split(x, groups, 3), w)]
        return tf.nn.relu(tf.concat(parts, -1) * 2.0 + b)

    check(fn, IMAGE, ops=["CONV_2D"])


def test_slices_with_biases_and_activations():
    w, b = weights(3, 9), RNG.standard_normal((3, 3)).astype(np.float32)

    def fn(x):
        return tf.concat([tf.nn.relu(conv(x[..., 4 * i : 4 * i + 4], w[i]) + b[i]) for i in range(3)], 3)

    check(fn, IMAGE, ops=["CONV_2D"])


def test_a_resnext_of_keras_layers():
    import keras

    image = keras.Input((6, 7, 12))
    x = keras.layers.Conv2D(8, 1, bias_initializer="normal")(image)
    parts = [keras.layers.Conv2D(2, 3, use_bias=False)(x[:, :, :, 2 * i : 2 * i + 2]) for i in range(4)]
    x = keras.layers.BatchNormalization()(keras.layers.Concatenate()(parts))
    check(keras.Model(image, keras.layers.ReLU()(x)), IMAGE, ops=["CONV_2D", "CONV_2D"])


def stays(fn):
    assert "CONCATENATION" in check(fn, IMAGE).ops


def test_others_stay():
    w = weights(2)
    stays(lambda x: tf.concat([conv(a, f) for a, f in zip(tf.split(x, 2, 3), w)][::-1], 3))
    stays(lambda x: tf.concat([conv(a, f) for a, f in zip(tf.split(x, 2, 3), w)], 2))
    stays(lambda x: tf.concat([conv(x[..., :6], w[0]), tf.nn.relu(conv(x[..., 6:], w[1]))], 3))
    stays(lambda x: tf.concat([conv(x[..., :6], w[0]), conv(x[..., 5:11], w[1])], 3))
    stays(lambda x: tf.concat([conv(x[..., :6], w[0]), x[..., 6:]], 3))
    small = weights(2, inputs=8)
    stays(lambda x: tf.concat([conv(x[..., :4], small[0]), conv(x[..., 4:8], small[1])], 3))


def test_a_part_that_is_read_elsewhere():
    w = weights(2)

    def fn(x):
        a, b = (conv(a, f) for a, f in zip(tf.split(x, 2, 3), w))
        return tf.concat([a, b], 3), tf.exp(b)

    check(fn, IMAGE)
