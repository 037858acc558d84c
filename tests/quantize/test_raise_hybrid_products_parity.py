"""Layers that Keras quantized compute in hybrid kernels what Keras does: exactly without delegates; XNNPACK rounds
activations to other steps."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import layers

import fuseconv
from fuseconv.testing import check
from tests.random_weights import randomize


def _dense() -> Any:
    x = keras.Input((5, 32))
    return keras.Model(x, layers.Dense(9)(layers.Dense(40, activation="relu")(x)))


def _einsum() -> Any:
    x = keras.Input((5, 30))
    y = layers.EinsumDense("abc,cde->abde", (None, 3, 8), bias_axes="de", activation="relu")(x)
    return keras.Model(x, layers.EinsumDense("abde,dec->abc", (None, 7), bias_axes="c")(y))


def _attention() -> Any:
    x = keras.Input((6, 32))
    return keras.Model(x, layers.MultiHeadAttention(2, 16)(x, x))


def _embedding() -> Any:
    x = keras.Input((7,), dtype="int32")
    table = layers.ReversibleEmbedding(50, 32)
    return keras.Model(x, table(layers.Dense(32)(table(x)), reverse=True))


@pytest.mark.parametrize(("make", "products"), [
    (_dense, 2), (_einsum, 2), pytest.param(_attention, 4, marks=pytest.mark.slow),
    (_embedding, 2),
])  # fmt: skip
def test_layers_of_int8(make: Callable[[], Any], products: int) -> None:
    model = make()
    randomize(model, 1)
    with pytest.warns(UserWarning, match="quantize"):
        model.quantize("int8")
    (given,) = model.inputs
    low = 50 if given.dtype == "int32" else 0

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (rng.integers(0, low, shape) if low else rng.normal(size=shape)).astype(dtype)

    spec = tf.TensorSpec(given.shape, given.dtype)
    converted = check(model, spec, quantize="dynamic", atol=0.03, inputs=draw)
    assert converted.ops.count("FULLY_CONNECTED") == products and "ROUND" not in converted.ops
    x = draw(np.random.default_rng(5), (3, *given.shape[1:]), np.dtype(given.dtype))
    wanted = np.asarray(model(x))
    made = _without_delegates(converted.data, x)
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


@pytest.mark.parametrize(("make", "products"), [(_dense, 2), (_einsum, 2), (_embedding, 2)])
def test_files_of_int8_are_as_the_model(make: Callable[[], Any], products: int, tmp_path: Path) -> None:
    """Read as data, rounded rows and integers are floats, in FULLY_CONNECTEDs."""
    model = make()
    randomize(model, 1)
    with pytest.warns(UserWarning, match="quantize"):
        model.quantize("int8")
    model.save(tmp_path / "model.keras")
    converted = fuseconv.convert(tmp_path / "model.keras", quantize="dynamic", keras_loader="data")
    ops = [op.type for op in converted.report.emitted]
    assert ops.count("FULLY_CONNECTED") == products and "ROUND" not in ops
    (given,) = model.inputs
    rng = np.random.default_rng(5)
    shape = (3, *given.shape[1:])
    x = rng.integers(0, 50, shape, np.int32) if given.dtype == "int32" else rng.normal(size=shape).astype(np.float32)
    wanted = np.asarray(model(x))
    assert converted.data is not None
    made = _without_delegates(converted.data, x)
    np.testing.assert_allclose(made, wanted, rtol=0, atol=1e-5 * np.abs(wanted).max())


def _without_delegates(data: bytes, x: np.ndarray) -> np.ndarray:
    kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=kind)
    place = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(place, x.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(place, x)
    interpreter.invoke()
    return np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))


def test_integer_kernels_take_the_same_layers() -> None:
    model = _dense()
    randomize(model, 1)
    with pytest.warns(UserWarning, match="quantize"):
        model.quantize("int8")
    rng = np.random.default_rng(0)
    samples = [{"x0": rng.uniform(-2, 2, (3, 5, 32)).astype(np.float32)} for _ in range(40)]

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-2, 2, shape).astype(dtype)

    spec = tf.TensorSpec((None, 5, 32))
    converted = check(model, spec, quantize="int8", calibration_data=samples, atol=0.08, inputs=draw, static=False)
    assert converted.ops == ["QUANTIZE", "FULLY_CONNECTED", "FULLY_CONNECTED", "DEQUANTIZE"]
