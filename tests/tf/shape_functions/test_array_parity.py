"""Shapes of ops that move elements, in models."""

from __future__ import annotations

import tensorflow as tf

from fuseconv.testing import check


def test_what_is_left_of_no_elements() -> None:
    check(lambda x: tf.reshape(x, [2, 0, -1]), tf.TensorSpec([1, 4, 0]))


def test_a_table_of_positions_is_made_once() -> None:
    def table(x: tf.Tensor) -> tf.Tensor:
        angles = tf.range(0.0, tf.cast(tf.shape(x)[1], tf.float32), 1.0)[:, tf.newaxis] * tf.constant([1.0, 0.1, 0.01])
        return x * tf.cos(angles) + tf.sin(angles)

    def layers(x: tf.Tensor) -> tf.Tensor:
        return table(tf.nn.relu(table(x)) * 0.5)

    ops = check(layers, tf.TensorSpec([None, None, 3], tf.float32)).ops
    assert [ops.count(kind) for kind in ("RANGE", "COS", "SIN")] == [1, 1, 1]
