"""Loops that count down are seen for what they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.transforms.rnn.expected import LSTM
from tests.transforms.rnn.lstm_steps import IN, UNITS, lstm

States = tuple[tf.Tensor, tf.Tensor]


def _zeros(x: tf.Tensor) -> States:
    return (tf.zeros([tf.shape(x)[0], UNITS]),) * 2


def _steps(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(x, [1, 0, 2])


def _scan(x: tf.Tensor) -> tf.Tensor:
    return tf.scan(lambda states, step: lstm(step, *states), _steps(x), _zeros(x), reverse=True)[0]


def _foldr(x: tf.Tensor) -> States:
    return tf.foldr(lambda states, step: lstm(step, *states), _steps(x), _zeros(x))


def _range(x: tf.Tensor) -> tf.Tensor:
    h, c = _zeros(x)
    for t in tf.range(tf.shape(x)[1] - 1, -1, -1):
        h, c = lstm(x[:, t], h, c)
    return h


def _above(x: tf.Tensor) -> tf.Tensor:
    (h, c), t = _zeros(x), tf.shape(x)[1]
    while t > 0:
        h, c = lstm(x[:, t - 1], h, c)
        t -= 1
    return h


@pytest.mark.parametrize("function", [_scan, _foldr, _range, _above], ids=lambda function: function.__name__)
@pytest.mark.parametrize("time", [None, 6])
def test_a_walk_from_the_end_is_one_op(function: Callable[..., Any], time: int | None) -> None:
    ops = check(tf.function(function), tf.TensorSpec([None, time, IN])).ops
    assert LSTM in ops
    assert "WHILE" not in ops


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_what_is_read_of_the_number(dtype: tf.DType, turned: bool) -> None:
    """Other comparisons, its end, and what it is in the step; there may be no step at all."""

    def run(x: tf.Tensor, n: tf.Tensor) -> list[tf.Tensor]:
        def goes_on(i: tf.Tensor, *_: tf.Tensor) -> tf.Tensor:
            return tf.logical_and(tf.less(tf.constant(2, dtype), i) if turned else i >= 3, i != 4)

        def step(i: tf.Tensor, last: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            return i - 1, i, x * 0.5 + tf.cast(i, tf.float32)

        return tf.while_loop(goes_on, step, (n, n, x))

    specs = tf.TensorSpec([2]), tf.TensorSpec([], dtype)
    for number in (12, 7, 4, 2, -3):
        inputs = [np.ones(2, np.float32), np.array(number, dtype.as_numpy_dtype)]
        check(run, *specs, inputs=inputs)
