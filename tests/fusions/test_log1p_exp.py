"""Logarithms of 1 + exp(x), however large x is."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check
from tests.fusions.test_mish import wide
from tests.tfl.test_softplus import FRACTION

X = tf.TensorSpec([None, 6, 5])


def test_of_a_distance():
    check(lambda x: tf.math.log1p(tf.exp(-tf.abs(x))), X, ops=["LEAKY_RELU", "NEG", *FRACTION, "NEG"], inputs=wide)


def test_of_any_number():
    def function(x):
        x = tf.minimum(x, 80.0)
        return tf.math.log1p(tf.exp(x)), tf.exp(x)

    conversion = check(function, X, inputs=wide)
    assert conversion.ops.count("LOGISTIC") == 1 and "LOG" not in conversion.ops and "SELECT_V2" not in conversion.ops


def cross_entropy(x, labels):
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x)


def test_cross_entropy():
    check(cross_entropy, X, X, ops=["RELU", "MUL", "SUB", "LEAKY_RELU", "NEG", *FRACTION, "SUB"], inputs=wide)


def test_cross_entropy_of_what_is_no_number():
    x = np.array([[np.nan, -0.0, 0, 30, -30]], np.float32)
    check(cross_entropy, tf.TensorSpec([1, 5]), tf.TensorSpec([1, 5]), inputs=[x, np.float32([[1, 0, 0.3, 1, 1]])])


def test_selections_by_another_bound_stay():
    def function(x, labels):
        above = x >= 0.5
        return tf.where(above, x, 0.5) - x * labels + tf.math.log1p(tf.exp(tf.where(above, -x, x)))

    assert check(function, X, X).ops.count("SELECT_V2") == 2


def test_another_argument_stays_a_logarithm():
    def function(x):
        return tf.math.log1p(tf.nn.sigmoid(x))

    assert "LOG" in check(function, X).ops
