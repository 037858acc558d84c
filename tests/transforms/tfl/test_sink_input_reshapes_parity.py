"""Reshaped inputs, computed with element by element, against TensorFlow."""

from __future__ import annotations

import tensorflow as tf

from fuseconv.testing import check


def test_a_norm_of_a_reshaped_input() -> None:
    converted = check(lambda x: tf.norm(tf.reshape(x, [-1, 3, 2]), axis=-1), tf.TensorSpec([None, 6]))
    assert converted.ops[:2] == ["MUL", "RESHAPE"], converted.ops


def test_numbers_and_added_dimensions() -> None:
    def f(x, y):
        return tf.exp(1.5 - x[:, None]), tf.nn.relu(tf.reshape(y, [4, 3]) * 0.5), tf.squeeze(y, 0) ** 2.0

    check(f, tf.TensorSpec([None, 6]), tf.TensorSpec([1, 12]))


def test_inputs_of_branches_and_loops() -> None:
    def f(x):
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(tf.reshape(x, [-1, 3])), lambda: tf.reshape(x, [-1, 3]))
        return tf.while_loop(
            lambda i, h: i < 3, lambda i, h: (i + 1, tf.reshape(tf.tanh(tf.reshape(h, [-1, 6])), [-1, 3])), [0, y]
        )[1]

    check(f, tf.TensorSpec([None, 6]))
