"""Sums and differences with negated terms."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check
from tests.tfl.test_softplus import FRACTION

C = np.random.default_rng(0).standard_normal(4).astype(np.float32)
X = tf.TensorSpec([None, 3, 4])


def test_a_negated_term_is_subtracted():
    check(lambda x, y: -x + tf.sin(y), X, X, ops=["SIN", "SUB"])
    check(lambda x, y: tf.sin(y) - (-x), X, X, ops=["SIN", "ADD"])


def test_a_product_with_a_negated_factor_is_subtracted():
    check(lambda x, y: -x * tf.sin(y) + C, X, X, ops=["SIN", "MUL", "SUB"])
    check(lambda x, y: tf.nn.relu(C - y * -x), X, X, ops=["MUL", "ADD"])


def test_a_negated_difference_is_turned():
    check(lambda x, y: -(x - tf.sin(y)), X, X, ops=["SIN", "SUB"])
    check(tf.math.log_sigmoid, X, ops=["NEG", "RELU", "LEAKY_RELU", "NEG", *FRACTION, "SUB"])
    check(lambda x, y: -tf.nn.relu(x - y), X, X, ops=["SUB", "NEG"])


def test_a_negated_value_that_others_read_stays():
    check(lambda x, y: (-x, -x + y), X, X, ops=["NEG", "ADD"], static=False)


def test_the_mean_of_an_instance_norm_is_not_negated():
    def norm(x):
        mean, variance = tf.nn.moments(x, [1], keepdims=True)
        factor = tf.math.rsqrt(variance + 1e-3) * C
        return x * factor + (-mean * factor + C)

    assert "NEG" not in check(norm, X).ops
