"""The gate of mish, however large x is."""

import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 6, 5])
OPS = ["LOGISTIC", "SUB", "MUL", "SUB", "DIV", "MUL"]


def wide(rng, shape, dtype):
    x = (rng.standard_normal(shape) * 8).astype(dtype)
    x[0, 0] = [-1000.0, -90.0, 0.0, 90.0, 1000.0]
    return x


def test_mish():
    check(lambda x: x * tf.tanh(tf.nn.softplus(x)), X, ops=OPS, inputs=wide)


def test_keras():
    import keras

    check(keras.layers.Activation("mish"), X, ops=OPS, inputs=wide)


def test_softplus_that_others_read_does_not_overflow():
    check(lambda x: (tf.nn.softplus(x), tf.tanh(tf.nn.softplus(x))), X, inputs=wide)
