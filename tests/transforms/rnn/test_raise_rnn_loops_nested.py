"""Recurrent layers inside of other loops and branches have state tensors of their own there."""

from __future__ import annotations

from collections import Counter

import keras
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.random_weights import randomize
from tests.transforms.rnn.expected import LSTM

TIME, IN, UNITS = 5, 3, 4


@pytest.fixture
def layer() -> keras.layers.Layer:
    made = keras.layers.LSTM(UNITS)
    made.build((None, TIME, IN))
    randomize(made, 1)
    return made


@pytest.mark.parametrize("count", [3, None])
def test_mapped(layer: keras.layers.Layer, count: int | None) -> None:
    converted = check(lambda x: tf.map_fn(layer, x), tf.TensorSpec([count, 2, TIME, IN]))
    assert LSTM in converted.ops


@pytest.mark.parametrize("steps", [3, 20])
def test_in_a_loop(layer: keras.layers.Layer, steps: int) -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        def step(number: tf.Tensor, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return number + 1, 0.5 * x + layer(x)[:, tf.newaxis, :IN]

        return tf.while_loop(lambda number, _: number < steps, step, (0, x))[1]

    assert LSTM in check(run, tf.TensorSpec([2, TIME, IN])).ops


def test_in_a_branch(layer: keras.layers.Layer) -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.cond(tf.reduce_sum(x) > 0, lambda: layer(x), lambda: -layer(2.0 * x))

    assert Counter(check(run, tf.TensorSpec([2, TIME, IN])).ops)[LSTM] == 2


def test_time_distributed() -> None:
    model = keras.Sequential([keras.Input((3, TIME, IN)), keras.layers.TimeDistributed(keras.layers.LSTM(UNITS))])
    randomize(model, 1)
    assert LSTM in check(lambda x: model(x), tf.TensorSpec([None, 3, TIME, IN])).ops
