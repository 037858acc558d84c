"""Several cells in one loop become an op for each, if all of them are cells that TFLite has a kernel for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import keras
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.ops import rnn as tf1_rnn
from tf_keras.src.layers.rnn import legacy_cells

from fuseconv.testing import check
from tests.random_weights import randomise
from tests.recognise.expected import LSTM, RNN
from tests.recognise.lstm_steps import BIAS, IN, KERNEL, RECURRENT, UNITS, loop, lstm, weight
from tests.recognise.tf1 import function_of

DYNAMIC = tf.TensorSpec([None, None, IN])


def _layer(layers: Any, cells: list[str], **options: Any) -> Any:
    made = [getattr(layers, cell)(units) for cell, units in zip(cells, (5, 4, 2))]
    layer = layers.RNN(layers.StackedRNNCells(made), **options)
    layer.build((None, 7, IN))
    randomise(layer, 2)
    return layer


@pytest.mark.parametrize("layers", [keras.layers, tf_keras.layers], ids=["keras3", "keras2"])
@pytest.mark.parametrize("cells", [["LSTMCell"] * 2, ["LSTMCell", "SimpleRNNCell", "LSTMCell"]])
@pytest.mark.parametrize("options", [{}, {"return_sequences": True, "return_state": True, "go_backwards": True}])
def test_keras(layers: Any, cells: list[str], options: dict[str, Any]) -> None:
    converted = check(_layer(layers, cells, **options), DYNAMIC)
    ops = Counter(converted.ops)
    assert (ops[LSTM], ops[RNN]) == (cells.count("LSTMCell"), cells.count("SimpleRNNCell"))
    assert not {"WHILE", "TRANSPOSE"} & set(converted.ops)


def test_one_cell_without_a_kernel_keeps_all_in_their_loop() -> None:
    converted = check(_layer(keras.layers, ["LSTMCell", "GRUCell"]), tf.TensorSpec([None, 7, IN]))
    assert LSTM not in converted.ops


@pytest.mark.filterwarnings("ignore")
def test_tf1() -> None:
    def build(x: Any) -> Any:
        cells = [legacy_cells.BasicLSTMCell(units) for units in (5, 4)]
        return tf1_rnn.dynamic_rnn(legacy_cells.MultiRNNCell(cells), x, dtype=tf.float32)

    shape = (None, 7, 3)
    assert Counter(check(function_of(build, shape), tf.TensorSpec(shape)).ops)[LSTM] == 2


def test_a_cell_that_reads_the_last_state_of_another_is_left() -> None:
    """The lower cell sees what the upper one made a step before: they cannot run one after the other."""
    feedback = weight(UNITS, 4 * UNITS)

    def step(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor, above: tf.Tensor, inner: tf.Tensor) -> tuple[tf.Tensor, ...]:
        i, f, g, o = tf.split(x @ KERNEL + h @ RECURRENT + above @ feedback + BIAS, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        return (h, c, *lstm(h[:, :IN], above, inner))

    converted = check(loop(step, [UNITS] * 4), tf.TensorSpec([None, 4, IN]))
    assert LSTM not in converted.ops


def test_a_loop_without_a_state_stays_a_loop() -> None:
    converted = check(lambda x: tf.map_fn(lambda row: tf.reduce_sum(row) * row, x), tf.TensorSpec([None, 5]))
    assert "WHILE" in converted.ops
