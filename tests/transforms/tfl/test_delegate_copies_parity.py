"""Copies that XNNPACK makes hold what was copied, for each size of a batch."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

KERNEL = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)


def test_inputs_that_are_returned():
    def step(x, state):
        new = tf.tanh(x @ KERNEL + state)
        return new, x, state, new

    spec = tf.TensorSpec([None, 4])
    converted = check(step, spec, spec)
    assert "STRIDED_SLICE" in converted.ops and "SLICE" not in converted.ops


def test_what_would_be_written_over():
    def mean(x, m):
        m = tf.abs(m) * 2
        return tf.math.divide_no_nan(tf.reduce_sum(x * m[..., None], 1), tf.reduce_sum(m, 1, keepdims=True))

    assert "STRIDED_SLICE" in check(mean, tf.TensorSpec([None, 3, 4]), tf.TensorSpec([None, 3])).ops


def test_other_types():
    check(lambda x, i: (x, i, x > 0, i + 1), tf.TensorSpec([None, 3]), tf.TensorSpec([None, 3], tf.int32))
