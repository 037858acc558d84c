"""Parity of cells that TensorFlow has as one op."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

raw = tf.raw_ops
RNG = np.random.default_rng(0)


def drawn(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


SPECS = tf.TensorSpec([None, 3]), tf.TensorSpec([None, 4]), tf.TensorSpec([None, 4])


@pytest.mark.parametrize("use_peephole", [False, True])
@pytest.mark.parametrize("cell_clip", [-1.0, 0.5])
def test_lstm(use_peephole, cell_clip):
    w, b, peepholes = drawn(7, 16), drawn(16), {"wci": drawn(4), "wcf": drawn(4), "wco": drawn(4)}

    def step(x, state, h):
        options = {"use_peephole": use_peephole, "cell_clip": cell_clip, "forget_bias": 0.7}
        return list(raw.LSTMBlockCell(x=x, cs_prev=state, h_prev=h, w=w, b=b, **peepholes, **options))

    check(step, *SPECS)


def test_gru():
    weights = {"w_ru": drawn(7, 8), "w_c": drawn(7, 4), "b_ru": drawn(8), "b_c": drawn(4)}
    check(lambda x, h: list(raw.GRUBlockCell(x=x, h_prev=h, **weights)), *SPECS[:2])


def test_weights_at_run_time():
    weights = {"w_c": drawn(7, 4), "b_ru": drawn(8), "b_c": drawn(4)}

    def step(x, h, w_ru):
        return list(raw.GRUBlockCell(x=x, h_prev=h, w_ru=w_ru, **weights))

    check(step, *SPECS[:2], tf.TensorSpec([7, 8]))
