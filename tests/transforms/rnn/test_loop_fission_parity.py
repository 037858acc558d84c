"""Several cells in one loop become an op for each that TFLite has a kernel for; what stands between them is computed of
all steps at once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import keras
import pytest
import tensorflow as tf
import tf_keras
from tensorflow.python.ops import rnn as tf1_rnn
from tf_keras.src.layers.rnn import legacy_cell_wrappers, legacy_cells

from fuseconv.testing import check
from tests.pairwise import mostly_slow
from tests.random_weights import randomize
from tests.transforms.rnn.expected import LSTM, RNN
from tests.transforms.rnn.lstm_steps import BIAS, IN, KERNEL, RECURRENT, UNITS, loop, lstm, weight
from tests.transforms.rnn.tf1 import function_of

DYNAMIC = tf.TensorSpec([None, None, IN])


def _layer(layers: Any, cells: list[str], **options: Any) -> Any:
    made = [getattr(layers, cell)(units) for cell, units in zip(cells, (5, 4, 2))]
    layer = layers.RNN(layers.StackedRNNCells(made), **options)
    layer.build((None, 7, IN))
    randomize(layer, 2)
    return layer


@mostly_slow(
    layers={"keras3": keras.layers, "keras2": tf_keras.layers},
    cells={"two": ["LSTMCell"] * 2, "three": ["LSTMCell", "SimpleRNNCell", "LSTMCell"]},
    options={"last": {}, "all": {"return_sequences": True, "return_state": True, "go_backwards": True}},
)
def test_keras(layers: Any, cells: list[str], options: dict[str, Any]) -> None:
    converted = check(_layer(layers, cells, **options), DYNAMIC)
    ops = Counter(converted.ops)
    assert (ops[LSTM], ops[RNN]) == (cells.count("LSTMCell"), cells.count("SimpleRNNCell"))
    assert not {"WHILE", "TRANSPOSE"} & set(converted.ops)


def test_a_cell_without_a_kernel_has_a_loop_of_its_own() -> None:
    converted = check(_layer(keras.layers, ["LSTMCell", "GRUCell", "LSTMCell"]), DYNAMIC, static=False)
    assert (Counter(converted.ops)[LSTM], converted.ops.count("WHILE")) == (2, 1)


def test_cells_none_of_which_has_a_kernel_stay_in_one_loop() -> None:
    converted = check(_layer(keras.layers, ["GRUCell", "GRUCell"]), DYNAMIC, static=False)
    assert converted.ops.count("WHILE") == 1


RESIDUAL = legacy_cell_wrappers.ResidualWrapper


@pytest.mark.filterwarnings("ignore")
@mostly_slow(functional=[True, False], lengths=[True, False])
def test_residual_cells_of_tf1(functional: bool, lengths: bool) -> None:
    """Their outputs are h + x, zeros behind a row's end; their states are the LSTM's."""

    def build(x: Any) -> Any:
        cells = [RESIDUAL(legacy_cells.LSTMCell(3)), legacy_cells.LSTMCell(4), RESIDUAL(legacy_cells.BasicLSTMCell(4))]
        ends = tf.reduce_sum(tf.cast(x[:, :, 0] > -0.5, tf.int32), 1) if lengths else None
        return tf1_rnn.dynamic_rnn(legacy_cells.MultiRNNCell(cells), x, dtype=tf.float32, sequence_length=ends)

    shape = (None, None, 3)
    converted = check(function_of(build, shape, functional), tf.TensorSpec(shape), static=False)
    assert (Counter(converted.ops)[LSTM], converted.ops.count("WHILE")) == (3, 0)


@pytest.mark.filterwarnings("ignore")
def test_residual_cells_of_tf1_backwards() -> None:
    def build(x: Any) -> Any:
        cells = [RESIDUAL(legacy_cells.LSTMCell(3)) for _ in range(2)]
        return tf1_rnn.bidirectional_dynamic_rnn(*cells, x, dtype=tf.float32)

    shape = (None, 7, 3)
    converted = check(function_of(build, shape), tf.TensorSpec(shape))
    assert (Counter(converted.ops)[LSTM], converted.ops.count("WHILE")) == (2, 0)


class _ResidualCell(keras.layers.LSTMCell):
    def call(self, inputs: Any, states: Any, training: bool = False) -> Any:
        output, states = super().call(inputs, states, training=training)
        return output + inputs, states


@pytest.mark.parametrize("backwards", [False, True])
def test_a_residual_cell_of_keras(backwards: bool) -> None:
    layer = keras.layers.RNN(_ResidualCell(IN), return_sequences=True, return_state=True, go_backwards=backwards)
    layer.build((None, 7, IN))
    randomize(layer, 3)
    converted = check(layer, DYNAMIC, static=backwards)
    assert (Counter(converted.ops)[LSTM], converted.ops.count("WHILE")) == (1, 0)


def _run(step: Any) -> Any:
    """A function of x [batch, time, in] that runs a step (output, h, c) along it."""

    def run(x: tf.Tensor) -> list[tf.Tensor]:
        time, zeros = tf.shape(x)[1], tf.zeros([tf.shape(x)[0], UNITS])

        def body(t: tf.Tensor, outputs: tf.TensorArray, h: tf.Tensor, c: tf.Tensor) -> tuple:
            made, h, c = step(x[:, t], h, c, t)
            return t + 1, outputs.write(t, made), h, c

        outputs = tf.TensorArray(tf.float32, time)
        _, outputs, h, c = tf.while_loop(lambda t, *_: t < time, body, (0, outputs, zeros, zeros))
        return [outputs.stack(), h, c]

    return run


_DENSE, _HEAD, _OFFSET = weight(IN, IN), weight(UNITS, 2), weight(2)


def test_layers_before_and_behind_a_cell_in_its_loop() -> None:
    def step(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor, t: tf.Tensor) -> tuple[tf.Tensor, ...]:
        h, c = lstm(tf.nn.relu(x @ _DENSE), h, c)
        return tf.nn.softmax(h @ _HEAD + _OFFSET) * tf.cast(t + 1, tf.float32), h, c

    converted = check(_run(step), DYNAMIC)
    assert (Counter(converted.ops)[LSTM], converted.ops.count("WHILE")) == (1, 0)


def test_the_largest_of_what_a_cell_puts_out() -> None:
    def step(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor, t: tf.Tensor) -> tuple[tf.Tensor, ...]:
        h, c = lstm(x, h, c)
        return tf.cast(tf.argmax(h @ _HEAD + _OFFSET, 1), tf.float32), h, c

    assert Counter(check(_run(step), DYNAMIC, static=False).ops)[LSTM] == 1


def test_an_output_that_is_made_of_what_a_state_was_stays_in_the_loop() -> None:
    def step(x: tf.Tensor, h: tf.Tensor, c: tf.Tensor, t: tf.Tensor) -> tuple[tf.Tensor, ...]:
        after = lstm(x, h, c)
        return after[0] - h, *after

    converted = check(_run(step), DYNAMIC, static=False)
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

    converted = check(loop(step, [UNITS] * 4), tf.TensorSpec([None, 4, IN]), static=False)
    assert LSTM not in converted.ops


@pytest.mark.parametrize("spec", [DYNAMIC, tf.TensorSpec([4, 7, IN])])
def test_a_state_that_no_step_reads_comes_behind_what_it_is_made_of(spec: tf.TensorSpec) -> None:
    """That of a simple recurrent unit (SRU), which stands first among its states."""
    forget, reset, new = (weight(IN, UNITS) for _ in range(3))

    def step(x: tf.Tensor, _: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, ...]:
        f, r, z = tf.sigmoid(x @ forget), tf.sigmoid(x @ reset), x @ new
        c = f * c + (1 - f) * z
        return r * tf.tanh(c) + (1 - r) * z, c

    check(loop(step, [UNITS] * 2), spec, static=False)


@pytest.mark.parametrize("spec", [DYNAMIC, tf.TensorSpec([4, 7, IN])])
def test_nothing_is_left_of_a_loop_without_a_state(spec: tf.TensorSpec) -> None:
    converted = check(lambda x: tf.map_fn(lambda row: tf.reduce_sum(row) * tf.tanh(row @ KERNEL), x), spec)
    assert sorted(converted.ops) == ["FULLY_CONNECTED", "MUL", "SUM", "TANH"]
