"""Gradients of what broadcasts along unknown sizes, one of which turns out to be 1."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, None, 6])


def _gradient(function):
    def differentiated(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.tanh(function(x)))
        return tape.gradient(y, x)

    return differentiated


@pytest.mark.parametrize("function", [
    lambda x: x - tf.reduce_mean(x, 1, keepdims=True),
    lambda x: x / (2.0 + tf.reduce_max(x, -1, keepdims=True)),
    lambda x: x * tf.reduce_sum(x, [0, 2], keepdims=True),
])  # fmt: skip
def test_gradients_of_what_is_reduced(function):
    converted = check(_gradient(function), X, batches=(1, 3))
    assert "WHERE" not in converted.ops and len(converted.ops) < 20


def test_a_mean_of_unknown_size():
    converted = check(_gradient(lambda x: tf.reduce_mean(x * x)), tf.TensorSpec([None, 5]), batches=(1, 3))
    assert "GATHER" not in converted.ops
