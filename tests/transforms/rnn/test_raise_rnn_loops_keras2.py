"""Keras 2 layers whose loop carries no annotation, or one that the fusion of annotated functions refuses."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tensorflow as tf
import tf_keras

from fuseconv.testing import check
from tests.random_weights import randomize
from tests.transforms.rnn.expected import LAST, LSTM, REVERSED, check_both, lstm, rnn

IN, UNITS = 3, 5
DYNAMIC = tf.TensorSpec([None, None, IN])
layers = tf_keras.layers


def _built(layer: Any, seed: int = 1) -> Any:
    layer.build((None, 7, IN))
    randomize(layer, seed)
    return layer


LSTMS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "no bias": ({"use_bias": False}, lstm(LAST)),
    "relu": ({"activation": "relu", "return_sequences": True}, lstm()),
    "recurrent dropout": ({"recurrent_dropout": 0.1}, lstm(LAST)),
    "implementation 1": ({"recurrent_dropout": 0.1, "implementation": 1}, lstm(LAST)),
    "backwards without bias": ({"use_bias": False, "go_backwards": True}, lstm(REVERSED, LAST)),
}


@pytest.mark.parametrize("name", LSTMS)
def test_lstm(name: str) -> None:
    options, ops = LSTMS[name]
    check_both(_built(layers.LSTM(UNITS, **options)), DYNAMIC, ops=ops)


@pytest.mark.parametrize("implementation", [1, 2])
def test_a_cell_in_an_rnn(implementation: int) -> None:
    layer = layers.RNN(layers.LSTMCell(UNITS, implementation=implementation), return_sequences=True)
    check_both(_built(layer), DYNAMIC, ops=lstm())


def test_time_major_cell_in_an_rnn() -> None:
    layer = layers.RNN(layers.LSTMCell(UNITS), return_sequences=True, time_major=True)
    converted = check(_built(layer), DYNAMIC, static=False)
    assert Counter(converted.ops)[LSTM] == 1
    assert "TRANSPOSE" not in converted.ops


@pytest.mark.parametrize("options", [{}, {"use_bias": False}, {"activation": "relu"}, {"return_sequences": True}])
def test_simple_rnn(options: dict[str, Any]) -> None:
    ops = rnn() if "return_sequences" in options else rnn(LAST)
    check_both(_built(layers.SimpleRNN(UNITS, **options)), DYNAMIC, ops=ops)


@pytest.mark.parametrize("activation", ["hard_sigmoid", "tanh"])
def test_a_recurrent_activation_that_the_kernel_lacks(activation: str) -> None:
    converted = check(_built(layers.LSTM(UNITS, recurrent_activation=activation)), DYNAMIC, static=False)
    assert LSTM not in converted.ops
    reasons = [record.why for record in converted.report.records if record.rule == "raise-rnn-loops"]
    assert reasons == [f"the recurrent activation is {activation}, which TFLite's LSTM lacks"]
