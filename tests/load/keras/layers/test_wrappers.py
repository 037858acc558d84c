"""Layers around layers: both directions of time, and each step of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras
from keras import ops

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import branches, check_cases, check_data

L = keras.layers

CASES = {
    "bidirectional": lambda: branches(
        (6, 4), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.Bidirectional(L.LSTM(3)),
        L.Bidirectional(L.GRU(3), merge_mode="sum"),
        L.Bidirectional(L.SimpleRNN(3, return_sequences=True), merge_mode="ave"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_data_and_keras_agree(name: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=["keras"])


def test_a_layer_is_called_on_all_time_steps_at_once(tmp_path: Path) -> None:
    model: Any = branches(
        (6, 5, 4), L.TimeDistributed(L.Dense(3)), L.TimeDistributed(L.Conv1D(3, 3, padding="same")),
        L.TimeDistributed(L.Flatten()),
    )  # fmt: skip
    check_cases({"distributed": lambda: model}, "distributed", tmp_path, formats=["keras"], most_more=2)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_layer_that_keeps_states_between_steps_is_refused(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((4, 5, 3), batch_size=2)
    for inner in (layers.LSTM(3, stateful=True), library.Sequential([layers.GRU(3, stateful=True)])):
        library.Model(x, layers.TimeDistributed(inner)(x)).save(tmp_path / "model.keras")
        with pytest.raises(UnknownLayer, match="each step goes on from the one before"):
            load(tmp_path / "model.keras")


MIXING = [
    ("axis=0 is that of the batch", lambda x: x - ops.mean(x, axis=0, keepdims=True)),
    ("may mix examples", lambda x: x - ops.mean(x)),
    ("may mix examples", lambda x: ops.reshape(ops.transpose(x), (-1, 4))),
    ("may mix examples", lambda x: ops.multiply(x, np.ones((2, 1, 4), np.float32))),
    ("axis=-2 is that of the batch", L.Softmax(axis=-2)),
]


@pytest.mark.parametrize(("why", "function"), MIXING)
def test_what_may_mix_examples_is_refused_on_the_steps_of_keras_3(why: str, function: Any, tmp_path: Path) -> None:
    x, steps = keras.Input((4,)), keras.Input((5, 4))
    keras.Model(steps, L.TimeDistributed(keras.Model(x, function(x)))(steps)).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=why):
        load(tmp_path / "model.keras")


def test_functions_of_each_element_are_called_on_all_steps_at_once(tmp_path: Path) -> None:
    x, steps = keras.Input((4,)), keras.Input((5, 4), name="x")
    made = ops.where(x > 0, ops.gelu(L.Dense(4)(x) + 2.0 * x), ops.maximum(x, np.arange(4, dtype=np.float32)))
    check_data(keras.Model(steps, L.TimeDistributed(keras.Model(x, made))(steps)), tmp_path, ["keras"])


def test_tf_keras_itself_mixes_steps_and_examples(tmp_path: Path) -> None:
    x, steps = tf_keras.Input((4,)), tf_keras.Input((5, 4), name="x")
    inner = tf_keras.Model(x, tf_keras.layers.Softmax(axis=0)(x))
    check_data(tf_keras.Model(steps, tf_keras.layers.TimeDistributed(inner)(steps)), tmp_path, ["keras"])


HALF = {"dtype": "mixed_float16"}
OTHERS = {
    "Dense": (lambda: L.TimeDistributed(L.Dense(3, **HALF)), None),
    "GRU": (lambda: L.Bidirectional(L.GRU(3, **HALF)), None),
    "GRUCell": (lambda: L.RNN(L.GRUCell(3, **HALF)), None), "LSTMCell": (lambda: L.RNN(L.LSTMCell(3), **HALF), None),
    "SimpleRNNCell": (lambda: L.RNN(L.StackedRNNCells([L.SimpleRNNCell(3, **HALF)])), None),
    "quantized": (lambda: L.TimeDistributed(L.Dense(3)), "int8"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_another_dtype_is_refused_where_keras_3_does_not_heed_it(name: str, tmp_path: Path) -> None:
    (make, mode), steps = OTHERS[name], keras.Input((5, 4))
    model = keras.Model(steps, make()(steps))
    if mode:
        model.quantize(mode)
    model.save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=f"its {'Dense' if mode else name} has another dtype, or quantized weights"):
        load(tmp_path / "model.keras")


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_model_that_reads_no_mask_is_called_on_masked_steps(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((5, 3), name="x")
    inner = library.Sequential([layers.Dense(4), library.Sequential([layers.Dropout(0.3), layers.Dense(2)])])
    steps = np.array([[[1, 2, 3], [0, 0, 0], [4, 5, 6], [7, 8, 9], [0, 0, 0]]] * 3, np.float32)
    made = layers.TimeDistributed(inner)(layers.Masking()(x))
    check_data(library.Model(x, layers.LSTM(3)(made)), tmp_path, x=steps)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_a_model_that_may_read_masks_is_refused_on_masked_steps(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((5, 4, 3), name="x")
    pooled = library.Sequential([layers.Dense(4), layers.GlobalAveragePooling1D()])
    masked = layers.TimeDistributed(layers.Masking() if library is tf_keras else pooled)(layers.Masking()(x))
    library.Model(x, masked).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match="sees to masks itself"):
        load(tmp_path / "model.keras")


def test_both_directions_start_from_states_that_are_given(tmp_path: Path) -> None:
    x, states = keras.Input((6, 4), name="x"), [keras.Input((3,), name=name) for name in "abcd"]
    layer = L.Bidirectional(L.LSTM(3, return_state=True), merge_mode=None)
    check_data(keras.Model([x, *states], layer(x, initial_state=states)), tmp_path, ["keras"])


def test_layers_of_several_kinds_run_in_both_directions(tmp_path: Path) -> None:
    layers = [
        L.Bidirectional(L.GRU(3, return_state=True), merge_mode="mul"),
        L.Bidirectional(L.RNN([L.LSTMCell(3), L.GRUCell(2)], return_sequences=True)),
        L.Bidirectional(L.LSTM(3), backward_layer=L.LSTM(3, go_backwards=True, use_bias=False)),
    ]  # fmt: skip
    check_data(branches((6, 4), *layers), tmp_path, ["h5"])
    check_data(branches((3, 5, 2), L.Bidirectional(L.ConvLSTM1D(2, 3, return_sequences=True))), tmp_path, ["keras"])


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_both_directions_return_zeros_for_masked_steps(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((5,), dtype="int32", name="x")
    masked = layers.Embedding(7, 4, mask_zero=True)(x)
    cell = layers.GRU(2, return_sequences=True)
    outputs = [layers.Bidirectional(cell)(masked), layers.Bidirectional(layers.LSTM(2))(masked)]
    steps = np.array([[1, 2, 0, 0, 0], [3, 0, 2, 1, 0], [0, 0, 3, 4, 5]], np.int32)
    check_data(library.Model(x, outputs), tmp_path, ["keras"], x=steps)
