"""Constants that signatures return, by the interpreter, signatures' runners and the compiled model of LiteRT."""

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import check, convert_function


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64, tf.bool, tf.float16, tf.uint8, tf.complex64])
def test_constants_of_each_type_are_returned_without_ops(dtype: tf.DType) -> None:
    values = tf.cast(tf.constant([[1, 0, 3], [2, 5, 1]]), dtype)
    converted = check(lambda x: (tf.exp(x), values, values[0], values[0, 0]), tf.TensorSpec([None, 3]))
    assert converted.ops == ["EXP"]


def test_a_constant_that_is_weights_too_and_one_that_is_returned_twice() -> None:
    weights = tf.random.stateless_normal([3, 3], [1, 2])
    converted = check(lambda x: (x @ weights, tf.transpose(weights), tf.transpose(weights)), tf.TensorSpec([None, 3]))
    assert sorted(converted.ops) == ["FULLY_CONNECTED", "SLICE"]


def test_strings_are_copied() -> None:
    converted = check(lambda x: (tf.exp(x), tf.constant(["a", "bc"])), tf.TensorSpec([None, 3]))
    assert sorted(converted.ops) == ["EXP", "STRIDED_SLICE"]


def test_a_branch_beside_a_constant() -> None:
    def f(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: x * 2), tf.constant([1.0, 2.0])

    assert "SLICE" not in check(f, tf.TensorSpec([None, 3])).ops


def test_the_compiled_model_finds_each_by_its_name() -> None:
    c = tf.constant([1.0, 2.0, 3.0])
    data = convert_function(lambda x: (c, tf.exp(x), c), tf.TensorSpec([2, 3])).data
    model = CompiledModel.from_buffer(data)
    ((key, signature),) = model.get_signature_list().items()
    assert sorted(signature["outputs"]) == ["y0", "y1", "y2"]
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    inputs[0].write(x)
    model.run_by_index(0, inputs, outputs)
    sizes = {"y0": 3, "y1": 6, "y2": 3}
    found = {name: buffer.read(sizes[name], np.float32) for name, buffer in zip(signature["outputs"], outputs)}
    np.testing.assert_array_equal(found["y0"], c)
    np.testing.assert_array_equal(found["y2"], c)
    np.testing.assert_allclose(np.reshape(found["y1"], [2, 3]), np.exp(x), rtol=1e-5)
    runner = Interpreter(model_content=data).get_signature_runner(key)
    np.testing.assert_array_equal(runner(x0=x)["y2"], c)
