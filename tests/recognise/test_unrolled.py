"""Unrolled cells are rolled up, where their steps are equal, and become fused ops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.ops import rnn as tf1_rnn
from tf_keras.src.layers.rnn import legacy_cells as cells

from fuseconv.testing import check
from tests.random_weights import randomise
from tests.recognise.expected import BI_LSTM, CELL, LAST, LSTM, REVERSED, RNN, SIZE, lstm, rnn
from tests.recognise.lstm_steps import BIAS, KERNEL, RECURRENT
from tests.recognise.lstm_steps import lstm as step
from tests.recognise.tf1 import function_of

TIME, IN, UNITS = 6, 3, 5
SHAPE = (None, TIME, IN)
SPEC, FIXED = tf.TensorSpec(SHAPE), tf.TensorSpec((2, *SHAPE[1:]))
KERAS = pytest.mark.parametrize("layers", [keras.layers, tf_keras.layers], ids=["keras3", "keras2"])


def _built(layer: Any) -> Any:
    layer.build(SHAPE)
    randomise(layer, 3)
    return layer


@KERAS
@pytest.mark.parametrize(
    ("options", "ops"),
    [
        ({}, lstm(LAST)),
        ({"return_sequences": True}, lstm()),
        ({"return_sequences": True, "return_state": True}, lstm(LAST, CELL)),
        ({"return_sequences": True, "go_backwards": True}, lstm(REVERSED)),
        ({"implementation": 1}, lstm(LAST)),
    ],
)
def test_lstm(layers: Any, options: dict[str, Any], ops: list[str]) -> None:
    if layers is keras.layers and "implementation" in options:
        options = {"recurrent_dropout": 0.0, "unit_forget_bias": False}
    layer = _built(layers.LSTM(UNITS, unroll=True, **options))
    check(layer, SPEC, ops=ops, static=False)
    check(layer, FIXED, ops=ops[len(SIZE) :])


@KERAS
def test_simple_rnn(layers: Any) -> None:
    layer = _built(layers.SimpleRNN(UNITS, unroll=True))
    check(layer, SPEC, ops=rnn(LAST), static=False)
    check(layer, FIXED, ops=["FILL", RNN, *LAST])


@KERAS
@pytest.mark.parametrize("number", [0.0, 0.5])
def test_constant_first_states(layers: Any, number: float) -> None:
    """What a first state is that is not zero cannot be told from what it was multiplied to."""
    layer = _built(layers.LSTM(UNITS, unroll=True))
    states = [tf.constant(number, shape=(2, UNITS)), tf.constant(0.7, shape=(2, UNITS))]
    converted = check(lambda x: layer(x, initial_state=states), FIXED)
    assert Counter(converted.ops)[LSTM] == (number == 0)


@KERAS
def test_bidirectional(layers: Any) -> None:
    layer = layers.Bidirectional(layers.LSTM(UNITS, unroll=True, return_sequences=True))
    assert Counter(check(_built(layer), SPEC).ops)[BI_LSTM] == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("cell", "op"),
    [
        (lambda: cells.BasicLSTMCell(UNITS), LSTM),
        (lambda: cells.LSTMCell(UNITS, use_peepholes=True, cell_clip=0.5), LSTM),
        (lambda: cells.BasicRNNCell(UNITS), RNN),
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_static_rnn(cell: Callable[[], Any], op: str, last: bool) -> None:
    def build(x: Any) -> Any:
        outputs, states = tf1_rnn.static_rnn(cell(), tf.unstack(x, axis=1), dtype=tf.float32)
        return outputs[-1] if last else (outputs, states)

    assert Counter(check(function_of(build, SHAPE), SPEC, static=False).ops)[op] == 1
    assert Counter(check(function_of(build, FIXED.shape), FIXED).ops)[op] == 1


def _unrolled(x: tf.Tensor, weights: list[tf.Tensor]) -> list[tf.Tensor]:
    h = c = tf.zeros([tf.shape(x)[0], UNITS])
    for element, kernel in zip(tf.unstack(x, axis=1), weights):
        i, f, g, o = tf.split(element @ kernel + h @ RECURRENT + BIAS, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
    return [h, c]


@pytest.mark.parametrize("place", [0, 3, TIME - 1])
def test_a_step_with_weights_of_its_own_stays(place: int) -> None:
    weights = [2.0 * KERNEL if number == place else KERNEL for number in range(TIME)]
    assert LSTM not in check(lambda x: _unrolled(x, weights), SPEC, static=False).ops
    assert LSTM in check(lambda x: _unrolled(x, [KERNEL] * TIME), SPEC, static=False).ops


def test_a_step_that_skips_one_stays() -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros([tf.shape(x)[0], UNITS])
        states = [(h, c)]
        for number, element in enumerate(tf.unstack(x, axis=1)):
            states.append(step(element, *states[-2 if number == 3 else -1]))
        return states[-1][0]

    assert LSTM not in check(run, SPEC, static=False).ops
