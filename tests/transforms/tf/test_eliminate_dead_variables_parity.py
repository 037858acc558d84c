"""Variables that reach no result go; others keep their values from one invoke to the next."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import check, convert_function
from tests.random_weights import randomize
from tests.transforms.rnn.expected import LAST, lstm


def test_the_seed_of_a_dropout_layer() -> None:
    layer = keras.layers.LSTM(4, dropout=0.3, recurrent_dropout=0.2)
    layer.build((None, 5, 3))
    randomize(layer, 1)
    check(layer, tf.TensorSpec([None, None, 3]), ops=lstm(LAST), static=False)


def _run(function, specs, calls: int) -> tuple[list[str], list[np.ndarray]]:  # type: ignore[no-untyped-def]
    converted = convert_function(function, specs)
    interpreter = Interpreter(model_content=converted.data)
    interpreter.allocate_tensors()
    made = []
    for _ in range(calls):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ones(2, np.float32))
        interpreter.invoke()
        made.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy())
    return converted.ops, made


def test_a_chain_of_variables_that_nothing_reads() -> None:
    first, second = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        first.assign_add(1.0)
        second.assign(first * second + tf.reduce_sum(x))
        return x * 2.0

    assert _run(run, tf.TensorSpec([2]), 1)[0] == ["MUL"]


def test_a_variable_that_reaches_a_result_by_another() -> None:
    first, second = tf.Variable(1.0), tf.Variable(2.0)

    @tf.function
    def run(x: tf.Tensor) -> tf.Tensor:
        first.assign_add(1.0)
        second.assign(first + second)
        return x * second

    ops, made = _run(run, tf.TensorSpec([2]), 3)
    assert ops.count("ASSIGN_VARIABLE") >= 2
    np.testing.assert_array_equal([result[0] for result in made], [4.0, 7.0, 11.0])
