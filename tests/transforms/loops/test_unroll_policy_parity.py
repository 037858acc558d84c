"""Recurrent layers without a kernel, and loops written by hand: right, and with small bodies.

A time that is not known keeps a loop of one step an iteration, whose ops are counted here; a known one lets the rule
choose, or the option. By default the layers of these tests, which have next to no weights, keep their loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

from fuseconv.testing import Converted, check
from fuseconv.transforms.loops.unroll_policy import MODES
from tests.pairwise import mostly_slow
from tests.random_weights import randomize

K, K2 = keras.layers, tf_keras.layers
X = tf.TensorSpec([None, 7, 3])
DYNAMIC = tf.TensorSpec([None, None, 3])
CELL = ["ADD", "ADD", "LOGISTIC", "LOGISTIC", "MUL", "ADD", "TANH", "SUB", "MUL", "ADD"]


def body_of(converted: Converted) -> list[str]:
    """The ops of all subgraphs but the first."""
    return [op.type for op in converted.report.emitted if op.subgraph]


def built(layer: Any, spec: tf.TensorSpec = X, seed: int = 1) -> Any:
    layer.build(tuple(spec.shape))
    randomize(layer, seed)
    return layer


def masked(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Steps of zeros, at the end of the first row and inside the last."""
    x = rng.standard_normal(shape).astype(dtype)
    x[0, -2:] = 0
    x[-1, 1] = 0
    return x


def test_the_hoisted_gru() -> None:
    converted = check(built(K.GRU(5, return_sequences=True)), DYNAMIC, static=False)
    assert "WHILE" in converted.ops
    assert sorted(body_of(converted)) == sorted([
        "LESS", "GATHER", "SPLIT", "FULLY_CONNECTED", "SPLIT", *CELL, "RESHAPE", "PACK", "DYNAMIC_UPDATE_SLICE", "ADD",
    ])  # fmt: skip


def test_the_last_output_alone_needs_no_list() -> None:
    converted = check(built(K.GRU(5)), DYNAMIC, static=False)
    body = body_of(converted)
    assert "DYNAMIC_UPDATE_SLICE" not in converted.ops and body.count("FULLY_CONNECTED") == 1
    assert converted.ops.count("FULLY_CONNECTED") == 2 and len(body) == 16


GRU: dict[str, Callable[[], Any]] = {
    "plain": lambda: K.GRU(5),
    "sequences": lambda: K.GRU(5, return_sequences=True),
    "states": lambda: K.GRU(5, return_sequences=True, return_state=True),
    "backwards": lambda: K.GRU(5, return_sequences=True, go_backwards=True),
    "reset_before": lambda: K.GRU(5, reset_after=False),
    "reset_before_sequences": lambda: K.GRU(5, reset_after=False, return_sequences=True),
    "no_bias": lambda: K.GRU(5, use_bias=False),
    "dropout": lambda: K.GRU(5, dropout=0.3, recurrent_dropout=0.2),
    "activations": lambda: K.GRU(5, activation="relu", recurrent_activation="hard_sigmoid"),
    "bidirectional": lambda: K.Bidirectional(K.GRU(5, return_sequences=True)),
    "bidirectional_sum": lambda: K.Bidirectional(K.GRU(5), merge_mode="sum"),
    "keras2": lambda: K2.GRU(5),
    "keras2_sequences": lambda: K2.GRU(5, return_sequences=True, return_state=True),
    "keras2_backwards": lambda: K2.GRU(5, go_backwards=True, return_sequences=True),
    "keras2_reset_before": lambda: K2.GRU(5, reset_after=False, return_sequences=True),
    "keras2_no_bias": lambda: K2.GRU(5, use_bias=False),
    "keras2_implementation_1": lambda: K2.GRU(5, implementation=1, reset_after=False),
    "keras2_bidirectional": lambda: K2.Bidirectional(K2.GRU(5, return_sequences=True)),
}
OTHERS: dict[str, Callable[[], Any]] = {
    "lstm_activation": lambda: K.LSTM(5, activation="sigmoid", return_sequences=True),
    "lstm_recurrent_activation": lambda: K.LSTM(5, recurrent_activation="hard_sigmoid"),
    "keras2_lstm_activations": lambda: K2.LSTM(5, activation="softsign", recurrent_activation="hard_sigmoid"),
    "simple_rnn_sigmoid": lambda: K.SimpleRNN(5, activation="sigmoid", return_sequences=True),
    "stacked": lambda: K.RNN(K.StackedRNNCells([K.GRUCell(5), K.LSTMCell(4)])),
    "stacked_sequences": lambda: K.RNN(
        K.StackedRNNCells([K.LSTMCell(4, activation="relu"), K.GRUCell(5)]), return_sequences=True, return_state=True
    ),
    "keras2_stacked": lambda: K2.RNN([K2.GRUCell(5), K2.GRUCell(4, reset_after=False)], return_sequences=True),
    "time_distributed": lambda: K.TimeDistributed(K.Dense(4, activation="relu")),
}


