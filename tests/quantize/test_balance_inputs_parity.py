"""Features in units of their own keep their part when quantized: with any batch, twice in a row, with delegates and
without."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

SPREAD = np.float32(10.0) ** np.linspace(-1, 3, 24, dtype=np.float32)


@pytest.mark.parametrize("mode", ["dynamic", "int8", "int16x8"])
@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "CONV_2D"])
def test_features_in_units_of_their_own(mode: str, kind: str) -> None:
    """Quantized together as they come, each of these modes makes errors of a third of the range or more."""
    rng = np.random.default_rng(0)
    size = (24, 48) if kind == "FULLY_CONNECTED" else (3, 24, 32)
    weights = (rng.standard_normal(size) / SPREAD[:, None]).astype(np.float32)
    mean = (SPREAD * rng.standard_normal(24)).astype(np.float32)

    def model(x: tf.Tensor) -> tf.Tensor:
        y = x - mean
        return tf.nn.relu(y @ weights if kind == "FULLY_CONNECTED" else tf.nn.conv1d(y, weights, 1, "SAME"))

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (mean + SPREAD * np.clip(rng.standard_normal(shape), -2, 2)).astype(dtype)

    shape = (None, 24) if kind == "FULLY_CONNECTED" else (None, 7, 24)
    samples = [{"x0": draw(rng, (4, *shape[1:]), np.dtype(np.float32))} for _ in range(100)]
    data = None if mode == "dynamic" else samples
    converted = check(
        model, tf.TensorSpec(shape), quantize=mode, calibration_data=data, inputs=draw, atol=0.03, static=False
    )
    assert all(not item.why for item in converted.report.quantized if item.op == kind)


@pytest.mark.parametrize("mode", ["dynamic", "int8", "int16x8"])
def test_features_beside_an_embedding(mode: str) -> None:
    """Quantized together as they come, errors of `dynamic` are 0.6 of the range."""
    rng = np.random.default_rng(0)
    table = rng.uniform(-1, 1, (20, 8)).astype(np.float32)
    weights = rng.standard_normal((32, 48)).astype(np.float32)
    weights[:24] /= SPREAD[:, None]

    def model(x: tf.Tensor, token: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(tf.concat([x, tf.gather(table, token)], 1) @ weights)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        if dtype == np.int32:
            return rng.integers(0, 20, shape).astype(dtype)
        return (SPREAD * np.clip(rng.standard_normal(shape), -2, 2)).astype(dtype)

    specs = tf.TensorSpec((None, 24)), tf.TensorSpec((None,), tf.int32)
    samples = [{"x0": draw(rng, (4, 24), np.dtype(np.float32)), "x1": draw(rng, (4,), np.dtype(np.int32))}
               for _ in range(100)]  # fmt: skip
    data = None if mode == "dynamic" else samples
    check(model, *specs, quantize=mode, calibration_data=data, inputs=draw, atol=0.03, static=False)


@pytest.mark.parametrize("mode", ["dynamic", "int8", "int16x8"])
@pytest.mark.parametrize("kind", ["Flatten", "LSTM", "GRU", "masked LSTM"])
def test_features_of_steps(mode: str, kind: str) -> None:
    """Flattened, the units of what a product reads come again and again. Quantized as they come, errors are 0.5."""
    keras.utils.set_random_seed(1)
    x = keras.Input((5, 24), name="x")
    if kind == "Flatten":
        layer = keras.layers.Dense(48, activation="relu")
        y = layer(keras.layers.Flatten()(x))
    else:
        layer = getattr(keras.layers, kind.split()[-1])(16)
        y = layer(keras.layers.Masking()(x) if kind.startswith("masked") else x)
    kernel, *others = layer.get_weights()
    layer.set_weights([(kernel.reshape(-1, 24, kernel.shape[1]) / SPREAD[:, None]).reshape(kernel.shape), *others])

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (SPREAD * rng.uniform(-1, 1, shape)).astype(dtype)

    rng = np.random.default_rng(0)
    samples = [{"x0": draw(rng, (4, 5, 24), np.dtype(np.float32))} for _ in range(100)]
    data = None if mode == "dynamic" else samples
    spec = tf.TensorSpec((None, 5, 24))
    check(keras.Model(x, y), spec, quantize=mode, calibration_data=data, inputs=draw, atol=0.03, static=False)
