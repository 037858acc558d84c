"""Files of older Keras releases compute what they computed then."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from fuseconv.load.through_keras.model_file import trace
from tests.random_weights import randomize

X = np.random.default_rng(0).standard_normal((2, 7, 4), np.float32)


def _written_by(release: str, layer: Any, path: Path, change: Callable[[dict[str, Any]], None]) -> np.ndarray:
    """Saves a model with this layer as an older release would have; returns what it makes of X."""
    model = tf_keras.Sequential([tf_keras.Input((7, 4)), layer])
    randomize(model, 1)
    model.save(path)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        for item in config["config"]["layers"]:
            for name in ("time_major", "ragged"):
                item["config"].pop(name, None)
            change(item)
        file.attrs["model_config"] = json.dumps(config).encode()
        file.attrs["keras_version"] = release.encode()
    return model(X).numpy()


def _nothing(item: dict[str, Any]) -> None:
    pass


def _forget_reset_after(item: dict[str, Any]) -> None:
    item["config"].pop("reset_after", None)


def _check(path: Path, expected: np.ndarray, x: np.ndarray = X) -> None:
    traced = trace(path)
    np.testing.assert_allclose(np.squeeze(traced.function(tf.constant(x))), expected, atol=1e-6)
    assert not traced.notes


def test_hard_sigmoid_is_that_of_keras_2(tmp_path: Path) -> None:
    layer = tf_keras.layers.LSTM(5, recurrent_activation="hard_sigmoid")
    _check(tmp_path / "m.h5", _written_by("2.1.6", layer, tmp_path / "m.h5", _nothing))


def test_integers_are_normalized_as_keras_2_does(tmp_path: Path) -> None:
    """Both Keras load this file. Keras 3 normalizes the lookup's integers to integers; in tf-keras they are floats."""
    layers = tf_keras.layers
    lookup = layers.IntegerLookup(vocabulary=[1, 2, 5], output_mode="multi_hot")
    model = tf_keras.Sequential([tf_keras.Input((1,), dtype="int64"), lookup, layers.LayerNormalization()])
    model.save(tmp_path / "m.keras")
    x = np.array([[1], [2], [9]])
    _check(tmp_path / "m.keras", model(x).numpy(), x)


@pytest.mark.parametrize("bias", [True, False])
def test_gru_that_knows_no_reset_after(tmp_path: Path, bias: bool) -> None:
    layer = tf_keras.layers.GRU(5, reset_after=False, use_bias=bias)
    expected = _written_by("2.1.6", layer, tmp_path / "m.h5", _forget_reset_after)
    _check(tmp_path / "m.h5", expected)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_cudnn_layers(tmp_path: Path, kind: str) -> None:
    module = importlib.import_module(f"tf_keras.src.layers.rnn.cudnn_{kind.lower()}")
    expected = _written_by("2.1.6", getattr(tf_keras.layers, kind)(5), tmp_path / "plain.h5", _nothing)
    model = tf_keras.Sequential([tf_keras.Input((7, 4)), getattr(module, f"CuDNN{kind}")(5)])
    model.load_weights(tmp_path / "plain.h5")
    model.save(tmp_path / "cudnn.h5")
    _check(tmp_path / "cudnn.h5", expected)
