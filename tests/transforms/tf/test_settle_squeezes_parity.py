"""Squeezes of all dimensions of size 1, with TensorFlow's numbers."""

from __future__ import annotations

import pytest
import tensorflow as tf

from fuseconv.testing import check

ROWS = tf.TensorSpec([None, 1, 4])

# Those that run for a batch of 1 as well, where there is a dimension less.
ANY_RANK = {
    "sum": lambda x: tf.reduce_sum(x, -1),
    "mean": lambda x: tf.reduce_mean(x, 0, keepdims=True),
    "norm": lambda x: tf.math.l2_normalize(x, -1) + tf.norm(x, axis=-1, keepdims=True),
    "moments": lambda x: tf.nn.moments(x, [0]),
    "any": lambda x: tf.reduce_any(x > 1, -1),
    "argmax": lambda x: tf.argmax(x, -1),
    "concat": lambda x: tf.concat([x, x + 1], -1),
    "stack": lambda x: tf.stack([x, x + 1]),
    "split": lambda x: tf.split(x, 2, -1),
    "gather": lambda x: tf.gather(x, [0, 0, 0], axis=-1),
    "element": lambda x: x[0],
    "new axis": lambda x: x[:, None] * 2,
    "transpose": lambda x: tf.transpose(x) + 1,
    "sort": lambda x: tf.sort(x, -1),
    "softmax": lambda x: tf.nn.softmax(x),
}
ONE_RANK = {
    "product": lambda x: x @ tf.constant([[1.0, -2.0], [0.5, 1.0], [2.0, 0.1], [0.3, 3.0]]),
    "einsum": lambda x: tf.einsum("ij,ik->jk", x, x),
    "bias": lambda x: tf.nn.bias_add(x, tf.constant([1.0, 2.0, 3.0, 4.0])),
    "column": lambda x: x[:, 1],
    "pad": lambda x: tf.pad(x, [[0, 0], [1, 2]]),
    "mean": lambda x: tf.reduce_mean(x, 1),
}


@pytest.mark.parametrize("reader", ANY_RANK)
def test_readers_of_any_rank(reader: str) -> None:
    check(lambda x: ANY_RANK[reader](tf.squeeze(x)), ROWS, batches=(3, 1, 2), static=False)


@pytest.mark.parametrize("reader", ONE_RANK)
def test_readers_of_one_rank(reader: str) -> None:
    check(lambda x: ONE_RANK[reader](tf.squeeze(x)), ROWS, static=False)


def test_a_vectorized_norm() -> None:
    check(lambda x, y: tf.vectorized_map(lambda t: t[0] / tf.norm(t[0]) @ t[1][:, None], (x, y)),
          tf.TensorSpec([None, 4, 4]), tf.TensorSpec([None, 4]), static=False)  # fmt: skip
