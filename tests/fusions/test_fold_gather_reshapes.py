"""Reshapes around a GATHER."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
X, INDICES = tf.TensorSpec([None, 7, 3]), tf.TensorSpec([None, 2, 4], tf.int32)
TABLE = RNG.standard_normal((7, 3)).astype(np.float32)


def _indices(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.integers(0, 7, shape) if dtype == np.int32 else rng.standard_normal(shape)).astype(dtype)


def _rows(x: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
    return tf.gather(x, tf.reshape(i, [-1, 8]), batch_dims=1)


def _check(function: Any, *specs: tf.TensorSpec, **options: Any) -> Any:
    return check(function, *specs, inputs=_indices, **options)


def test_rows_of_a_batch() -> None:
    """As a warp takes pixels."""
    _check(lambda x, i: tf.reshape(_rows(x, i), [-1, 2, 4, 3]), X, INDICES, ops=["GATHER"])


def test_rows_of_a_table() -> None:
    _check(lambda i: tf.reshape(tf.gather(TABLE, tf.reshape(i, [-1])), [-1, 2, 4, 3]), INDICES, ops=["GATHER"])


def test_another_axis() -> None:
    x, i = tf.TensorSpec([5, 7, 3]), tf.TensorSpec([2, 4], tf.int32)
    _check(lambda x, i: tf.reshape(tf.gather(x, tf.reshape(i, [-1]), axis=1), [5, 2, 4, 3]), x, i, ops=["GATHER"])


@pytest.mark.parametrize("shape", [[-1, 4, 2, 3], [-1, 8, 3], [-1, 2, 12]])
def test_another_shape_keeps_the_reshape(shape: list[int]) -> None:
    made = _check(lambda x, i: tf.reshape(_rows(x, i), shape), X, INDICES)
    assert "RESHAPE" in made.ops


def test_other_readers_keep_the_reshape() -> None:
    def function(x: tf.Tensor, i: tf.Tensor) -> tuple[tf.Tensor, ...]:
        rows = _rows(x, i)
        return tf.reshape(rows, [-1, 2, 4, 3]), tf.reduce_sum(rows, 1)

    assert _check(function, X, INDICES).ops.count("GATHER") == 1
