"""`reset_all_variables` runs on files of a dynamic batch, which compute the same before and behind it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import check, convert_function
from tests.random_weights import randomize


def _lstm(units: int, inputs: int, **options: bool) -> tf_keras.layers.LSTM:
    layer = tf_keras.layers.LSTM(units, **options)
    layer.build((None, 7, inputs))
    randomize(layer, 1)
    return layer


@pytest.mark.parametrize("resolver", [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_variables_are_reset_with_any_batch(resolver: OpResolverType) -> None:
    first, second = _lstm(5, 3, return_sequences=True), _lstm(4, 5)
    converted = convert_function(lambda x: second(first(x)), tf.TensorSpec([None, 7, 3]))
    interpreter = Interpreter(model_content=converted.data, experimental_op_resolver_type=resolver)
    x = np.random.default_rng(0).standard_normal((3, 7, 3)).astype(np.float32)
    expected = converted.function(tf.constant(x))[0].numpy()
    for batch in (1, 3, 2):
        interpreter.resize_tensor_input(0, (batch, 7, 3))
        interpreter.allocate_tensors()
        for _ in range(2):
            interpreter.set_tensor(0, x[:batch])
            interpreter.invoke()
            actual = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
            np.testing.assert_allclose(actual, expected[:batch], atol=1e-5)
            interpreter.reset_all_variables()


def test_products_with_constants_beside_a_layer() -> None:
    rng = np.random.default_rng(0)
    before, behind = (rng.standard_normal(shape, np.float32) for shape in ((7, 3, 5), (4, 3)))
    layer = _lstm(4, 5, time_major=True, return_sequences=True)
    many = tf.constant(np.broadcast_to(behind, (7, 4, 3)) * np.arange(1, 8, dtype=np.float32)[:, None, None])
    specs = tf.TensorSpec([7, None, 3])
    converted = check(lambda x: tf.matmul(layer(tf.matmul(x, before)), many), specs, batches=(1, 3))
    assert converted.ops.count("BATCH_MATMUL") == 2
