"""TFLiteConverter's files, read and written, compute what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from keras import layers
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from fuseconv.inspecting import describe
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.write.flatbuffer_export import to_bytes
from tests.random_weights import randomize


def convolutions() -> keras.Model:
    x = keras.Input((8, 8, 3))
    y = layers.ReLU(6)(layers.BatchNormalization()(layers.Conv2D(40, 3, strides=2)(x)))
    y = layers.UpSampling2D(interpolation="bilinear")(layers.Conv2DTranspose(4, 2, strides=2)(y))
    return keras.Model(x, layers.Dense(5, activation="softmax")(layers.Flatten()(layers.DepthwiseConv2D(3)(y))))


def attention() -> keras.Model:
    x = keras.Input((7, 8))
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 8)(x, x))
    return keras.Model(x, layers.Dense(4)(layers.Dense(150, activation="gelu")(y)))


def recurrence() -> keras.Model:
    x = keras.Input((6, 5), batch_size=1)  # of a dynamic one TFLiteConverter refuses it
    return keras.Model(x, layers.GRU(7)(layers.LSTM(20, return_sequences=True)(x)))


def _files(model: keras.Model) -> Iterator[bytes]:
    """The model's files: float, of dynamic range, float16 and int8."""
    shape = tuple(model.inputs[0].shape[1:])
    rng = np.random.default_rng(0)

    def samples() -> Iterator[list[np.ndarray]]:
        for _ in range(4):
            yield [rng.standard_normal((1, *shape)).astype(np.float32)]

    kinds: list[dict[str, Any]] = [{}, {"dynamic": True}, {"dynamic": True, "half": True}]
    if not any(isinstance(layer, layers.RNN) for layer in model.layers):
        kinds.append({"dynamic": True, "samples": samples})
    for kind in kinds:
        function = tf.function(lambda x: model(x), input_signature=[tf.TensorSpec(model.inputs[0].shape, tf.float32)])
        frozen = convert_variables_to_constants_v2(function.get_concrete_function())
        converter = tf.lite.TFLiteConverter.from_concrete_functions([frozen])
        if "dynamic" in kind:
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if "half" in kind:
            converter.target_spec.supported_types = [tf.float16]
        converter.representative_dataset = kind.get("samples")
        yield converter.convert()


@pytest.mark.parametrize(
    "build", [convolutions, *(pytest.param(each, marks=pytest.mark.slow) for each in (attention, recurrence))]
)
def test_files_of_the_other_converter(build: Callable[[], keras.Model]) -> None:
    model = build()
    randomize(model, 1)
    for data in _files(model):
        written = to_bytes(module_of_bytes(data, "it"))
        ops = [[op["op"] for op in graph["ops"]] for graph in describe(data, "")["subgraphs"]]
        assert [[op["op"] for op in graph["ops"]] for graph in describe(written, "")["subgraphs"]] == ops
        for batch in (1, 3) if model.inputs[0].shape[0] is None else (1,):
            x = np.random.default_rng(batch).standard_normal((batch, *model.inputs[0].shape[1:])).astype(np.float32)
            np.testing.assert_array_equal(_run(written, x), _run(data, x))


def _run(data: bytes, x: np.ndarray) -> np.ndarray:
    interpreter = Interpreter(model_content=data)
    place = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(place, x.shape)
    interpreter.allocate_tensors()
    for _ in range(2):
        interpreter.set_tensor(place, x)
        interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