def fully_connected(converted: Converted) -> int:
    return body_of(converted).count("FULLY_CONNECTED")


@mostly_slow(name=[*GRU], time=["known", "dynamic"])
def test_gru(name: str, time: str) -> None:
    layer = built(GRU[name]())
    if time == "known":
        converted = check(layer, X, static=False, rnn="auto")
        assert "WHILE" not in converted.ops, "so few steps need no loop"
        return
    converted = check(layer, DYNAMIC, static=name in ("plain", "states", "bidirectional", "keras2"))
    loops = converted.ops.count("WHILE")
    assert loops == (2 if "bidirectional" in name else 1)
    assert fully_connected(converted) == (2 * loops if "before" in name or "implementation" in name else loops)


@mostly_slow(name=[*OTHERS], mode=["fused", "loop"])
def test_others(name: str, mode: str) -> None:
    converted = check(built(OTHERS[name]()), X, static=False, rnn=mode)
    assert mode == "fused" or converted.ops.count("WHILE") == (name != "time_distributed")


@mostly_slow(layers={"keras3": K, "keras2": K2}, sequences=[False, True])
def test_masks(layers: Any, sequences: bool) -> None:
    kind = keras if layers is K else tf_keras
    model = kind.Sequential([layers.Masking(), layers.GRU(5, return_sequences=sequences)])
    converted = check(built(model), X, static=False, inputs=masked, rnn="loop")
    body = body_of(converted)
    assert body.count("FULLY_CONNECTED") == 1 and "TILE" not in body
    # The previous output and the state start from zeros and are chosen alike: they are one variable.
    assert body.count("SELECT_V2") == 1
    check(model, DYNAMIC, static=False, inputs=masked)


@pytest.mark.parametrize("layers", [K, K2], ids=["keras3", "keras2"])
def test_initial_states(layers: Any) -> None:
    layer = built(layers.GRU(5, return_sequences=True))
    check(lambda x, h: layer(x, initial_state=h), X, tf.TensorSpec([None, 5]), static=False, rnn="loop")
    last = built(layers.GRU(5))
    check(lambda x, h: last(x, initial_state=h), DYNAMIC, tf.TensorSpec([None, 5]), static=False)
    check(lambda x: last(x, initial_state=[tf.ones([tf.shape(x)[0], 5])]), X, static=False)


def test_an_encoder_hands_its_state_to_a_decoder() -> None:
    encoder, decoder = built(K.GRU(5, return_state=True)), built(K.GRU(5, return_sequences=True), seed=2)
    converted = check(lambda x: decoder(x, initial_state=encoder(x)[1]), X, static=False, rnn="loop")
    assert converted.ops.count("WHILE") == 2


def test_conv_lstm() -> None:
    spec = tf.TensorSpec([None, 5, 6, 6, 2])
    layer = built(K.ConvLSTM2D(4, 3, return_sequences=True), spec)
    converted = check(layer, spec, static=False, rnn="loop")
    assert converted.ops.count("CONV_2D") == 2 and body_of(converted).count("CONV_2D") == 1
    check(layer, spec, static=False)


@mostly_slow(mode=MODES, steps=[3, 41])
def test_all_modes_agree(mode: str, steps: int) -> None:
    layer = built(K.GRU(4, return_sequences=True, return_state=True))
    converted = check(layer, tf.TensorSpec([None, steps, 3]), static=False, rnn=mode)
    assert ("WHILE" in converted.ops) == (mode in ("loop", "fused"))


def test_by_default_the_file_does_not_grow() -> None:
    layer = built(K.GRU(4, return_sequences=True))
    small, fast = (check(layer, tf.TensorSpec([None, 32, 3]), static=False, rnn=rnn) for rnn in ("fused", "auto"))
    assert small.ops.count("WHILE") == 1 and body_of(small).count("FULLY_CONNECTED") == 1
    assert 3 * len(small.data) < len(fast.data)
    table = np.random.default_rng(0).standard_normal((1_000_000, 3)).astype(np.float32)
    spec = tf.TensorSpec([None, 32], tf.int32)
    large = check(lambda i: layer(tf.gather(table, i)), spec, static=False, inputs=lambda rng, shape, dtype:
                  rng.integers(0, len(table), shape).astype(dtype))  # fmt: skip
    assert "WHILE" not in large.ops, "beside a table of 12 MB, 32 steps are little"


@pytest.mark.parametrize("mode", ["loop", "unroll"])
def test_layers_that_a_kernel_computes_are_fused_by_default_only(mode: str) -> None:
    layer = built(K2.LSTM(5))
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" in check(layer, X, static=False).ops
    converted = check(layer, X, static=False, rnn=mode)
    assert "UNIDIRECTIONAL_SEQUENCE_LSTM" not in converted.ops
    assert ("WHILE" in converted.ops) == (mode == "loop")


