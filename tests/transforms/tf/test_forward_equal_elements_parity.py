"""Gradients of loops, with a dynamic batch."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fuseconv.testing import check


def test_gradients_of_a_masked_layer_behind_another() -> None:
    rng = np.random.default_rng(0)
    inner, outer = (tf.Variable(rng.standard_normal((4, 4)).astype(np.float32)) for _ in range(2))

    def gradients(x: tf.Tensor) -> list[tf.Tensor]:
        def step(weights: tf.Variable) -> object:
            return lambda state, row: tf.where(row[:, :1] > 0, tf.tanh(state @ weights + row), state)

        with tf.GradientTape() as tape:
            rows = tf.scan(step(inner), x, tf.zeros_like(x[0]))
            last = tf.scan(step(outer), rows, tf.zeros_like(x[0]))[-1]
            loss = tf.reduce_sum(last**2)
        return tape.gradient(loss, [inner, outer])

    check(gradients, tf.TensorSpec([None, None, 4]), batches=(4,))


def test_gradients_of_rows_that_are_read_twice() -> None:
    weights = tf.Variable(np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32))

    def gradients(x: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, rows: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
            made = tf.tanh(rows.read(i) @ weights + x[i] + rows.read(tf.maximum(i - 1, 0)))
            return i + 1, rows.write(i + 1, made)

        with tf.GradientTape() as tape:
            rows = tf.TensorArray(tf.float32, tf.shape(x)[0] + 1, clear_after_read=False).write(0, x[0])
            _, rows = tf.while_loop(lambda i, rows: i < tf.shape(x)[0], body, (0, rows))
            loss = tf.reduce_sum(rows.stack() ** 2)
        return tape.gradient(loss, weights)

    check(gradients, tf.TensorSpec([None, None, 4]), batches=(4,))
