"""Tensors that hold one number everywhere."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 4, 6])


def test_ones_and_zeros_of_the_input_vanish():
    check(lambda x: tf.nn.relu(x * tf.ones_like(x) + tf.zeros_like(x)), X, ops=["RELU"])
    check(lambda x: tf.exp(x / tf.fill(tf.shape(x), 1.0) - tf.zeros(tf.shape(x))), X, ops=["EXP"])
    check(lambda x: tf.nn.relu(x + tf.reshape(tf.fill([tf.shape(x)[0], 24], 2.0), tf.shape(x))), X, ops=["ADD"])


def test_what_is_counted_is_known():
    def mean(x):
        ones = tf.cast(tf.ones_like(x, tf.int32), tf.float32)
        return tf.math.divide_no_nan(tf.reduce_sum(x * ones, 2), tf.reduce_sum(ones, 2))

    check(mean, X, ops=["MEAN"])


@pytest.mark.parametrize("reduce", [tf.reduce_max, tf.reduce_min, tf.reduce_mean, tf.reduce_sum])
def test_reductions(reduce):
    check(lambda x: x[:, 0, 0] * reduce(tf.fill(tf.shape(x), 3.0), [1, 2]), X, ops=["STRIDED_SLICE", "MUL"])
    # How many there are is not known.
    check(lambda x: x * reduce(tf.fill(tf.shape(x), 3.0), 0), X)


def test_a_condition_that_holds_everywhere():
    true = lambda x: tf.equal(tf.ones_like(x), 1.0)  # noqa: E731
    check(lambda x: tf.exp(tf.where(true(x), x, x * x)), X, ops=["EXP"])
    check(lambda x: tf.exp(tf.where(tf.logical_not(true(x)), x, x * x)), X, ops=["MUL", "EXP"])


def test_what_gives_a_result_its_shape_stays():
    row = tf.TensorSpec([None, 1, 6])
    check(lambda x, y: y * tf.ones_like(x), X, row)
    check(lambda x, y: tf.where(tf.zeros_like(x) > 1.0, x, y), X, row)
    check(lambda x: tf.concat([tf.ones_like(x), x], 0), X)


def test_constants_of_nothing_but_ones():
    x = tf.TensorSpec([2, 3, 4])
    check(lambda x: tf.exp(x * tf.ones([2, 3, 4])), x, ops=["EXP"])
    check(lambda x: tf.exp(x * tf.ones([5, 2, 3, 4])), x)
    check(lambda x: tf.exp(x * np.arange(24, dtype=np.float32).reshape(2, 3, 4)), x, ops=["MUL", "EXP"])


@pytest.mark.parametrize("axis", [-1, 1])
def test_a_group_norm_of_tf_keras(axis):
    import tf_keras

    layer = tf_keras.layers.GroupNormalization(2, axis)
    layer.build((None, 4, 6))
    for weight in layer.weights:
        weight.assign(np.random.default_rng(0).standard_normal(weight.shape))
    converted = check(layer, X)
    assert not {"FILL", "SELECT_V2", "ZEROS_LIKE", "SHAPE", "EQUAL"} & set(converted.ops)
