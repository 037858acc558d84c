"""Masks that select."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

SCORES = tf.TensorSpec([None, 2, 6, 6])
MASK = tf.TensorSpec([None, 1, 1, 6], tf.bool)


def test_a_mask_of_ones():
    def fn(x, mask):
        return tf.nn.softmax(tf.where(tf.logical_and(tf.ones_like(x, tf.bool), mask), x, -1e9))

    check(fn, SCORES, MASK, ops=["SELECT_V2", "SOFTMAX"])


def test_keras_layer():
    import keras

    layer = keras.layers.MultiHeadAttention(2, 3)
    layer.build((None, 6, 4), (None, 6, 4))
    fn = lambda x, mask: layer(x, x, attention_mask=mask)  # noqa: E731
    ops = check(fn, tf.TensorSpec([None, 6, 4]), tf.TensorSpec([None, 1, 6], tf.bool)).ops
    assert "LOGICAL_AND" not in ops and "FILL" not in ops and ops.count("SELECT_V2") == 1


def test_a_mask_that_is_false_somewhere_stays():
    causal = np.tril(np.ones((6, 6), bool))
    ops = ["LOGICAL_AND", "SELECT_V2"]
    check(lambda x, mask: tf.where(tf.logical_and(causal, mask), x, -1e9), SCORES, MASK, ops=ops)


def test_a_mask_that_enlarges_the_result_stays():
    ones = np.ones((2, 6, 6), bool)
    row = tf.TensorSpec([None, 1, 1, 6])
    ops = check(lambda x, mask: tf.where(tf.logical_and(ones, mask), x, -1e9), row, MASK, static=False).ops
    assert "LOGICAL_AND" in ops
