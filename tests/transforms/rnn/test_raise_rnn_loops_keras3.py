"""Keras 3 writes loops without annotations: its layers become fused ops all the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

import fuseconv
from fuseconv.testing import check
from fuseconv.verifying import verify
from tests.random_weights import randomize
from tests.transforms.rnn.expected import (
    CELL,
    GIVEN,
    LAST,
    LAST_STATE,
    LSTM,
    REVERSED,
    SIZE,
    ZEROS,
    check_both,
    lstm,
    of_known_length,
    rnn,
)

IN, UNITS, TIME = 3, 5, 7
DYNAMIC, STATIC_TIME = tf.TensorSpec([None, None, IN]), tf.TensorSpec([None, TIME, IN])


def _built(layer: Any, seed: int = 1, time: int = TIME) -> Any:
    layer.build((None, time, IN))
    randomize(layer, seed)
    return layer


LSTMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "last": ({}, lstm(LAST)),
    "sequences": ({"return_sequences": True}, lstm()),
    "state": ({"return_state": True}, lstm(LAST_STATE[:2], CELL, ["STRIDED_SLICE"])),  # else a copy
    "sequences and state": ({"return_sequences": True, "return_state": True}, lstm(LAST_STATE, CELL)),
    "backwards": ({"go_backwards": True}, lstm(REVERSED, LAST)),
    "sequences backwards": ({"go_backwards": True, "return_sequences": True}, lstm(REVERSED)),
    "no bias": ({"use_bias": False}, lstm(LAST)),
    "relu": ({"activation": "relu", "return_sequences": True}, lstm()),
    "relu6": ({"activation": "relu6"}, lstm(LAST)),
    "no forget bias": ({"unit_forget_bias": False}, lstm(LAST)),
    "cudnn off": ({"use_cudnn": False}, lstm(LAST)),
}


@pytest.mark.parametrize("name", LSTMS)
def test_lstm(name: str) -> None:
    options, ops = LSTMS[name]
    check_both(_built(keras.layers.LSTM(UNITS, **options)), DYNAMIC, ops=ops)


@pytest.mark.parametrize("spec", [STATIC_TIME, tf.TensorSpec([None, 1, IN])])
def test_lstm_of_fixed_time(spec: tf.TensorSpec) -> None:
    check_both(_built(keras.layers.LSTM(UNITS, return_sequences=True)), spec, ops=lstm())


@pytest.mark.parametrize("batch", [1, 4])
def test_lstm_of_fixed_batch(batch: int) -> None:
    ops = ["FILL", "FILL", LSTM, *of_known_length(LAST)]
    check(_built(keras.layers.LSTM(UNITS)), tf.TensorSpec([batch, TIME, IN]), ops=ops)


RNNS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "last": ({}, rnn(LAST)),
    "sequences": ({"return_sequences": True}, rnn()),
    "state": ({"return_sequences": True, "return_state": True}, rnn(LAST_STATE)),
    "backwards": ({"go_backwards": True}, rnn(REVERSED, LAST)),
    "no bias": ({"use_bias": False}, rnn(LAST)),
    "relu": ({"activation": "relu"}, rnn(LAST)),
    "no activation": ({"activation": None}, rnn(LAST)),
}


@pytest.mark.parametrize("name", RNNS)
def test_simple_rnn(name: str) -> None:
    options, ops = RNNS[name]
    check_both(_built(keras.layers.SimpleRNN(UNITS, **options)), DYNAMIC, ops=ops)


def test_stacked_layers() -> None:
    layers = [keras.layers.LSTM(units, return_sequences=units != 6) for units in (5, 4, 6)]
    model = keras.Sequential([keras.Input((None, IN)), *layers])
    randomize(model, 3)
    # The size of the batch is read once.
    ops = lstm() + 2 * [SIZE[-1], ZEROS, ZEROS, LSTM] + LAST
    check_both(lambda x: model(x), DYNAMIC, ops=ops)


def test_a_shared_layer_has_its_weights_once_and_states_of_its_own() -> None:
    layer = _built(keras.layers.LSTM(64))
    once = check(lambda x, y: layer(x), STATIC_TIME, DYNAMIC, static=False)
    twice = check(lambda x, y: layer(x) + layer(y), STATIC_TIME, DYNAMIC, static=False)
    assert Counter(twice.ops)[LSTM] == 2
    assert len(twice.data) - len(once.data) < 64 * 64


@pytest.mark.parametrize(("cell", "ops"), [("LSTMCell", lstm()), ("SimpleRNNCell", rnn())])
def test_a_cell_in_an_rnn(cell: str, ops: list[str]) -> None:
    layer = keras.layers.RNN(getattr(keras.layers, cell)(UNITS), return_sequences=True)
    check_both(_built(layer), DYNAMIC, ops=ops)


STATE = tf.TensorSpec([None, UNITS])


def test_an_initial_state_that_is_an_input() -> None:
    layer = _built(keras.layers.LSTM(UNITS))
    ops = [*GIVEN, *GIVEN, LSTM, *LAST]
    check_both(lambda x, h, c: layer(x, initial_state=[h, c]), DYNAMIC, STATE, STATE, ops=ops)


def test_an_initial_state_that_is_constant() -> None:
    layer = _built(keras.layers.LSTM(UNITS))
    h, c = (tf.random.stateless_normal((2, UNITS), (seed, 7)) for seed in (1, 2))
    converted = check(lambda x: layer(x, initial_state=[h, c]), tf.TensorSpec([2, TIME, IN]))
    assert Counter(converted.ops)[LSTM] == 1


def test_an_initial_state_that_is_computed() -> None:
    layer, dense = _built(keras.layers.LSTM(UNITS)), keras.layers.Dense(UNITS, activation="tanh")
    dense.build((None, IN))
    randomize(dense, 2)
    converted = check(lambda x: layer(x, initial_state=[dense(x[:, 0]), dense(x[:, -1])]), DYNAMIC)
    assert Counter(converted.ops)[LSTM] == 1


def test_an_encoder_hands_its_states_to_a_decoder() -> None:
    encoder = _built(keras.layers.LSTM(UNITS, return_state=True), 1)
    decoder = _built(keras.layers.LSTM(UNITS, return_sequences=True), 2)
    ops = [*lstm(LAST_STATE, CELL), *GIVEN, *GIVEN, LSTM]
    check_both(lambda x, y: decoder(y, initial_state=encoder(x)[1:]), DYNAMIC, DYNAMIC, ops=ops)


def test_time_distributed_dense_behind_it() -> None:
    first = keras.layers.LSTM(UNITS, return_sequences=True)
    model = keras.Sequential([keras.Input((TIME, IN)), first, keras.layers.TimeDistributed(keras.layers.Dense(2))])
    randomize(model, 3)
    converted = check(lambda x: model(x), STATIC_TIME, static=False)
    assert Counter(converted.ops)[LSTM] == 1


@pytest.mark.parametrize("activation", ["hard_sigmoid", "tanh", "relu"])
def test_a_recurrent_activation_that_the_kernel_lacks(activation: str) -> None:
    converted = check(_built(keras.layers.LSTM(UNITS, recurrent_activation=activation)), STATIC_TIME, static=False)
    assert LSTM not in converted.ops
    reasons = [record.why for record in converted.report.records if record.rule == "raise-rnn-loops"]
    assert reasons == [f"the recurrent activation is {activation}, which TFLite's LSTM lacks"]


@pytest.mark.parametrize("how", ["export", "save", "keras", "h5"])
def test_files(how: str, tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((None, IN)), keras.layers.LSTM(UNITS, return_sequences=True)])
    randomize(model, 3)
    path = tmp_path / {"export": "model", "save": "model", "keras": "model.keras", "h5": "model.h5"}[how]
    if how == "export":
        model.export(str(path), verbose=False)
    elif how == "save":
        tf.saved_model.save(model, str(path))
    else:
        model.save(path)
    conversion = fuseconv.convert(path, tmp_path / "model.tflite")
    assert [op.type for op in conversion.report.emitted] == lstm()
    assert verify(path, tmp_path / "model.tflite").passed


@pytest.mark.parametrize("layer", [keras.layers.LSTM, keras.layers.SimpleRNN])
def test_states_of_half_precision_are_rounded_at_each_step(layer: Any) -> None:
    converted = check(_built(layer(UNITS, dtype="mixed_float16"), time=4), tf.TensorSpec([None, 4, IN]), atol=4e-3)
    assert not [op for op in converted.ops if "SEQUENCE" in op]
    assert "float16" in converted.refused["raise-rnn-loops"]
