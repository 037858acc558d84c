"""Logarithms of 1 + exp(x), however large x is."""

import tensorflow as tf

from fuseconv.testing import check
from tests.fusions.test_mish import wide

X = tf.TensorSpec([None, 6, 5])
BELOW = ["LOGISTIC", "LOG", "NEG", "LOGISTIC", "ELU", "ADD", "SUB"]


def test_of_a_distance():
    check(lambda x: tf.math.log1p(tf.exp(-tf.abs(x))), X, ops=["ABS", *BELOW], inputs=wide)


def test_of_any_number():
    def function(x):
        x = tf.minimum(x, 80.0)
        return tf.math.log1p(tf.exp(x)), tf.exp(x)

    conversion = check(function, X, inputs=wide)
    assert conversion.ops.count("LOG") == 1 and "SELECT_V2" not in conversion.ops


def test_cross_entropy():
    def function(x, labels):
        return tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x)

    assert "SELECT_V2" not in check(function, X, X, inputs=wide).ops


def test_another_argument_stays_a_logarithm():
    def function(x):
        return tf.math.log1p(tf.nn.sigmoid(x))

    assert "ELU" not in check(function, X).ops