KERNEL = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
RECURRENT = 0.3 * np.random.default_rng(1).standard_normal((5, 5)).astype(np.float32)
BIAS = np.random.default_rng(2).standard_normal(5).astype(np.float32)


def _step(x: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
    return tf.nn.softplus(x @ KERNEL + h @ RECURRENT + BIAS)


def batch_major(x: tf.Tensor) -> tf.Tensor:
    h = tf.zeros([tf.shape(x)[0], 5])
    for t in tf.range(tf.shape(x)[1]):
        h = _step(x[:, t], h)
    return h


def backwards(x: tf.Tensor) -> tf.Tensor:
    h, steps = tf.zeros([2, 5]), x.shape[1]
    out = tf.TensorArray(tf.float32, steps)
    for t in tf.range(steps):
        h = _step(x[:, steps - 1 - t], h)
        out = out.write(steps - 1 - t, h)
    return out.stack()


def stops_early(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    h, t = tf.zeros([2, 5]), 0
    while t < x.shape[1] and tf.reduce_sum(h) < 20.0:
        h = h + _step(x[:, t], h)
        t += 1
    return h, t


def counts(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    h, count = tf.zeros([2, 5]), 0
    for t in tf.range(3, 3 + x.shape[1]):
        h = _step(x[:, t - 3], h) * tf.cast(t, tf.float32)
        count += 2
    return h, count + t


def nested(x: tf.Tensor) -> tf.Tensor:
    h = tf.zeros([2, 5])
    for t in tf.range(x.shape[1]):
        for _ in tf.range(3):
            h = _step(x[:, t], h)
            if tf.reduce_sum(h) > 5.0:
                h = h * 0.5
    return h


@pytest.mark.parametrize(
    ("loop", "mode"),
    [*((batch_major, mode) for mode in MODES),
     *((loop, mode) for loop in (backwards, stops_early, counts, nested) for mode in ("fused", "unroll"))],
)  # fmt: skip
def test_written_by_hand(loop: Callable, mode: str) -> None:
    converted = check(tf.function(loop), tf.TensorSpec([2, 20, 3]), static=False, rnn=mode)
    if mode in ("loop", "fused") or loop in (stops_early, nested):
        assert "WHILE" in converted.ops
    else:
        assert "WHILE" not in converted.ops


def test_written_by_hand_with_a_time_that_is_not_known() -> None:
    converted = check(tf.function(batch_major), DYNAMIC, static=False)
    assert fully_connected(converted) == 1


def _weights(*shape: int) -> np.ndarray:
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / shape[0] ** 0.5).astype(np.float32)


def _decoded(embedding: np.ndarray, tokens: tf.Tensor, layers: int) -> tf.Tensor:
    """The states of a decoder without masks; some 30 ops a layer."""
    h = tf.gather(embedding, tokens)
    for layer in range(layers):
        query, key, value, out = (h @ _weights(8, 8 + layer + i)[:, :8] for i in range(4))
        h = h + tf.nn.softmax(tf.matmul(query, key, transpose_b=True)) @ value * tf.sigmoid(out)
        mean = tf.reduce_mean(h, -1, keepdims=True)
        h = (h - mean) * tf.math.rsqrt(tf.reduce_mean((h - mean) ** 2, -1, keepdims=True) + 1e-3)
        h = h + tf.tanh(tf.nn.softplus(h @ _weights(8, 16)) @ _weights(16, 8))
    return h


@pytest.mark.parametrize(("layers", "grows", "loops"), [(1, False, 0), (4, False, 1), (4, True, 0)])
def test_a_decoder_of_many_ops_stays_a_loop_unless_it_grows(layers: int, grows: bool, loops: int) -> None:
    embedding = _weights(11, 8)

    def buffered(tokens: tf.Tensor) -> tf.Tensor:
        tokens = tf.pad(tokens, [[0, 0], [0, 6]])
        for i in tf.range(6):
            h = tf.gather(_decoded(embedding, tokens, layers), i, axis=1)
            chosen = tf.argmax(h @ embedding.T, -1, output_type=tf.int32)
            tokens = tf.where(tf.range(7) == i + 1, chosen[:, None], tokens)
        return tokens

    def growing(tokens: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(6):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(tokens, tf.TensorShape([2, None]))])
            h = _decoded(embedding, tokens, layers)[:, -1]
            chosen = tf.argmax(h @ embedding.T, -1, output_type=tf.int32)
            tokens = tf.concat([tokens, chosen[:, None]], 1)
        return tokens

    tokens = np.array([[3], [7]], np.int32)
    spec = tf.TensorSpec([2, 1], tf.int32)
    converted = check(tf.function(growing if grows else buffered), spec, inputs=[tokens], static=False, rnn="auto")
    assert converted.ops.count("WHILE") == loops
