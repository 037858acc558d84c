"""Files for TensorFlow Lite Micro run in its interpreter, and compute what TensorFlow does, three times in a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from keras import layers

from fuseconv import convert
from fuseconv.inspecting import describe
from tests.random_weights import randomize

micro = pytest.importorskip(
    "tflite_micro.python.tflite_micro.runtime", reason="the package tflite-micro is not installed (group `micro`)"
)


def _recurrent() -> keras.Model:
    x = keras.Input((6, 5))
    stacked = layers.LSTM(3)(layers.LSTM(4, return_sequences=True)(x))
    both = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(x)[:, 1]
    gated = layers.GRU(4, return_sequences=True)(x)[:, -2]
    # Of the activations of an LSTM, the kernel computes tanh alone: this one becomes a loop.
    bounded = layers.LSTM(3, activation="relu")(x)
    parts = [stacked, both, gated, bounded, layers.GRU(3)(x), layers.SimpleRNN(4)(x)]
    return keras.Model(x, layers.Dense(3)(layers.Concatenate()(parts)))


def _attention() -> keras.Model:
    tokens = keras.Input((6,), dtype="int32")
    x = layers.Embedding(9, 8)(tokens)
    y = layers.MultiHeadAttention(2, 4)(x, x)
    y = layers.LayerNormalization()(x + y)
    y = layers.Dense(8, activation="gelu")(y)
    return keras.Model(tokens, layers.Dense(3)(y[:, 0]))


def _images() -> keras.Model:
    x = keras.Input((8, 8, 3))
    y = layers.Conv2D(4, 3, strides=2, activation="hard_swish", padding="same")(x)
    y = layers.Conv2DTranspose(3, 2, strides=2, activation="relu6")(y)
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(y)))


def _keywords() -> keras.Model:
    """A model of which the interpreter's own plan of the arena leaves a gap."""
    x = keras.Input((98, 40))
    y = layers.Conv1D(64, 5, strides=2, padding="same", activation="relu")(x)
    y = layers.MaxPooling1D(2)(layers.SeparableConv1D(64, 9, padding="same", activation="relu")(y))
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling1D()(y)))


def _tiled() -> keras.Model:
    """A model whose channels are computed a few at a time: of an inverted bottleneck, and of what a U-Net joins."""
    x = keras.Input((24, 20, 3))
    skip = layers.Conv2D(8, 3, padding="same", activation="relu")(x)
    y = layers.Conv2D(48, 1, activation="relu6")(skip)
    y = layers.Conv2D(10, 1)(layers.DepthwiseConv2D(3, strides=2, padding="same", activation="relu6")(y))
    y = layers.Concatenate()([layers.Conv2DTranspose(8, 2, strides=2)(y), skip])
    y = layers.Conv2D(4, 3, padding="same", activation="relu")(y)
    return keras.Model(x, layers.Conv2D(1, 1, activation="sigmoid")(y))


@pytest.mark.parametrize("build", [_recurrent, _attention, _images, _keywords, _tiled])
def test_it_computes_what_tensorflow_does(build: Any, tmp_path: Path) -> None:
    model = build()
    randomize(model, 1)
    model.save(tmp_path / "m.keras")
    converted = convert(tmp_path / "m.keras", target="micro")
    assert converted.report.target is not None and converted.report.target["refused"] == []
    arena = describe(converted.data or b"", "")["arena"]
    assert build is not _keywords or arena["bytes"] == arena["peak"]
    assert build is not _tiled or converted.report.arena_of_tiles is not None
    small = micro.Interpreter.from_bytes(converted.data, arena_size=1 << 20)
    rng = np.random.default_rng(0)
    (given,) = model.inputs
    for _ in range(3):
        shape = (1, *given.shape[1:])
        x = rng.integers(0, 9, shape).astype(np.int32) if given.dtype == "int32" else rng.normal(size=shape)
        x = x.astype(given.dtype)
        small.set_input(x, 0)
        small.invoke()
        np.testing.assert_allclose(small.get_output(0), np.asarray(model(x)), rtol=1e-5, atol=1e-5)
