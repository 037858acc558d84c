"""Masked layers of Keras 3 and 2: which steps count is known at run time only, and the kernels take no mask."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
import tf_keras

import fuseconv
from fuseconv.testing import check
from fuseconv.verifying import verify
from tests.pairwise import mostly_slow
from tests.random_weights import randomize
from tests.transforms.rnn.expected import CELL, LSTM, REVERSED, SIZE, ZEROS
from tests.transforms.rnn.masked import check_fused, draw

TIME, IN, UNITS = 7, 3, 4
LAYERS = {"keras3": keras.layers, "keras2": tf_keras.layers}
KERAS = pytest.mark.parametrize("layers", LAYERS.values(), ids=LAYERS)
KINDS = ["LSTM", "SimpleRNN"]
# The numbers of steps that count, and the order in which they come first.
COUNTED = ["CAST", "CUMSUM", "TOPK_V2", "GATHER"]
OUTPUTS = ["PAD", "GATHER"]
COUNT = ["GATHER"]


def _built(layer: Any, seed: int = 1) -> Any:
    layer.build((None, TIME, IN))
    randomize(layer, seed)
    return layer


def _specs(batch: int | None = None, time: int | None = None) -> tuple[tf.TensorSpec, tf.TensorSpec]:
    return tf.TensorSpec([batch, time, IN]), tf.TensorSpec([batch, time], tf.bool)


OPTIONS: dict[str, dict[str, Any]] = {
    "last": {},
    "sequences": {"return_sequences": True},
    "state": {"return_state": True},
    "sequences and state": {"return_sequences": True, "return_state": True},
    "backwards": {"go_backwards": True},
    "sequences backwards": {"go_backwards": True, "return_sequences": True, "return_state": True},
    "zeros": {"return_sequences": True, "return_state": True, "zero_output_for_mask": True},
    "zero sequences": {"return_sequences": True, "zero_output_for_mask": True},
    "last zeros": {"zero_output_for_mask": True},
    "relu": {"activation": "relu", "return_state": True},
    "no bias": {"use_bias": False, "return_sequences": True},
}


@mostly_slow(layers=LAYERS, layer=KINDS, name=[name for name in OPTIONS if name != "zero sequences"])
def test_a_mask_that_is_an_input(layers: Any, layer: str, name: str) -> None:
    made = _built(getattr(layers, layer)(UNITS, **OPTIONS[name]))
    check_fused(lambda x, mask: made(x, mask=mask), *_specs(None, TIME))


@mostly_slow(layers=LAYERS, layer=KINDS, name=["last", "sequences backwards", "zeros"])
def test_dynamic_time(layers: Any, layer: str, name: str) -> None:
    made = _built(getattr(layers, layer)(UNITS, **OPTIONS[name]))
    check_fused(lambda x, mask: made(x, mask=mask), *_specs())


OPS = {
    "last": [*COUNTED, *COUNT, *OUTPUTS],
    "sequences": [*COUNTED, *OUTPUTS],
    "zero sequences": [*COUNTED, "MUL", *OUTPUTS],
    "backwards": [*COUNTED, *COUNT, *OUTPUTS, *REVERSED, *REVERSED],
}


@mostly_slow(layers=LAYERS, name=[*OPS])
def test_ops(layers: Any, name: str) -> None:
    made = _built(layers.LSTM(UNITS, **OPTIONS[name]))
    check_fused(lambda x, mask: made(x, mask=mask), *_specs(None, TIME), ops=[*SIZE, ZEROS, ZEROS, LSTM, *OPS[name]])


@KERAS
def test_the_cell_state_is_kept_at_steps_that_do_not_count(layers: Any) -> None:
    made = _built(layers.LSTM(UNITS, return_state=True))
    kept = ["EXPAND_DIMS", "SELECT_V2", "SELECT_V2", "CONCATENATION", "GATHER", *CELL]
    check_fused(
        lambda x, mask: made(x, mask=mask)[2], *_specs(None, TIME),
        ops=[*SIZE, ZEROS, ZEROS, LSTM, "CAST", "TOPK_V2", "GATHER", *kept],
    )  # fmt: skip


@mostly_slow(layers=LAYERS, layer=KINDS, batch=[1, 5])
def test_a_fixed_batch(layers: Any, layer: str, batch: int) -> None:
    made = _built(getattr(layers, layer)(UNITS, return_sequences=True, return_state=True))
    check_fused(lambda x, mask: made(x, mask=mask), *_specs(batch, TIME))


@KERAS
def test_an_initial_state_that_is_an_input(layers: Any) -> None:
    made = _built(layers.LSTM(UNITS, return_sequences=True, return_state=True))
    state = tf.TensorSpec([None, UNITS])
    check_fused(lambda x, m, h, c: made(x, mask=m, initial_state=[h, c]), *_specs(None, TIME), state, state)


@KERAS
def test_an_initial_state_of_a_simple_rnn(layers: Any) -> None:
    made = _built(layers.SimpleRNN(UNITS, return_sequences=True, return_state=True))
    check_fused(lambda x, m, h: made(x, mask=m, initial_state=h), *_specs(), tf.TensorSpec([None, UNITS]))


@mostly_slow(layers=LAYERS, layer=KINDS, sequences=[True, False])
def test_both_directions(layers: Any, layer: str, sequences: bool) -> None:
    made = _built(layers.Bidirectional(getattr(layers, layer)(UNITS, return_sequences=sequences)))
    check_fused(lambda x, mask: made(x, mask=mask), *_specs(None, TIME), count=2)


@mostly_slow(layers=LAYERS, time=[TIME, None])
def test_stacked_layers_hand_the_mask_on(layers: Any, time: int | None) -> None:
    first, second = layers.LSTM(5, return_sequences=True), layers.SimpleRNN(UNITS)
    models = keras if layers is keras.layers else tf_keras
    both = layers.Bidirectional(layers.LSTM(3, return_sequences=True))
    model = models.Sequential([models.Input((time, IN)), layers.Masking(), first, both, second])
    randomize(model, 3)
    check_fused(lambda x: model(x), tf.TensorSpec([None, time, IN]), inputs=_with_rows_of_zeros, count=4)


def _with_rows_of_zeros(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.standard_normal(shape) * draw(rng, shape[:2], np.dtype(bool))[..., np.newaxis]).astype(dtype)


@mostly_slow(layers=LAYERS, name=["last", "sequences and state"])
def test_values_that_are_masked_by_a_layer(layers: Any, name: str) -> None:
    models = keras if layers is keras.layers else tf_keras
    ends = models.Input((TIME, IN))
    model = models.Model(ends, layers.LSTM(UNITS, **OPTIONS[name])(layers.Masking()(ends)))
    randomize(model, 2)
    check_fused(lambda x: model(x), tf.TensorSpec([None, TIME, IN]), inputs=_with_rows_of_zeros)


def _ids(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return (rng.integers(1, 9, shape) * draw(rng, shape, np.dtype(bool))).astype(dtype)


@mostly_slow(layers=LAYERS, layer=KINDS, time=[TIME, None])
def test_an_embedding_that_masks_zeros(layers: Any, layer: str, time: int | None) -> None:
    models = keras if layers is keras.layers else tf_keras
    embedding = layers.Embedding(9, IN, mask_zero=True)
    ids = models.Input((time,), dtype="int32")
    model = models.Model(ids, getattr(layers, layer)(UNITS)(embedding(ids)))
    randomize(model, 2)
    check_fused(lambda x: model(x), tf.TensorSpec([None, time], tf.int32), inputs=_ids)


def test_a_mask_made_of_lengths_needs_no_order() -> None:
    made = _built(keras.layers.LSTM(UNITS, return_sequences=True))
    specs = tf.TensorSpec([None, None, IN]), tf.TensorSpec([None], tf.int64)

    def masked(x: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        return made(x, mask=tf.sequence_mask(lengths, tf.shape(x)[1], dtype=tf.bool))

    assert "TOPK_V2" not in check_fused(masked, *specs).ops
    backwards = _built(keras.layers.LSTM(UNITS, return_sequences=True, go_backwards=True))
    mask = lambda x, lengths: backwards(x, mask=tf.sequence_mask(lengths, TIME))  # noqa: E731
    assert "TOPK_V2" in check_fused(mask, tf.TensorSpec([None, TIME, IN]), specs[1]).ops


def test_a_masked_step_may_hold_no_number() -> None:
    made = _built(keras.layers.LSTM(UNITS, return_sequences=True, return_state=True))

    def run(x: tf.Tensor, mask: tf.Tensor) -> Any:
        return made(tf.where(mask[:, :, tf.newaxis], x, np.inf - np.inf), mask=mask)

    check_fused(run, *_specs(None, TIME))


@pytest.mark.parametrize("columns", [1, UNITS])
def test_a_mask_of_each_element_is_none_of_rows(columns: int) -> None:
    kernel, recurrent = (np.random.default_rng(n).standard_normal((n, UNITS), np.float32) for n in (IN, UNITS))

    def layer(x: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        def step(t: tf.Tensor, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return t + 1, tf.where(mask[:, t], tf.tanh(x[:, t] @ kernel + state @ recurrent), state)

        return tf.while_loop(lambda t, _: t < TIME, step, (0, tf.zeros([tf.shape(x)[0], UNITS])))[1]

    made = check(layer, tf.TensorSpec([None, TIME, IN]), tf.TensorSpec([None, TIME, columns], tf.bool))
    assert ("UNIDIRECTIONAL_SEQUENCE_RNN" in made.ops) is (columns == 1)


def test_an_encoder_hands_its_states_to_a_decoder() -> None:
    encoder, decoder = _built(keras.layers.LSTM(UNITS, return_state=True)), _built(keras.layers.LSTM(UNITS))
    specs = [*_specs(None, TIME), *_specs(None, 4)]
    check_fused(lambda x, m, y, n: decoder(y, mask=n, initial_state=encoder(x, mask=m)[1:]), *specs, count=2)


def test_a_cell_in_an_rnn_of_time_major() -> None:
    made = tf_keras.layers.RNN(
        tf_keras.layers.LSTMCell(UNITS), return_sequences=True, return_state=True, time_major=True
    )
    made.build((TIME, None, IN))
    randomize(made, 1)
    check_fused(lambda x, mask: made(x, mask=mask), *_specs(TIME, None))


@mostly_slow(layers=LAYERS, name=["last", "sequences backwards"], zeros=[False, True])
def test_cells_in_one_loop(layers: Any, name: str, zeros: bool) -> None:
    cells = [layers.LSTMCell(5), layers.SimpleRNNCell(3), layers.LSTMCell(UNITS)]
    made = _built(layers.RNN(layers.StackedRNNCells(cells), zero_output_for_mask=zeros, **OPTIONS[name]))
    check_fused(lambda x, mask: made(x, mask=mask), *_specs(None, TIME), count=3)


@KERAS
def test_a_mask_of_a_gru_stays_in_a_loop(layers: Any) -> None:
    made = _built(layers.GRU(UNITS))
    converted = check(lambda x, mask: made(x, mask=mask), *_specs(None, TIME), inputs=draw, static=False)
    reasons = [record.why for record in converted.report.records if record.rule == "raise-rnn-loops"]
    assert reasons == ["TFLite has no fused op for a GRU, or for gates that mix states as a GRU's do"]


def test_files(tmp_path: Path) -> None:
    model = keras.Sequential(
        [keras.Input((None,), dtype="int32"), keras.layers.Embedding(9, IN, mask_zero=True),
         keras.layers.Bidirectional(keras.layers.LSTM(UNITS))]
    )  # fmt: skip
    randomize(model, 3)
    model.save(tmp_path / "model.keras")
    conversion = fuseconv.convert(tmp_path / "model.keras", tmp_path / "model.tflite")
    assert Counter(op.type for op in conversion.report.emitted)[LSTM] == 2
    assert verify(tmp_path / "model.keras", tmp_path / "model.tflite").passed
