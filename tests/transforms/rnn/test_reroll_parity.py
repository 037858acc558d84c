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
from tests.pairwise import mostly_slow
from tests.random_weights import randomize
from tests.transforms.rnn.expected import BI_LSTM, CELL, LAST, LSTM, REVERSED, RNN, SIZE, lstm, of_known_length, rnn
from tests.transforms.rnn.lstm_steps import BIAS, KERNEL, RECURRENT
from tests.transforms.rnn.lstm_steps import lstm as step
from tests.transforms.rnn.masked import check_fused
from tests.transforms.rnn.tf1 import function_of

TIME, IN, UNITS = 6, 3, 5
SHAPE = (None, TIME, IN)
SPEC, FIXED = tf.TensorSpec(SHAPE), tf.TensorSpec((2, *SHAPE[1:]))
LAYERS = {"keras3": keras.layers, "keras2": tf_keras.layers}
KERAS = pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)


def _built(layer: Any) -> Any:
    layer.build(SHAPE)
    randomize(layer, 3)
    return layer


LSTMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "last": ({}, lstm(LAST)),
    "otherwise": ({"implementation": 1}, lstm(LAST)),
    "sequences": ({"return_sequences": True}, lstm()),
    "sequences and state": ({"return_sequences": True, "return_state": True}, lstm(LAST, CELL)),
    "sequences backwards": ({"return_sequences": True, "go_backwards": True}, lstm(REVERSED)),
}


@mostly_slow(layers=LAYERS, case=LSTMS)
def test_lstm(layers: Any, case: tuple[dict[str, Any], list[str]]) -> None:
    options, ops = case
    if layers is keras.layers and "implementation" in options:
        options = {"recurrent_dropout": 0.0, "unit_forget_bias": False}
    layer = _built(layers.LSTM(UNITS, unroll=True, **options))
    check(layer, SPEC, ops=of_known_length(ops), static=False)
    ops = of_known_length(ops, known_batch=True)
    # Keras 3 writes sums of one row otherwise, whatever the options are.
    for batch in (1, 2) if not options else (2,):
        check(layer, tf.TensorSpec((batch, TIME, IN)), ops=ops[len(SIZE) :])


@KERAS
def test_simple_rnn(layers: Any) -> None:
    layer = _built(layers.SimpleRNN(UNITS, unroll=True))
    check(layer, SPEC, ops=rnn(of_known_length(LAST)), static=False)
    check(layer, FIXED, ops=["FILL", RNN, *of_known_length(LAST)])


@mostly_slow(layers=LAYERS, number=[0.0, 0.5])
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


MASK = tf.TensorSpec([None, TIME], tf.bool)
STATES = [tf.TensorSpec([None, UNITS])] * 2
MASKED = {
    "last": {}, "backwards": {"return_sequences": True, "go_backwards": True},
    "state": {"return_sequences": True, "return_state": True},
    "zeros": {"return_sequences": True, "zero_output_for_mask": True},
}  # fmt: skip


def _fixed(*specs: tf.TensorSpec) -> list[tf.TensorSpec]:
    return [tf.TensorSpec([2, *spec.shape[1:]], spec.dtype) for spec in specs]


@mostly_slow(layers=LAYERS, kind=["LSTM", "SimpleRNN"], options=MASKED)
def test_masks(layers: Any, kind: str, options: dict[str, Any]) -> None:
    layer = _built(getattr(layers, kind)(UNITS, unroll=True, **options))
    for specs in ([SPEC, MASK], _fixed(SPEC, MASK)):
        check_fused(lambda x, mask: layer(x, mask=mask), *specs)


@KERAS
def test_masked_layers_in_a_row(layers: Any) -> None:
    """Each reads the same mask; the steps of the second stand behind those of the first."""
    first = _built(layers.Bidirectional(layers.LSTM(UNITS, unroll=True, return_sequences=True)))
    second = layers.SimpleRNN(UNITS, unroll=True)
    second.build((None, TIME, 2 * UNITS))
    randomize(second, 4)
    check_fused(lambda x, mask: second(first(x, mask=mask), mask=mask), SPEC, MASK, count=3)


def test_masks_and_first_states_that_are_given() -> None:
    layer = _built(keras.layers.LSTM(UNITS, unroll=True))
    specs = _fixed(SPEC, MASK, *STATES)
    check_fused(lambda x, mask, *states: layer(x, mask=mask, initial_state=states), *specs)
    layer = _built(tf_keras.layers.SimpleRNN(UNITS, unroll=True))
    check_fused(lambda x, mask, state: layer(x, mask=mask, initial_state=state), *specs[:3])


