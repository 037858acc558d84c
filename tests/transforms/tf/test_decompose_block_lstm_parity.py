"""A whole LSTM in one op is the loop that it computes, and fused where that is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

UNITS = 4
RNG = np.random.default_rng(0)
WEIGHTS = {
    "w": RNG.standard_normal((3 + UNITS, 4 * UNITS), np.float32),
    "b": RNG.standard_normal(4 * UNITS, np.float32),
    **{name: RNG.standard_normal(UNITS, np.float32) for name in ("wci", "wcf", "wco")},
}
X = tf.TensorSpec([None, 2, 3])
STATE = tf.TensorSpec([2, UNITS])


def _layer(x: tf.Tensor, c: tf.Tensor, h: tf.Tensor, steps: Any, old: bool = True, **options: Any) -> Any:
    op = tf.raw_ops.BlockLSTM if old else tf.raw_ops.BlockLSTMV2
    options = ({"forget_bias": 1.0} if old else {}) | options
    return op(seq_len_max=tf.cast(steps, tf.int64), x=x, cs_prev=c, h_prev=h, **WEIGHTS, **options)


@pytest.mark.parametrize("options", [{}, {"cell_clip": 0.5}, {"cell_clip": -1.0, "use_peephole": True}], ids=str)
@pytest.mark.parametrize("old", [True, False])
def test_every_result(old: bool, options: dict[str, Any]) -> None:
    check(lambda x, c, h: list(_layer(x, c, h, tf.shape(x)[0], old, **options)), X, STATE, STATE)


def test_another_bias_of_the_forget_gate() -> None:
    check(lambda x, c, h: _layer(x, c, h, 5, forget_bias=0.3).h, tf.TensorSpec([5, 2, 3]), STATE, STATE)


def test_fewer_steps_than_there_is_input() -> None:
    def fn(x: tf.Tensor, c: tf.Tensor, h: tf.Tensor, lengths: tf.Tensor) -> list[tf.Tensor]:
        made = _layer(x, c, h, tf.reduce_max(lengths) % 5)
        return [made.h, made.cs[-1]]

    check(fn, tf.TensorSpec([5, 2, 3]), STATE, STATE, tf.TensorSpec([2], tf.int32))


@pytest.mark.parametrize("time", [6, None])
def test_a_layer_that_hands_on_its_outputs_is_fused(time: int | None) -> None:
    def fn(x: tf.Tensor) -> tf.Tensor:
        zeros = tf.zeros([tf.shape(x)[1], UNITS])
        return _layer(x, zeros, zeros, tf.shape(x)[0], cell_clip=-1.0).h

    converted = check(fn, tf.TensorSpec([time, None, 3]))
    assert converted.ops.count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 1
    assert "WHILE" not in converted.ops
