"""Models with weights of 8 and 16 bits compute nearly what TensorFlow does: with any batch, behind a resize, twice
in a row, with delegates and without."""

from __future__ import annotations

from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from fuseconv.testing import Converted, check
from tests.random_weights import randomize


def _check(model: keras.Model, mode: str, low: int = 0) -> Converted:
    """low: integer inputs are below this."""
    randomize(model, 1)
    tolerance = {"float16": 2e-3, "dynamic": 6e-2}[mode]
    specs = [tf.TensorSpec(x.shape, x.dtype) for x in model.inputs]

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (rng.integers(0, low, shape) if low else rng.standard_normal(shape)).astype(dtype)

    return check(model, *specs, quantize=mode, atol=tolerance, inputs=draw, batches=(1, 3), static=low == 0)


@pytest.mark.parametrize("mode", ["float16", "dynamic"])
def test_convolutions_before_a_recurrent_layer(mode: str) -> None:
    x = keras.Input((12, 10))
    y = layers.LSTM(12, return_sequences=True)(layers.Conv1D(24, 5, activation="relu")(x))
    converted = _check(keras.Model(x, layers.Dense(64)(layers.Bidirectional(layers.LSTM(32))(y))), mode)
    stored = Counter(item.type for item in converted.report.quantized)
    whys = [item.why for item in converted.report.quantized if item.why]
    # Of the first layer, 8 matrices are too small for 8 bits.
    assert stored["float16"] == (8 if mode == "dynamic" else 26) and stored["int8"] == (17 if mode == "dynamic" else 0)
    assert all("beside recurrent states" in why for why in whys) and len(whys) == (mode == "dynamic")


@pytest.mark.parametrize("mode", ["float16", "dynamic"])
def test_an_embedding_before_a_loop(mode: str) -> None:
    x = keras.Input((9,), dtype="int32")
    y = layers.GRU(24, return_sequences=True)(layers.Embedding(80, 16)(x))
    converted = _check(keras.Model(x, layers.Dense(48)(y)), mode, low=80)
    assert all(not item.why for item in converted.report.quantized if item.op == "GATHER")


@pytest.mark.parametrize("mode", ["float16", "dynamic"])
def test_images(mode: str) -> None:
    x = keras.Input((12, 12, 3))
    y = layers.BatchNormalization()(layers.Conv2D(40, 3, strides=2, activation="relu")(x))
    y = layers.Conv2DTranspose(8, 3, strides=2)(layers.DepthwiseConv2D(3, depth_multiplier=3, padding="same")(y))
    converted = _check(keras.Model(x, layers.Dense(20)(layers.Flatten()(y))), mode)
    assert len({item.op for item in converted.report.quantized if not item.why}) >= 3


@pytest.mark.parametrize("mode", ["float16", "dynamic"])
def test_wide_depthwise_windows(mode: str) -> None:
    x = keras.Input((15, 13, 32))
    y = layers.DepthwiseConv2D(7, padding="same", strides=2, activation="relu")(x)
    y = layers.DepthwiseConv2D((1, 27), padding="same", depth_multiplier=2, dilation_rate=(1, 2))(y)
    converted = _check(keras.Model(x, y), mode)
    assert ("DEQUANTIZE" in converted.ops) == (mode == "float16")


def test_quiet_bands_of_a_spectrogram() -> None:
    """Beside loud ones a hybrid kernel would make 0 of them, whose logarithm is the floor's."""
    filters = np.abs(np.random.default_rng(0).standard_normal((65, 16))).astype(np.float32)
    filters[:33, 8:] = filters[33:, :8] = 0

    def bands(x: tf.Tensor) -> tf.Tensor:
        power = tf.square(tf.abs(tf.signal.stft(x, 100, 50, 128)))
        return tf.math.log(tf.maximum(tf.matmul(power, filters), 1e-10))

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (np.sin(np.arange(shape[1]) / 3) + 1e-4 * rng.standard_normal(shape)).astype(dtype)

    converted = check(bands, tf.TensorSpec((None, 300)), quantize="dynamic", atol=0.02, inputs=draw)
    assert any(item.type == "int8" and not item.why for item in converted.report.quantized)
    layer = layers.LSTM(4)
    layer.build((None, 5, 16))
    spec = tf.TensorSpec((None, 300))
    converted = check(lambda x: layer(bands(x) / 20), spec, quantize="dynamic", atol=0.02, inputs=draw)
    assert {"CAST", "MUL"} < set(converted.ops)  # unpacked in each run, beside states of a dynamic batch
