"""Recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, floats, randomized, spec
from tests.random_weights import randomize

layers = keras.layers


@case("tensorflow#126061 tensorflow#62849 tensorflow#70502", "a list that wants a static shape", spec(None, 5, 3))
def lstm_of_unknown_batch() -> Callable[..., Any]:
    return randomized(layers.LSTM(4), None, 5, 3)


@case("tensorflow#126061", "a WHILE in place of one op", spec(1, 5, 3))
def lstm_of_one() -> Callable[..., Any]:
    return randomized(layers.LSTM(4, return_sequences=True), 1, 5, 3)


@case("tensorflow#40344 tensorflow#38776", "'We cannot duplicate the value'", spec(1, None, 3))
def lstm_of_unknown_length() -> Callable[..., Any]:
    return randomized(layers.LSTM(4, return_sequences=True), 1, None, 3)


@case("tensorflow#38312", "refused, since its state is a variable", spec(2, 5, 3))
def lstm_that_keeps_its_state() -> Callable[..., Any]:
    return randomized(layers.LSTM(4, stateful=True), 2, 5, 3)


@case("tensorflow#35551", "the mask is a boolean that REVERSE_V2 does not take", spec(1, 6, 3))
def lstm_both_ways_with_a_mask() -> Callable[..., Any]:
    mask, both = layers.Masking(), randomized(layers.Bidirectional(layers.LSTM(4)), 1, 6, 3)

    def run(x: tf.Tensor) -> tf.Tensor:
        held = tf.concat([x[:, :4], tf.zeros_like(x[:, 4:])], 1)
        return both(mask(held), mask=mask.compute_mask(held))

    return run


@case("tensorflow#35818", "the final state cannot be an output", spec(1, 5, 3))
def lstm_that_returns_its_state() -> Callable[..., Any]:
    return randomized(layers.LSTM(4, return_state=True), 1, 5, 3)


@case("tensorflow#47813 tensorflow#46620", "the second run starts from the state of the first", spec(1, 5, 3))
def lstm_both_ways() -> Callable[..., Any]:
    return randomized(layers.Bidirectional(layers.LSTM(4)), 1, 5, 3)


@case("tensorflow#51561", "only the first row of a batch is right", spec(3, 5, 3))
def lstm_both_ways_of_three() -> Callable[..., Any]:
    return randomized(layers.Bidirectional(layers.LSTM(4, return_sequences=True)), 3, 5, 3)


@case(
    "tensorflow#52122 tensorflow#43480", "CONCATENATION of 13 and 1 rows, once the batch is another", spec(None, 5, 3)
)
def gru_of_unknown_batch() -> Callable[..., Any]:
    return randomized(layers.GRU(4, return_sequences=True), None, 5, 3)


@case("tensorflow#62281 tensorflow#97941", "a WHILE, or a crash", spec(1, 5, 3))
def gru_with_reset_before() -> Callable[..., Any]:
    return randomized(layers.GRU(4, reset_after=False), 1, 5, 3)


@case("tensorflow#40345", "the rows of a backward LSTM are in the other order", spec(None, 5, 3))
def lstm_backwards() -> Callable[..., Any]:
    return randomized(layers.LSTM(4, go_backwards=True, return_sequences=True), None, 5, 3)


def keras2(layer: Any) -> Any:
    layer.build((1, 5, 3))
    randomize(layer, 7)
    return layer


@case("tensorflow#41694", "the process ends: both ways, by Keras 2", spec(1, 5, 3))
def lstm_both_ways_of_keras2() -> Callable[..., Any]:
    import tf_keras

    return keras2(tf_keras.layers.Bidirectional(tf_keras.layers.LSTM(4, return_sequences=True)))


@case("tensorflow#53101 tensorflow#58668", "a list that wants a static shape, by Keras 2", spec(None, 5, 3))
def lstm_of_unknown_batch_of_keras2() -> Callable[..., Any]:
    import tf_keras

    return keras2(tf_keras.layers.LSTM(4))


@case("here", "a constant first state is dropped", spec(1, 5, 3))
def lstm_from_a_constant_state() -> Callable[..., Any]:
    import tf_keras

    layer = keras2(tf_keras.layers.LSTM(4))
    state = [tf.constant(floats([0.5, -1, 2, 0.3])), tf.constant(floats([1.5, 0.2, -0.7, 1]))]
    return lambda x: layer(x, initial_state=state)


UP_AND_DOWN = np.repeat(floats(1, -1), [30, 25])[None, :, None]


@case("here", "cells are clipped at 10, which Keras does not do", spec(1, 55, 1), inputs=[UP_AND_DOWN])
def lstm_that_counts() -> Callable[..., Any]:
    import tf_keras

    layer = tf_keras.layers.LSTM(2, recurrent_activation="sigmoid")
    layer.build((1, 55, 1))
    # Input and forget gates are open, so that a cell adds or subtracts one a step; it ends at 5, or clipped at -15.
    kernel = floats([0, 0, 0, 0, 5, 6, 0, 0])
    layer.set_weights([kernel, np.zeros((2, 8), np.float32), floats(12, 12, 12, 12, 0, 0, 2, 1)])
    return layer


@case("tensorflow#62840", "RESHAPE of 4288 and 64 elements, once the length is another", spec(None, None, 3))
def rnn_of_unknown_sizes() -> Callable[..., Any]:
    return randomized(layers.SimpleRNN(4, return_sequences=True), None, None, 3)


@case("here", "a loop over the steps in place of one op", spec(None, None, 6))
def dense_for_each_of_unknown_steps() -> Callable[..., Any]:
    return randomized(layers.TimeDistributed(layers.Dense(4)), None, None, 6)


@case("here", "an embedding's mask holds the state of an LSTM", spec(None, 5, dtype=tf.int32))
def lstm_behind_an_embedding_with_a_mask() -> Callable[..., Any]:
    ids = layers.Input((5,), dtype="int32")
    stack = keras.Sequential([ids, layers.Embedding(10, 3, mask_zero=True), layers.LSTM(4)])
    randomize(stack, 7)
    return stack
