"""Group norms and images whose pixels are repeated, for the GPU: nothing is refused, the numbers are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

_WEIGHTS = np.random.default_rng(2).normal(size=(6, 24)).astype(np.float32)
_FACTORS = np.random.default_rng(1).uniform(0.5, 2.0, (2, 6)).astype(np.float32)


def group_norm(x: Any) -> Any:
    rows = tf.reshape(x, [-1, 5, 3, 2, 3])
    mean, variance = tf.nn.moments(rows, [1, 2, 4], keepdims=True)
    norm = tf.reshape((rows - mean) * tf.math.rsqrt(variance + 1e-3), [-1, 5, 3, 6])
    return tf.nn.silu(norm * _FACTORS[0] + _FACTORS[1])


def repeated(x: Any) -> Any:
    return tf.repeat(tf.repeat(x, 2, axis=1), 3, axis=2)


def shuffled(x: Any) -> Any:
    return tf.reshape(tf.transpose(tf.reshape(x, [-1, 5, 3, 2, 3]), [0, 1, 2, 4, 3]), [-1, 5, 3, 6]) * _FACTORS[0]


def in_blocks(x: Any) -> Any:
    """Columns before rows, and channels in front of both."""
    return tf.reshape(tf.transpose(tf.reshape(x, [-1, 5, 3, 1, 2, 3]), [0, 4, 5, 3, 2, 1]), [-1, 6, 15]) + 1.0


def attention_in_windows(x: Any) -> Any:
    """Queries, keys and values of windows of 5 x 1, of two heads, computed at once."""
    windows = tf.transpose(tf.reshape(x, [-1, 1, 5, 3, 1, 6]), [0, 1, 3, 2, 4, 5])
    rows = tf.reshape(tf.matmul(tf.reshape(windows, [-1, 5, 6]), _WEIGHTS), [-1, 5, 3, 2, 4])
    q, k, v = tf.unstack(tf.transpose(rows, [2, 0, 3, 1, 4]))
    mixed = tf.transpose(tf.nn.softmax(q @ tf.transpose(k, [0, 1, 3, 2])) @ v, [0, 2, 1, 3])
    return tf.reshape(mixed, [-1, 3, 5, 8])


@pytest.mark.parametrize("model", [group_norm, repeated, shuffled, in_blocks, attention_in_windows])
def test_the_gpu_takes_all_of_it(model: Any) -> None:
    converted = check(model, tf.TensorSpec([1, 5, 3, 6]), target="gpu")
    assert converted.report.target is not None and not converted.report.target["refused"]
