"""Masks of scores."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

SCORES = tf.TensorSpec([None, 2, 6, 6])
MASK = tf.TensorSpec([None, 1, 1, 6], tf.bool)
LOWEST = -3e38
MASKED = ["SELECT_V2", "MINIMUM", "SOFTMAX"]
SELECTED = ["SELECT_V2", "SOFTMAX"]


def test_a_mask_of_keys():
    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, LOWEST)), SCORES, MASK, ops=MASKED)
    check(lambda x, mask: tf.nn.softmax(tf.where(mask, -np.inf, x)), SCORES, MASK, ops=MASKED, inputs=some_kept)
    rows = tf.TensorSpec([6], tf.bool)
    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, LOWEST)), SCORES, rows, ops=MASKED)


def some_kept(rng, shape, dtype):
    return np.eye(shape[-1], dtype=bool)[:1] if dtype.kind == "b" else rng.standard_normal(shape).astype(dtype)


def test_rows_that_are_masked_as_a_whole():
    def drawn(rng, shape, dtype):
        return np.zeros(shape, bool) if dtype.kind == "b" else rng.standard_normal(shape).astype(dtype)

    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, LOWEST)), SCORES, MASK, inputs=drawn)


def test_infinite_scores():
    def drawn(rng, shape, dtype):
        if dtype.kind == "b":
            return np.broadcast_to([True, False, True, False, True, True], shape)
        return np.where(np.arange(6) == 1, np.inf, rng.standard_normal(shape)).astype(dtype)

    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, LOWEST)), SCORES, MASK, inputs=drawn)


def test_one_mask_for_several_layers():
    def fn(x, y, mask):
        return [tf.nn.softmax(tf.where(mask, scores, LOWEST)) for scores in (x, y)]

    check(fn, SCORES, SCORES, MASK, ops=["SELECT_V2", *2 * MASKED[1:]])


def test_a_constant_mask_is_a_constant():
    causal = np.tril(np.ones((6, 6), bool))
    check(lambda x: tf.nn.softmax(tf.where(causal, x, LOWEST)), SCORES, ops=MASKED[1:])
    large = np.tril(np.ones((600, 600), bool))
    x = tf.TensorSpec([1, 600, 600])
    check(lambda x: tf.nn.softmax(tf.where(large, x, LOWEST)), x, ops=SELECTED)


def test_a_mask_as_large_as_the_scores():
    mask = tf.TensorSpec([None, 2, 6, 6], tf.bool)
    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, LOWEST)), SCORES, mask, ops=SELECTED)


def test_numbers_that_scores_may_lie_below():
    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, -1e9)), SCORES, MASK, ops=SELECTED)


def test_a_mask_that_enlarges_the_scores():
    x = tf.TensorSpec([None, 1, 1, 6])
    mask = tf.TensorSpec([4, 6, 1], tf.bool)
    check(lambda x, mask: tf.nn.softmax(tf.where(mask, x, LOWEST)), x, mask, ops=MASKED)


def test_another_reader_of_what_is_selected():
    def fn(x, mask):
        y = tf.where(mask, x, LOWEST)
        return y, tf.nn.softmax(y)

    check(fn, SCORES, MASK, ops=SELECTED)


def test_keras_layer():
    import keras

    layer = keras.layers.MultiHeadAttention(2, 3)
    layer.build((None, 6, 4), (None, 6, 4))
    fn = lambda x, mask: layer(x, x, attention_mask=mask)  # noqa: E731
    ops = check(fn, tf.TensorSpec([None, 6, 4]), tf.TensorSpec([None, 1, 6], tf.bool)).ops
    assert ops.count("SELECT_V2") == 1 == ops.count("MINIMUM")