@mostly_slow(layers=LAYERS, specs={"dynamic": [SPEC, *STATES], "fixed": _fixed(SPEC, *STATES)})
def test_first_states_that_are_given(layers: Any, specs: list[tf.TensorSpec]) -> None:
    layer = _built(layers.LSTM(UNITS, unroll=True, return_sequences=True))
    assert Counter(check(lambda x, *states: layer(x, initial_state=states), *specs).ops)[LSTM] == 1


@KERAS
def test_a_shared_layer(layers: Any) -> None:
    """What both make of the zeros is computed once."""
    layer = _built(layers.LSTM(UNITS, unroll=True))
    assert Counter(check(lambda x: layer(x) - layer(2.0 * x), SPEC).ops)[LSTM] == 2


@mostly_slow(layers=LAYERS, masked=[False, True])
def test_stacked_cells(layers: Any, masked: bool) -> None:
    stack = [layers.LSTMCell(UNITS), layers.SimpleRNNCell(4)]
    layer = _built(layers.RNN(stack, unroll=True, return_sequences=True))
    specs = [SPEC, MASK] if masked else [SPEC]
    check_fused(lambda x, mask=None: layer(x, mask=mask), *specs, count=2)


@KERAS
def test_a_gru_stays_unrolled(layers: Any) -> None:
    layer = _built(layers.GRU(UNITS, unroll=True))
    ops = check(lambda x, mask: layer(x, mask=mask), SPEC, MASK, static=False).ops
    assert "WHILE" not in ops


@pytest.mark.filterwarnings("ignore")
@mostly_slow(
    cell={
        "lstm": (lambda: cells.BasicLSTMCell(UNITS), LSTM),
        "peepholes": (lambda: cells.LSTMCell(UNITS, use_peepholes=True, cell_clip=0.5), LSTM),
        "rnn": (lambda: cells.BasicRNNCell(UNITS), RNN),
    },
    last=[True, False],
)
def test_static_rnn(cell: tuple[Callable[[], Any], str], last: bool) -> None:
    make, op = cell

    def build(x: Any) -> Any:
        outputs, states = tf1_rnn.static_rnn(make(), tf.unstack(x, axis=1), dtype=tf.float32)
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


def test_steps_of_the_same_weights_do_not() -> None:
    assert LSTM in check(lambda x: _unrolled(x, [KERNEL] * TIME), SPEC, static=False).ops


def test_a_step_that_skips_one_stays() -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        h = c = tf.zeros([tf.shape(x)[0], UNITS])
        states = [(h, c)]
        for number, element in enumerate(tf.unstack(x, axis=1)):
            states.append(step(element, *states[-2 if number == 3 else -1]))
        return states[-1][0]

    assert LSTM not in check(run, SPEC, static=False).ops


VECTOR = tf.TensorSpec([None, IN])


def _with_each(x: tf.Tensor, vector: tf.Tensor, before: bool) -> list[tf.Tensor]:
    h = c = tf.zeros([tf.shape(x)[0], UNITS])
    made = []
    for element in tf.unstack(x, axis=1):
        h, c = step(element * vector if before else element, h, c)
        made.append(tf.concat([h, vector], 1))
    return made


def test_what_each_output_is_put_together_with() -> None:
    ops = check(lambda x, vector: _with_each(x, vector, False), SPEC, VECTOR).ops
    assert LSTM in ops
    assert "LOGISTIC" not in ops


def test_steps_that_read_what_is_no_sequence_stay() -> None:
    assert LSTM not in check(lambda x, vector: _with_each(x, vector, True), SPEC, VECTOR).ops


def _steps(elements: list[tf.Tensor], first: tf.Tensor, projected: bool = False) -> tuple[list[tf.Tensor], tf.Tensor]:
    """Return the outputs of steps from such first states, and the last cell state. projected: the elements are
    x @ KERNEL + BIAS."""
    h = c = first
    made = []
    for element in elements:
        total = element + h @ RECURRENT if projected else element @ KERNEL + h @ RECURRENT + BIAS
        i, f, g, o = (total[:, n * UNITS : (n + 1) * UNITS] for n in range(4))
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        made.append(h)
    return made, c


def _zeros(x: tf.Tensor) -> tf.Tensor:
    return tf.zeros([tf.shape(x)[0], UNITS])


