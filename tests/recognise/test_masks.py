"""Masked layers: which steps a mask leaves out is known at run time only, and the kernels take none."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from fuseconv.testing import check
from tests.random_weights import randomise
from tests.recognise.expected import LSTM, RNN

TIME, IN, UNITS = 5, 3, 4


@pytest.mark.parametrize("layers", [keras.layers, tf_keras.layers], ids=["keras3", "keras2"])
@pytest.mark.parametrize("layer", ["LSTM", "SimpleRNN"])
@pytest.mark.parametrize("sequences", [True, False])
def test_a_masked_layer_is_left_with_a_reason(layers: Any, layer: str, sequences: bool) -> None:
    made = getattr(layers, layer)(UNITS, return_sequences=sequences)
    made.build((None, TIME, IN))
    randomise(made, 1)
    specs = tf.TensorSpec([None, TIME, IN]), tf.TensorSpec([None, TIME], tf.bool)
    converted = check(lambda x, mask: made(x, mask=mask), *specs, static=False)
    assert not {LSTM, RNN} & set(converted.ops)
    reasons = [record.why for record in converted.report.records if record.rule == "raise_loops"]
    assert reasons == ["the steps are masked, which TFLite's recurrent ops cannot be"]


@pytest.mark.parametrize("layer", ["LSTM", "GRU"])
def test_an_embedding_that_masks_zeros(layer: str) -> None:
    layers = [keras.layers.Embedding(9, IN, mask_zero=True), getattr(keras.layers, layer)(UNITS)]
    model = keras.Sequential([keras.Input((TIME,), dtype="int32"), *layers])
    randomise(model, 2)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.integers(0, 3, shape).astype(dtype)

    check(lambda x: model(x), tf.TensorSpec([None, TIME], tf.int32), inputs=draw, static=False)


def test_values_that_are_masked_by_a_layer() -> None:
    model = keras.Sequential([keras.Input((TIME, IN)), keras.layers.Masking(), keras.layers.LSTM(UNITS)])
    randomise(model, 2)

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return (rng.standard_normal(shape) * rng.integers(0, 2, (*shape[:2], 1))).astype(dtype)

    check(lambda x: model(x), tf.TensorSpec([None, TIME, IN]), inputs=draw, static=False)
