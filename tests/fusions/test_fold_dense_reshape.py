"""Reshapes around dense layers."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
W, B = RNG.standard_normal((4, 6)).astype(np.float32), RNG.standard_normal(6).astype(np.float32)
X = tf.TensorSpec([None, 3, 5, 4])


def flat(x):
    return tf.matmul(tf.reshape(x, [-1, 4]), W)


def test_dimensions_are_kept():
    check(lambda x: tf.reshape(flat(x), [-1, 3, 5, 6]) + B, X, ops=["FULLY_CONNECTED"])
    check(lambda x: tf.tensordot(x, W, 1), X, ops=["FULLY_CONNECTED"])


def test_several_unknown_dimensions():
    import keras

    dense = keras.layers.Dense(6, activation="relu", bias_initializer="normal")
    dense.build((None, None, 4))
    ops = check(dense, tf.TensorSpec([None, None, 4])).ops
    assert ops.count("FULLY_CONNECTED") == 1


def test_dimensions_that_are_given_back_in_two_steps():
    check(tf.image.rgb_to_grayscale, tf.TensorSpec([2, 5, 6, 3]), ops=["FULLY_CONNECTED"])


def test_rows_are_read_as_they_are():
    check(flat, X, ops=["FULLY_CONNECTED"])
    w = RNG.standard_normal((20, 6)).astype(np.float32)
    check(lambda x: tf.matmul(tf.reshape(x, [-1, 20]), w), tf.TensorSpec([None, 5, 4]), ops=["FULLY_CONNECTED"])


def test_rows_that_cross_the_datas():
    w = RNG.standard_normal((8, 6)).astype(np.float32)
    check(lambda x: tf.matmul(tf.reshape(x, [-1, 8]), w), tf.TensorSpec([None, 6, 4]), ops=["FULLY_CONNECTED"])


def test_other_readers_keep_the_reshape():
    ops = ["RESHAPE", "FULLY_CONNECTED", "TANH"]
    check(lambda x: (flat(x), tf.tanh(tf.reshape(x, [-1, 4]))), X, ops=ops, static=False)


def test_other_dimensions_keep_the_reshape():
    check(lambda x: tf.reshape(flat(x), [-1, 5, 3, 6]), X, ops=["FULLY_CONNECTED", "RESHAPE"], static=False)


def windows(x):
    """Rows of windows of 2 by 2, as Swin Transformers partition images."""
    x = tf.reshape(x, [-1, 2, 2, 3, 2, 4])
    return tf.reshape(tf.transpose(x, [0, 1, 3, 2, 4, 5]), [-1, 4, 4])


def heads(x, w):
    return tf.reshape(tf.tensordot(x, w, 1), [-1, 4, 2, 3])


def test_several_layers_share_no_reshape():
    image = tf.TensorSpec([None, 4, 6, 4])
    ops = ["RESHAPE", "TRANSPOSE", *["FULLY_CONNECTED", "RESHAPE"] * 2, "MUL"]
    check(lambda x: heads(windows(x), W) * heads(windows(x), -2 * W), image, ops=ops)


def test_a_result_that_is_read_as_it_is_keeps_the_reshape():
    image = tf.TensorSpec([None, 4, 6, 4])
    ops = check(lambda x: (heads(windows(x), W), tf.tanh(tf.tensordot(windows(x), -2 * W, 1))), image).ops
    assert ops.count("RESHAPE") == 3
