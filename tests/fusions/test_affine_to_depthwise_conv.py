"""A factor and a term for each channel, which no convolution takes."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 5, 6, 4])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


A, B, W = draw(4), draw(4), draw(3, 3, 4, 2)


def test_one_pass():
    check(lambda x: x * A + B, IMAGE, ops=["DEPTHWISE_CONV_2D"])
    check(lambda x: tf.nn.relu6(x * draw(1, 1, 1, 4) + 0.5), IMAGE, ops=["DEPTHWISE_CONV_2D"])
    check(lambda x: x / A - B, tf.TensorSpec([None, None, None, 4]), ops=["DEPTHWISE_CONV_2D"])


def test_one_number_for_all_channels_stays_in_two_ops():
    check(lambda x: x * 2.0 - 1.0, IMAGE, ops=["MUL", "ADD"])
    check(lambda x: x / 127.5 + [[0.5]], IMAGE, ops=["MUL", "ADD"])
    check(lambda x: x * 2.0 - 1.0, tf.TensorSpec([None, 5, 6, 64]), ops=["MUL", "ADD"])


def test_keras_layers():
    import keras

    norm = keras.layers.BatchNormalization(epsilon=1e-3)
    model = keras.Sequential([norm, keras.layers.ReLU(), keras.layers.Conv2D(2, 3)])
    model.build((None, 5, 6, 4))
    for number, weight in enumerate(norm.weights):
        weight.assign(tf.random.stateless_uniform(weight.shape, [number, 1], 0.1, 1.0))
    check(model, IMAGE, ops=["DEPTHWISE_CONV_2D", "CONV_2D"])


def test_what_weights_take_goes_there():
    check(lambda x: tf.nn.conv2d(x * A + B, W, 1, "SAME"), IMAGE, ops=["ADD", "CONV_2D"])
    check(lambda x: (x * A + B) * B, IMAGE, ops=["DEPTHWISE_CONV_2D"])


def test_only_images():
    check(lambda x: x * A + B, tf.TensorSpec([None, 6, 4]), ops=["MUL", "ADD"])
    check(lambda x: x * A + B, tf.TensorSpec([None, 6, 1, 1]), ops=["MUL", "ADD"])


def test_constants_along_other_dimensions_stay():
    check(lambda x: x * A + draw(6, 1), IMAGE, ops=["MUL", "ADD"])


def test_another_reader_keeps_the_product():
    check(lambda x: (x * A, tf.abs(x * A + B)), IMAGE, ops=["MUL", "ADD", "ABS"])


def test_other_types_stay():
    check(lambda x: x * 3 + 2, tf.TensorSpec([None, 5, 6, 4], tf.int32), ops=["MUL", "ADD"])
