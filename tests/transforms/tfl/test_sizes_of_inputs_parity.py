"""The size of the batch is read once, off an input."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 3, 4, 5])


def test_transposed_convolutions_share_one_size():
    w = np.random.default_rng(0).standard_normal((3, 3, 5, 5)).astype(np.float32)

    def fn(x):
        for size in (2, 4):
            shape = tf.stack([tf.shape(x)[0], 3 * size, 4 * size, 5])
            x = tf.nn.conv2d_transpose(x, w, shape, 2, "SAME")
        return x

    ops = ["SHAPE", "STRIDED_SLICE", "CONCATENATION", "TRANSPOSE_CONV", "CONCATENATION", "TRANSPOSE_CONV"]
    check(fn, X, ops=ops)


def test_another_axis():
    def fn(x):
        y = tf.transpose(tf.tanh(x), [1, 0])
        return tf.fill(tf.stack([tf.shape(y)[0], 2]), 0.5)

    check(fn, tf.TensorSpec([3, None]), ops=["SHAPE", "STRIDED_SLICE", "CONCATENATION", "FILL"], static=False)


def test_sizes_that_depend_on_data():
    def fn(x):
        y = tf.boolean_mask(x, x > 0)
        return tf.fill(tf.stack([tf.shape(y)[0], 2]), 0.5)

    ops = check(fn, tf.TensorSpec([None]), static=False).ops
    assert "SHAPE" in ops and "WHERE" in ops