SLICES: dict[str, Callable[[tf.Tensor, int], tf.Tensor]] = {
    "picked": lambda x, t: x[:, t],
    "counted from the end": lambda x, t: x[:, t - TIME, :],
    "squeezed": lambda x, t: tf.squeeze(x[:, t : t + 1], 1),
    "sliced": lambda x, t: tf.reshape(tf.slice(x, [0, t, 0], [-1, 1, -1]), [-1, IN]),
}


@pytest.mark.parametrize("take", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("spec", [SPEC, FIXED], ids=["any batch", "two rows"])
def test_elements_that_are_sliced(take: Callable[[tf.Tensor, int], tf.Tensor], spec: tf.TensorSpec) -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.stack(_steps([take(x, t) for t in range(TIME)], _zeros(x))[0], 1)

    assert Counter(check(run, spec, static=False).ops)[LSTM] == 1


def test_slices_that_leave_a_step_out_stay() -> None:
    assert LSTM not in check(lambda x: _steps([x[:, t] for t in (0, 1, 2, 4, 5)], _zeros(x))[0][-1], FIXED).ops


def test_slices_of_several_steps_stay() -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        return _steps([tf.reduce_mean(x[:, t : t + 2], 1) for t in range(TIME)], _zeros(x))[0][-1]

    assert LSTM not in check(run, FIXED).ops


def _time_major(x: tf.Tensor) -> tf.Tensor:
    return tf.unstack(tf.transpose(x, [1, 0, 2]) @ KERNEL + BIAS)


PROJECTED: dict[str, Callable[[tf.Tensor], list[tf.Tensor]]] = {
    "as it is": lambda x: tf.unstack(x @ KERNEL + BIAS, axis=1),
    "time in front": _time_major,
    "as a matrix": lambda x: tf.unstack(
        tf.reshape(tf.reshape(x, [-1, IN]) @ KERNEL + BIAS, [-1, TIME, 4 * UNITS]), axis=1
    ),
    "bias behind": lambda x: tf.unstack(
        tf.reshape(tf.reshape(x, [-1, IN]) @ KERNEL, [-1, TIME, 4 * UNITS]) + BIAS, axis=1
    ),
    "backwards": lambda x: tf.unstack(tf.reverse(x @ KERNEL + BIAS, [1]), axis=1),
}


@pytest.mark.parametrize("elements", PROJECTED.values(), ids=PROJECTED)
def test_a_sequence_that_is_projected_at_once(elements: Callable[[tf.Tensor], list[tf.Tensor]]) -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        return tf.stack(_steps(elements(x), _zeros(x), projected=True)[0], 1)

    for spec in (SPEC, FIXED):
        ops = Counter(check(run, spec, static=False).ops)
        assert ops[LSTM] == 1
        assert not ops["FULLY_CONNECTED"]


def test_a_projection_that_mixes_steps_stays() -> None:
    def run(x: tf.Tensor) -> tf.Tensor:
        mixed = tf.reshape(x, [-1, TIME * IN]) @ tf.tile(KERNEL, [TIME, TIME])
        return _steps(tf.unstack(tf.reshape(mixed, [2, TIME, -1]), axis=1), _zeros(x), projected=True)[0][-1]

    ops = check(run, FIXED).ops
    assert "FULLY_CONNECTED" in ops


@pytest.mark.parametrize("number", [0.0, 0.5])
def test_first_states_that_the_reader_broadcasts(number: float) -> None:
    def run(x: tf.Tensor) -> list[tf.Tensor]:
        h, c = _zeros(x), tf.constant(number)
        for t in range(TIME):
            i, f, g, o = tf.split(x[:, t] @ KERNEL + h @ RECURRENT + BIAS, 4, axis=1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            h = tf.sigmoid(o) * tf.tanh(c)
        return [h, c]

    for spec in (SPEC, FIXED):
        assert LSTM in check(run, spec, static=False).ops


@pytest.mark.parametrize("spec", [SPEC, FIXED], ids=["any batch", "two rows"])
def test_both_directions_of_steps(spec: tf.TensorSpec) -> None:
    def run(x: tf.Tensor) -> list[tf.Tensor]:
        y = tf.transpose(x, [1, 0, 2]) @ KERNEL + BIAS
        forward, _ = _steps(tf.unstack(y), _zeros(x), projected=True)
        backward, _ = _steps(tf.unstack(tf.reverse(y, [0])), _zeros(x), projected=True)
        both = tf.concat([tf.stack(forward), tf.reverse(tf.stack(backward), [0])], 2)
        return [tf.transpose(both, [1, 0, 2]), forward[-1], backward[-1]]

    ops = Counter(check(run, spec, static=False).ops)
    assert ops[BI_LSTM] == 1
    assert not ops["REVERSE_V2"]
