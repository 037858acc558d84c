"""Negative zeros are found without a look at bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

# No denormal ones, which TensorFlow takes for zeros, and LiteRT does not.
_NUMBERS = np.array([0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan, -np.nan, 3e38, -1.2e-38], np.float32)
X = tf.TensorSpec([None, 3, 5])


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.choice(_NUMBERS, shape).astype(dtype)


def without_nan(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.choice(_NUMBERS[~np.isnan(_NUMBERS)], shape).astype(dtype)


def sign(x: tf.Tensor, mask: int | None = tf.int32.min, bits: tf.DType = tf.int32) -> tf.Tensor:
    found = tf.bitcast(x, bits)
    return tf.less(found if mask is None else tf.bitwise.bitwise_and(found, mask), 0)


@pytest.mark.parametrize("mask", [tf.int32.min, None])
def test_which_numbers_are_negative_zeros(mask: int | None) -> None:
    found = check(lambda x: tf.logical_and(tf.equal(x, 0.0), sign(x, mask)), X, inputs=numbers)
    assert sorted(found.ops) == ["DIV", "EQUAL", "LESS", "LOGICAL_AND"] and found.fused == ["negative_zero"]


@pytest.mark.parametrize("fn", [
    pytest.param(lambda x, y: tf.logical_and(tf.equal(x, 0.0), sign(y)), id="the sign of another"),
    pytest.param(lambda x, y: tf.logical_and(tf.equal(x, 1.0), sign(x)), id="no zero"),
    pytest.param(lambda x, y: tf.logical_and(tf.equal(x, 0.0), sign(x, 1 << 30)), id="another bit"),
    pytest.param(lambda x, y: tf.logical_or(tf.equal(x, 0.0), sign(x)), id="or"),
    pytest.param(lambda x, y: tf.logical_and(tf.equal(x, 0.0)[..., None], sign(x, None, tf.int16)), id="of 16 bits"),
])  # fmt: skip
def test_what_is_no_negative_zero(fn: Any) -> None:
    assert check(fn, X, X, inputs=numbers).fused == []


@pytest.mark.parametrize("target", ["gpu", "micro", "qnn"])
def test_keras_argmax_and_argmin_are_taken_by_targets(target: str) -> None:
    from keras import ops

    x = tf.TensorSpec([2, 3, 5])
    found = check(lambda x: (ops.argmax(x, -1), ops.argmin(x, 1)), x, inputs=without_nan, target=target)
    assert found.report.target is not None and found.report.target["refused"] == []
