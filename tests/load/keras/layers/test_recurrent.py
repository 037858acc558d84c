"""Recurrent layers: the loops that are built become the same fused ops as those that Keras exports."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import keras
import numpy as np
import pytest
import tf_keras

from fuseconv import convert
from fuseconv.errors import InputError
from fuseconv.load.keras import load
from tests.keras_parity import Runner, branches, check_cases, check_data, check_ways, randomize

L = keras.layers


def states() -> Any:
    x, h, c = keras.Input((6, 4)), keras.Input((3,), name="h"), keras.Input((3,), name="c")
    outputs = [
        *L.LSTM(3, return_state=True)(x), L.LSTM(3, return_sequences=True)(x, initial_state=[h, c]),
        *L.GRU(3, return_state=True, return_sequences=True)(x, initial_state=h),
        *L.Bidirectional(L.LSTM(3, return_state=True))(x),
    ]  # fmt: skip
    return keras.Model([x, h, c], outputs)


def masked() -> Any:
    x, y = keras.Input((5,), dtype="int32"), keras.Input((5, 3))
    embedded, kept = L.Embedding(7, 3, mask_zero=True)(x), L.Masking(0.5)(y)
    outputs = [
        L.LSTM(4)(embedded), L.GRU(2)(kept), L.Bidirectional(L.LSTM(4, return_sequences=True))(embedded),
        L.SimpleRNN(3)(L.GRU(2, return_sequences=True)(kept)),
    ]  # fmt: skip
    return keras.Model([x, y], outputs)


def stacked() -> Any:
    layers = [
        keras.Input((6, 4)), L.LSTM(5, return_sequences=True), L.BatchNormalization(),
        L.Bidirectional(L.GRU(4, return_sequences=True)), L.LSTM(3, dropout=0.2, unroll=True), L.Dense(2),
    ]  # fmt: skip
    return keras.Sequential(layers)


CASES = {
    "lstm": lambda: branches(
        (6, 4), L.LSTM(3), L.LSTM(3, return_sequences=True, go_backwards=True),
        L.LSTM(5, use_bias=False, activation="relu", recurrent_activation="hard_sigmoid"),
    ),
    "of unknown length": lambda: branches((None, 4), L.LSTM(3, return_sequences=True), L.LSTM(3)),
    "gru": lambda: branches(
        (6, 4), L.GRU(3), L.GRU(3, return_sequences=True), L.GRU(3, reset_after=False),
        L.GRU(3, use_bias=False, reset_after=False), L.RNN(L.GRUCell(2), return_sequences=True),
    ),
    "simple": lambda: branches(
        (6, 4), L.SimpleRNN(3), L.SimpleRNN(3, return_sequences=True, activation="relu"), L.RNN(L.LSTMCell(3))
    ),
    "states": states,
    "stacked": stacked,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_data_and_keras_agree(name: str, tmp_path: Path) -> None:
    check_cases(CASES, name, tmp_path, formats=["keras"])


@pytest.mark.parametrize(("of", "library"), [("LSTM", keras), ("SimpleRNN", keras), ("LSTM", tf_keras)])
def test_the_last_output_after_unknown_steps_is_one_slice(of: str, library: Any, tmp_path: Path) -> None:
    layers = library.layers
    model = library.Sequential([library.Input((None, 4)), layers.Bidirectional(getattr(layers, of)(3))])
    model.save(tmp_path / "model.keras")
    made = Counter(record.type for record in convert(tmp_path / "model.keras").report.emitted)
    assert made["CONCATENATION"] == 2  # of the states' sizes, and of both directions


def test_masks_stop_the_recurrence(tmp_path: Path) -> None:
    check_cases({"masked": masked}, "masked", tmp_path, formats=["keras"], most_more=1)


def older() -> Any:
    """A model of tf-keras: hard_sigmoid is clip(0.2 x + 0.5, 0, 1), and states are inputs in one list with x."""
    layers = tf_keras.layers
    x, h = tf_keras.Input((6, 4), name="x"), tf_keras.Input((3,), name="h")
    outputs = [
        layers.LSTM(3, recurrent_activation="hard_sigmoid")(x), layers.GRU(3)(x, initial_state=h),
        layers.GRU(3, reset_after=False, recurrent_activation="hard_sigmoid", return_sequences=True)(x),
    ]  # fmt: skip
    return tf_keras.Model([x, h], outputs)


def test_layers_of_keras_2_compute_what_they_did(tmp_path: Path) -> None:
    check_data(older(), tmp_path)


def test_a_gru_that_knows_no_reset_after_resets_before(tmp_path: Path) -> None:
    model = tf_keras.Sequential([tf_keras.Input((6, 4), name="x"), tf_keras.layers.GRU(3, reset_after=False)])
    randomize(model)
    model.save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        text = file.attrs["model_config"]
        assert '"reset_after": false, ' in text or '"reset_after": false' in text
        file.attrs["model_config"] = text.replace(', "reset_after": false', "")
    module = load(tmp_path / "model.h5")
    assert any(op.kind == "tf.StatelessWhile" for op in module.signatures[0].graph.ops)
    result = convert(tmp_path / "model.h5", tmp_path / "model.tflite", keras_loader="data")
    run = Runner(result.path)
    feeds = run.feeds()
    np.testing.assert_allclose(next(iter(run(feeds).values())), model(feeds["x"]), atol=1e-5)


def test_convolutions_recur(tmp_path: Path) -> None:
    layers = [
        L.ConvLSTM2D(2, 3, padding="same", return_state=True, recurrent_activation="hard_sigmoid"),
        L.ConvLSTM2D(3, 2, strides=2, return_sequences=True, use_bias=False, go_backwards=True),
        L.ConvLSTM2D(2, 2, dilation_rate=2, padding="same", data_format="channels_first"),
    ]  # fmt: skip
    check_data(branches((3, 5, 4, 2), *layers), tmp_path, ["h5"])
    check_data(branches((None, 5, 2), L.ConvLSTM1D(2, 3), L.ConvLSTM1D(2, 3, dropout=0.1)), tmp_path, ["keras"])


def test_masks_stop_convolutions_that_recur(tmp_path: Path) -> None:
    x, lengths = keras.Input((3, 5, 2), name="x"), keras.Input((3,), dtype="int32", name="steps")
    mask = keras.ops.greater(lengths, 0)
    outputs = [L.ConvLSTM1D(2, 3, return_sequences=each, zero_output_for_mask=each)(x, mask=mask)
               for each in (False, True)]  # fmt: skip
    steps = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0]], np.int32)
    check_data(keras.Model([x, lengths], outputs), tmp_path, ["keras"], steps=steps)


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_stateful_layers_go_on_from_call_to_call(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((6, 4), batch_size=2, name="x")
    y = layers.GRU(3, stateful=True, return_sequences=True)(layers.LSTM(3, stateful=True, return_sequences=True)(x))
    model = library.Model(x, y)
    randomize(model)
    model.save(tmp_path / "model.keras")
    run = Runner(convert(tmp_path / "model.keras", tmp_path / "model.tflite", keras_loader="data").path)
    feeds, seen = run.feeds(), []
    for _ in range(2):
        (made,) = run(feeds).values()
        np.testing.assert_allclose(made, model(feeds["x"]), atol=1e-5)
        seen.append(made)
    assert np.abs(seen[0] - seen[1]).max() > 1e-3


@pytest.mark.parametrize("library", [keras, tf_keras])
def test_states_of_16_bit_layers_are_kept_in_32(library: Any, tmp_path: Path) -> None:
    x = library.Input((6, 4), batch_size=2, name="x")
    model = library.Model(x, library.layers.GRU(3, stateful=True, dtype="mixed_float16")(x))
    randomize(model)
    model.save(tmp_path / "model.keras")
    run = Runner(convert(tmp_path / "model.keras", tmp_path / "model.tflite", keras_loader="data").path)
    for _ in range(2):
        feeds = run.feeds()
        (made,) = run(feeds).values()
        np.testing.assert_allclose(made.astype(np.float32), np.asarray(model(feeds["x"]), np.float32), atol=1e-2)


@pytest.mark.parametrize("kind", ["CuDNNLSTM", "CuDNNGRU"])
def test_layers_of_cudnn_are_read_as_tf_keras_converts_them(kind: str, tmp_path: Path) -> None:
    # Their weights are in another layout; to run them takes a GPU.
    made = getattr(tf_keras.src.layers.rnn, kind)
    x = tf_keras.Input((6, 4), name="x")
    check_ways(tf_keras.Model(x, made(5, return_sequences=True, go_backwards=True)(x)), tmp_path, ["h5"])


def test_states_are_no_larger_than_the_file_justifies(tmp_path: Path) -> None:
    x = keras.Input((6, 4), batch_size=2)
    keras.Model(x, L.LSTM(3, stateful=True)(x)).save(tmp_path / "model.h5")
    with h5py.File(tmp_path / "model.h5", "r+") as file:
        text = file.attrs["model_config"]
        assert '"batch_shape": [2, 6, 4]' in text
        file.attrs["model_config"] = text.replace('"batch_shape": [2, 6, 4]', '"batch_shape": [2000000000, 6, 4]')
    with pytest.raises(InputError, match="rnn_state"):
        convert(tmp_path / "model.h5", None, keras_loader="data")
