"""Shapes that are put together of a size that is not known and others that are."""

import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 3])
FILLED = ["SHAPE", "STRIDED_SLICE", "CONCATENATION", "FILL"]


def test_one_pack():
    check(lambda x: tf.fill(tf.concat([[tf.shape(x)[0]], [4], [2, 3]], 0), 1.0), X, ops=FILLED)


def test_two_sizes_are_joined_as_they_are():
    def fn(x):
        shape = tf.shape(x)
        return tf.fill(tf.concat([[shape[0]], [shape[1]]], 0), 1.0)

    check(fn, tf.TensorSpec([None, None]))


def test_a_size_behind_known_ones():
    check(lambda x: tf.fill(tf.concat([[4], [tf.shape(x)[0]]], 0), 1.0), X, static=False)


def test_data_are_no_sizes():
    check(lambda x: tf.concat([tf.stack([x]), [1.0, 2.0]], 0), tf.TensorSpec([]), ops=["PACK", "CONCATENATION"])
    check(lambda x: tf.concat([tf.stack([x]), [[1, 2, 3]]], 0), tf.TensorSpec([3], tf.int32),
          ops=["PACK", "CONCATENATION"])  # fmt: skip
