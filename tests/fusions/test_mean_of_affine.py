"""Means of what is scaled and moved by constants."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 5, 4])
_rng = np.random.default_rng(0)
A, B, W = (tf.constant(_rng.normal(size=shape), tf.float32) for shape in ([4], [4], [4, 3]))


@pytest.mark.parametrize("keeps", [False, True])
def test_the_constants_follow_the_mean(keeps: bool) -> None:
    check(lambda x: tf.reduce_mean(x * A + B, 1, keeps), X, ops=["MEAN", "MUL", "ADD"])
    check(lambda x: tf.reduce_mean(x * tf.reshape(A, [1, 1, 4]), [0, 1], keeps), X, ops=["MEAN", "MUL"])


def test_a_dense_layer_takes_the_scale_and_the_offset_of_a_norm() -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        centered = x - tf.reduce_mean(x, 2, keepdims=True)
        return tf.reduce_mean(centered * A + B, 1) @ W

    check(fn, X, ops=["MEAN", "SUB", "MEAN", "FULLY_CONNECTED"])


def test_constants_that_differ_along_what_goes_stay() -> None:
    rows = tf.constant(_rng.normal(size=(5, 1)), tf.float32)
    check(lambda x: tf.reduce_mean(x * A, 2), X, ops=["MUL", "MEAN"])
    check(lambda x: tf.reduce_mean(x * rows, 1), X, ops=["MUL", "MEAN"])
    check(lambda x: tf.reduce_mean(tf.nn.relu(x * A), 1), X, ops=["MUL", "MEAN"])


@pytest.mark.parametrize("shape", [(3, 1, 1, 1), (5, 1)], ids=str)
def test_constants_that_give_the_data_a_larger_shape_stay(shape: tuple[int, ...]) -> None:
    large = tf.constant(_rng.normal(size=shape), tf.float32)
    one = tf.TensorSpec([None, 1, 4]) if len(shape) == 2 else X
    check(lambda x: tf.reduce_mean(x * large, -1), one, ops=["MUL", "MEAN"])
    check(lambda x: tf.reduce_mean(x * A + large, 2 - len(shape)), one, ops=["MUL", "ADD", "MEAN"])


def test_a_value_that_others_read_stays() -> None:
    check(lambda x: (tf.reduce_mean(x * A, 1), x * A), X, ops=["MUL", "MEAN"])
