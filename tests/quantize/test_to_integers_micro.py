"""Files in int8 run in TFLite Micro, and compute there what they do in LiteRT: within 2 steps of the output; of loops,
where one tie that is rounded otherwise goes through all steps, within 4."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from keras import layers, ops

from fuseconv import convert
from tests.random_weights import randomize

micro = pytest.importorskip(
    "tflite_micro.python.tflite_micro.runtime", reason="the package tflite-micro is not installed (group `micro`)"
)


def _recurrent() -> keras.Model:
    x = keras.Input((6, 5), 1, name="x")
    y = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(layers.LSTM(6, return_sequences=True)(x))
    return keras.Model(x, layers.Dense(3)(y))


def _gated() -> keras.Model:
    x = keras.Input((6, 5), 1, name="x")
    return keras.Model(x, layers.Dense(3)(layers.GRU(7)(x)))


def _images() -> keras.Model:
    x = keras.Input((8, 8, 3), 1, name="x")
    y = layers.Conv2D(8, 3, strides=2, activation="relu")(x)
    y = layers.DepthwiseConv2D(3, padding="same", activation="relu6")(layers.MaxPooling2D(2, padding="same")(y))
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.GlobalAveragePooling2D()(y)))


def _normalized() -> keras.Model:
    """A sum in the steps of its operand, and a normalization with one scale."""
    x = keras.Input((8, 8, 3), 1, name="x")
    y = layers.BatchNormalization()(layers.Conv2D(24, 3, padding="same", activation="relu")(x))
    y = layers.Concatenate()([y, layers.Conv2D(8, 3, padding="same")(y)])
    y = layers.Conv2D(8, 1)(layers.ReLU()(layers.BatchNormalization()(y)))
    return keras.Model(x, layers.Dense(5)(layers.GlobalAveragePooling2D()(y)))


def _squashed() -> keras.Model:
    """A root and a quotient: SQRT has no kernel of int8 in Micro, and DIV's fails in LiteRT over bytes of 0."""
    x = keras.Input((6, 5), 1, name="x")
    y = layers.Dense(8)(x)
    size = ops.sum(ops.square(y), axis=-1, keepdims=True)
    return keras.Model(x, layers.Dense(3)(y * ops.sqrt(size + 1.0) / (size + 2.0)))


@pytest.mark.parametrize(("build", "io_types", "rnn_state"), [
    (_recurrent, "int8", "variable"), (_recurrent, "float", "written"), (_images, "int8", "written"),
    (_images, "float", "written"), (_normalized, "int8", "written"), (_gated, "int8", "written"),
    (_gated, "float", "written"), (_squashed, "int8", "written"), (_squashed, "float", "written"),
])  # fmt: skip
def test_agrees_with_litert(build: Any, io_types: str, rnn_state: str, tmp_path: Any) -> None:
    """Loops between floats have products in integers for Micro alone, which has no hybrid kernels."""
    model = build()
    randomize(model, 1)
    model.save(tmp_path / "model.keras")
    rng = np.random.default_rng(0)
    (x,) = model.inputs
    samples = [{"x": rng.uniform(-1, 1, x.shape).astype(np.float32)} for _ in range(20)]
    data = convert(
        tmp_path / "model.keras", quantize="int8", calibration_data=samples, io_types=io_types, rnn_state=rnn_state,
        target="micro" if build in (_gated, _squashed) else None,
    ).data  # fmt: skip
    assert data is not None
    litert = Interpreter(
        model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    litert.allocate_tensors()
    given, made = litert.get_input_details()[0], litert.get_output_details()[0]
    small = micro.Interpreter.from_bytes(data, arena_size=1 << 20)
    results = []
    for sample in samples[:4]:
        (array,) = sample.values()
        if io_types == "int8":
            scale, zero = given["quantization"]
            array = np.clip(np.rint(array / scale) + zero, -128, 127).astype(np.int8)
        if rnn_state == "variable":
            litert.reset_all_variables()
            small.reset()
        litert.set_tensor(given["index"], array)
        litert.invoke()
        small.set_input(array, 0)
        small.invoke()
        results.append((litert.get_tensor(made["index"]), small.get_output(0)))
    expected, actual = (np.stack(each).astype(float) for each in zip(*results))
    step = 1.0 if io_types == "int8" else np.diff(np.unique(expected.round(5))).min()
    most = 4.01 if build is _gated else 2.01
    assert np.abs(actual - expected).max() <= most * step < 0.2 * np.ptp(expected)
