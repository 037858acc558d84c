"""A model that can be trained reads its weights before the loops of inference."""

from __future__ import annotations

from collections import Counter

import keras
import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from fuseconv.testing import convert_function
from tests.random_weights import randomize


@pytest.mark.parametrize("layer", [keras.layers.LSTM, keras.layers.GRU, keras.layers.SimpleRNN])
@pytest.mark.parametrize("resolver", [OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES])
def test_weights_that_each_run_changes(layer: type[keras.layers.Layer], resolver: OpResolverType) -> None:
    cell = layer(4, return_sequences=True)
    cell.build((None, 5, 3))
    randomize(cell, 5)

    def run(x: tf.Tensor) -> tf.Tensor:
        made = cell(x)
        for variable in cell.trainable_variables:
            variable.assign(variable * 0.9 + tf.reduce_mean(made) * 0.1)
        return made

    converted = convert_function(tf.function(run), tf.TensorSpec([2, 5, 3]))
    assert Counter(converted.ops)["READ_VARIABLE"] == len(cell.trainable_variables)
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(3, 2, 5, 3)).astype(np.float32)
    run_file = Interpreter(
        model_content=converted.data, experimental_op_resolver_type=resolver
    ).get_signature_runner()
    (name,) = run_file.get_input_details()
    # The file holds the first weights, from before the model runs here.
    made = [next(iter(run_file(**{name: x}).values())) for x in rows]
    expected = [run(tf.constant(x)).numpy() for x in rows]
    np.testing.assert_allclose(made, expected, atol=1e-5)
