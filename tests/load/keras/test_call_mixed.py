"""Layers that compute in 16 bits, on weights of 32, as mixed policies have it, or of 16."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tf_keras

from fuseconv.load.keras import UnknownLayer, load
from tests.keras_parity import check_ways


@pytest.fixture(params=[(keras, "mixed_float16"), (tf_keras, "mixed_bfloat16")], ids=["keras", "tf_keras"])
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    made, policy = request.param
    made.mixed_precision.set_global_policy(policy)
    yield made
    made.mixed_precision.set_global_policy("float32")


def test_layers_compute_in_16_bits(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((8, 6, 3), name="x")
    y = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[0.5, 2.0, 3.0])(layers.Rescaling(1 / 255)(x))
    y = layers.Conv2D(4, 3, activation="relu")(layers.ZeroPadding2D(1)(layers.RandomFlip()(y)))
    y = layers.PReLU()(y)
    y = layers.Add()([layers.BatchNormalization()(y), layers.Conv2D(4, 1)(x)])
    y = layers.Dropout(0.1)(layers.GlobalAveragePooling2D()(layers.MaxPooling2D()(y)))
    inner = library.Sequential([library.Input((4,)), layers.Dense(5, dtype="float32"), layers.Dense(3)])
    check_ways(library.Model(x, [layers.Dense(3, dtype="float32", activation="softmax")(y), inner(y)]), tmp_path)


def test_activations_are_computed_in_16_bits(library: Any, tmp_path: Path) -> None:
    x = library.Input((40,), name="x")
    names = ("gelu", "silu", "softplus", "elu", "selu", "mish", "softsign")
    outputs = [library.layers.Activation(name)(x) for name in names]
    check_ways(library.Model(x, outputs), tmp_path, ["keras"], x=np.linspace(-6, 6, 80, dtype="f").reshape(2, 40))


def test_inputs_that_keras_does_not_cast_keep_their_digits(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((3,), name="x")
    outputs = [layers.Embedding(5000, 2)(x)]
    outputs += [layers.LayerNormalization()(x)] if library is keras else []  # tf-keras casts them
    check_ways(library.Model(x, outputs), tmp_path, ["keras"], x=np.array([[1, 2049, 4999]], np.float32))


def test_steps_are_computed_in_16_bits(library: Any, tmp_path: Path) -> None:
    layers, x = library.layers, library.Input((4, 3), name="x")
    made = layers.MultiHeadAttention(2, 3)(x, x)
    outputs = [layers.Bidirectional(layers.LSTM(2))(x), layers.GRU(2, return_sequences=True)(made)]
    check_ways(library.Model(x, outputs), tmp_path, ["keras"])


@pytest.mark.parametrize("made", [keras, tf_keras])
def test_weights_of_16_bits_are_read(made: Any, tmp_path: Path) -> None:
    made.mixed_precision.set_global_policy("float16")
    try:
        layers, x = made.layers, made.Input((8, 6, 3), name="x")
        y = layers.BatchNormalization()(layers.Conv2D(4, 3, activation="relu")(x))
        z = layers.LSTM(3)(layers.Reshape((6, 16))(y))
        check_ways(made.Model(x, [layers.Dense(3)(layers.Concatenate()([layers.Flatten()(y), z])), z]), tmp_path)
    finally:
        made.mixed_precision.set_global_policy("float32")


def test_weights_of_bfloat16_are_read(tmp_path: Path) -> None:
    keras.config.set_dtype_policy("bfloat16")
    try:
        x = keras.Input((5,), name="x")
        check_ways(keras.Model(x, keras.layers.Embedding(6, 3)(keras.layers.Dense(2)(x) * 0.0)), tmp_path, ["keras"])
    finally:
        keras.config.set_dtype_policy("float32")


def test_other_layers_are_refused(library: Any, tmp_path: Path) -> None:
    x = library.Input((6, 4))
    library.Model(x, library.layers.UnitNormalization()(x)).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=r"UnitNormalization .* computes in"):
        load(tmp_path / "model.keras")


def test_operations_on_16_bits_that_round_once_are_read(library: Any, tmp_path: Path) -> None:
    x = library.Input((6,), name="x")
    y = library.layers.Dense(3)(x)
    z = (y * 3.0 - y[:, 1:2]) / (library.layers.Reshape((1, 3))(y)[:, 0] + y * y)
    check_ways(library.Model(x, z), tmp_path, ["keras"])


def test_other_operations_on_16_bits_are_refused(library: Any, tmp_path: Path) -> None:
    x = library.Input((6,))
    y = library.layers.Dense(3)(x)
    library.Model(x, y**2.5).save(tmp_path / "model.keras")
    with pytest.raises(UnknownLayer, match=r"called on (b?float16|16 bits)"):
        load(tmp_path / "model.keras")
