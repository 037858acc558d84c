"""A fused LSTM behind the loop of a GRU is static where the batch is, and computes the same."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf

import fuseconv
from fuseconv.inspecting import describe
from fuseconv.verifying import verify


@pytest.mark.parametrize("batch", [1, 3, None])
def test_an_lstm_behind_a_gru(batch: int | None) -> None:
    keras.utils.set_random_seed(3)
    steps = keras.Input((5, 3))
    hidden = keras.layers.GRU(4, return_sequences=True, bias_initializer="uniform")(steps)
    model = keras.Model(steps, keras.layers.LSTM(2, bias_initializer="uniform")(hidden))
    call = tf.function(lambda x: model(x)).get_concrete_function(tf.TensorSpec([None, 5, 3], name="x"))
    data = fuseconv.convert(call, batch_size=batch).data
    assert data is not None
    (subgraph, *_) = describe(data, "it")["subgraphs"]
    dynamic = [tensor for tensor in subgraph["tensors"] if -1 in (tensor["shape_signature"] or ())]
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in [op["op"] for op in subgraph["ops"]]
    assert bool(dynamic) == (batch is None)
    verify(call, data, data={"x": np.random.default_rng(0).normal(size=(batch or 2, 5, 3)).astype(np.float32)}).check()
