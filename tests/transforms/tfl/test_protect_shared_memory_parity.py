"""The runtime overwrites nothing that is still to be read, with delegates and without."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

SPEC = tf.TensorSpec([None, 3])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda dtype: dtype.name)
def test_a_row_that_is_changed_beside_what_it_was(dtype):
    def fn(x):
        scaled = tf.abs(x) * tf.constant([1, 2, 3], dtype)
        flat = tf.reshape(scaled, [-1]) + 1
        return tf.minimum(flat, 3), tf.reduce_max(scaled, 1)

    ops = check(fn, tf.TensorSpec([None, 3], dtype)).ops
    assert ("STRIDED_SLICE" if dtype is tf.float32 else "SLICE") in ops


def test_shares_that_are_shared_again():
    def fn(x):
        columns = tf.transpose(tf.sin(x))[:, None]
        y = tf.nn.softmax(tf.squeeze(columns, 1))
        return tf.cos(y), tf.exp(columns)

    check(fn, SPEC)
