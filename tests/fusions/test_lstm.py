"""Keras 2's annotated LSTM becomes one fused op that is right on every invoke and for any batch."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tensorflow as tf
import tf_keras

from fuseconv.testing import check
from tests.pairwise import mostly_slow
from tests.random_weights import randomize

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"


def _layer(seed: int = 1, **options: Any) -> tf_keras.layers.LSTM:
    layer = tf_keras.layers.LSTM(5, **options)
    layer.build((None, 7, 3))
    randomize(layer, seed)
    return layer


@mostly_slow(backwards=[False, True], sequences=[False, True], time=[7, 1, None])
def test_batch_major(backwards: bool, sequences: bool, time: int | None) -> None:
    layer = _layer(go_backwards=backwards, return_sequences=sequences)
    converted = check(layer, tf.TensorSpec([None, time, 3]))
    assert Counter(converted.ops)[LSTM] == 1
    assert "WHILE" not in converted.ops
    assert next(r.rule for r in converted.report.records if r.kind == "fused") == "keras_lstm"


@mostly_slow(backwards=[False, True], sequences=[False, True])
def test_time_major(backwards: bool, sequences: bool) -> None:
    layer = _layer(time_major=True, go_backwards=backwards, return_sequences=sequences)
    # The first dimension is time here; the second, the batch, is dynamic as well.
    converted = check(layer, tf.TensorSpec([None, None, 3]))
    assert Counter(converted.ops)[LSTM] == 1


def test_all_three_results() -> None:
    converted = check(_layer(return_sequences=True, return_state=True), tf.TensorSpec([None, 7, 3]))
    assert Counter(converted.ops)[LSTM] == 1


def test_the_cell_state_alone() -> None:
    layer = _layer(return_state=True)
    converted = check(lambda x: layer(x)[2], tf.TensorSpec([None, 7, 3]))
    assert Counter(converted.ops)[LSTM] == 1


def test_an_initial_state_that_is_an_input() -> None:
    layer = _layer()
    specs = tf.TensorSpec([None, 7, 3]), tf.TensorSpec([None, 5]), tf.TensorSpec([None, 5])
    converted = check(lambda x, h, c: layer(x, initial_state=[h, c]), *specs)
    assert Counter(converted.ops)[LSTM] == 1


def test_the_states_of_an_encoder_begin_a_decoder() -> None:
    encoder, decoder = _layer(return_state=True), _layer(2)

    def translate(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        _, h, c = encoder(x)
        return decoder(y, initial_state=[h, c])

    converted = check(translate, *[tf.TensorSpec([None, None, 3])] * 2, batches=(3, 5, 1))
    assert Counter(converted.ops)[LSTM] == 2


def test_zeros_of_a_shape_begin_a_second_layer() -> None:
    first, second = _layer(return_sequences=True), _layer(2)

    def stacked(x: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
        return second(first(x)[..., :3], initial_state=[tf.zeros_like(like)] * 2)

    converted = check(stacked, tf.TensorSpec([None, 7, 3]), tf.TensorSpec([None, 5]), batches=(3, 5, 1))
    assert Counter(converted.ops)[LSTM] == 2


def test_an_initial_state_that_is_constant() -> None:
    layer = _layer()
    state = [tf.random.stateless_normal((2, 5), (seed, 7)) for seed in (1, 2)]
    for target, write in ((None, "TILE"), ("micro", "GATHER")):
        converted = check(lambda x: layer(x, initial_state=state), tf.TensorSpec([2, 7, 3]), target=target)
        assert Counter(converted.ops)[LSTM] == 1 and Counter(converted.ops)[write] == 2


@pytest.mark.parametrize("factor", [1.0, 0.0])
def test_an_initial_state_that_is_repeated_for_each_example(factor: float) -> None:
    layer, learned = _layer(), factor * tf.random.stateless_normal((1, 5), (1, 7))

    def run(x: tf.Tensor) -> tf.Tensor:
        batch = tf.shape(x)[0]
        return layer(x, initial_state=[tf.tile(learned, [batch, 1]), tf.broadcast_to(learned[0], [batch, 5])])

    converted = check(run, tf.TensorSpec([None, 7, 3]))
    assert Counter(converted.ops)[LSTM] == 1


def test_an_initial_state_that_is_computed() -> None:
    layer = _layer()

    def run(x: tf.Tensor) -> tf.Tensor:
        first = x[:, 0, :1]
        return layer(x, initial_state=[tf.tanh(first) * tf.ones((1, 5)), tf.zeros_like(first) + [0.0] * 5])

    converted = check(run, tf.TensorSpec([None, 7, 3]))
    assert Counter(converted.ops)[LSTM] == 1


def test_stacked_and_bidirectional_layers_have_states_of_their_own() -> None:
    first = tf_keras.layers.Bidirectional(tf_keras.layers.LSTM(5, return_sequences=True))
    second = tf_keras.layers.LSTM(5)
    model = tf_keras.Sequential([tf_keras.Input((7, 3)), first, second])
    randomize(model, 4)
    ops = Counter(check(lambda x: model(x), tf.TensorSpec([None, 7, 3])).ops)
    assert (ops["BIDIRECTIONAL_SEQUENCE_LSTM"], ops[LSTM]) == (1, 1)


def test_one_layer_used_twice() -> None:
    layer = _layer()
    specs = tf.TensorSpec([None, 7, 3]), tf.TensorSpec([None, 4, 3])
    converted = check(lambda x, y: layer(x) + layer(y), *specs)
    assert Counter(converted.ops)[LSTM] == 2


def test_a_mask_is_refused_by_name() -> None:
    layer = _layer()
    specs = tf.TensorSpec([None, 7, 3]), tf.TensorSpec([None, 7], tf.bool)
    converted = check(lambda x, m: layer(x, mask=m), *specs, fuse=["keras_lstm"])
    assert LSTM not in converted.ops
    assert "TFLite's LSTM takes no mask" in [record.why for record in converted.report.records]
