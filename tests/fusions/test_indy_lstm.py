"""IndyLSTM: an LSTM whose units see only their own last output."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.annotated import MOSTLY_SLOW_FORMS, annotated
from tests.pairwise import mostly_slow

IN, UNITS, TIME = 4, 3, 5
RNG = np.random.default_rng(0)
KERNEL = RNG.standard_normal((IN, 4 * UNITS)).astype(np.float32)
RECURRENT = RNG.standard_normal((UNITS, 4)).astype(np.float32)
BIAS = RNG.standard_normal(4 * UNITS).astype(np.float32)
X = tf.TensorSpec([None, TIME, IN])
STATE = tf.TensorSpec([None, UNITS])


def indy(x, h, c, kernel, recurrent, bias, *, time_major=False, backwards=False):
    """The contract's body: an unrolled loop over time."""
    axis = 0 if time_major else 1
    steps = tf.unstack(x, axis=axis)
    outputs = []
    for step in steps[::-1] if backwards else steps:
        z = tf.matmul(step, kernel) + bias + tf.reshape(h[:, tf.newaxis] * tf.transpose(recurrent), [-1, 4 * UNITS])
        i, f, g, o = tf.split(z, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        outputs.append(h)
    return h, tf.stack(outputs, axis=axis), h, c, tf.constant(0.0)


@pytest.mark.parametrize("form", MOSTLY_SLOW_FORMS)
def test_all_results_and_real_states(form):
    # TensorFlow makes tensors of the defaults of what it traces for an annotation.
    fn = annotated(lambda *operands: indy(*operands), "indy_lstm_1234", form)
    converted = check(lambda x, h, c: fn(x, h, c, KERNEL, RECURRENT, BIAS)[:4], X, STATE, STATE)
    assert converted.fused == ["indy_lstm"]
    assert converted.ops.count("UNIDIRECTIONAL_SEQUENCE_LSTM") == 1


@mostly_slow(time_major=[False, True], backwards=[False, True])
def test_attributes_of_the_function(time_major, backwards):
    def body(*operands):
        return indy(*operands, time_major=time_major, backwards=backwards)

    fn = annotated(body, "indy_lstm_1234", "api", time_major=time_major, go_backwards=backwards)
    spec = tf.TensorSpec([TIME, None, IN]) if time_major else X

    def sequence(x):
        zeros = tf.zeros([tf.shape(x)[1 if time_major else 0], UNITS])
        return fn(x, zeros, zeros, KERNEL, RECURRENT, BIAS)[1]

    assert check(sequence, spec).fused == ["indy_lstm"]


def test_full_recurrent_weights_are_refused():
    full = RNG.standard_normal((UNITS, 4 * UNITS)).astype(np.float32)
    fn = annotated(lambda x, h, c, k, r, b: (h, x, h, c, tf.constant(0.0)), "indy_lstm_1")
    converted = check(lambda x, h, c: fn(x, h, c, KERNEL, full, BIAS)[1], X, STATE, STATE, static=False)
    assert "[u, 4]" in converted.refused["indy_lstm"]
