"""Truth values that are numbers in between."""

import tensorflow as tf

from fuseconv.testing import check

MASK = tf.TensorSpec([None, 6], tf.bool)


def test_back_to_truth():
    check(lambda x, m: tf.where(tf.cast(tf.cast(m, tf.int32), tf.bool), x, -x), tf.TensorSpec([None, 6]), MASK,
          ops=["NEG", "SELECT_V2"])  # fmt: skip


def test_through_moves():
    fn = lambda m: tf.logical_not(tf.cast(tf.cast(m, tf.float32)[:, None], tf.bool))  # noqa: E731
    check(fn, MASK, ops=["RESHAPE", "LOGICAL_NOT"])
    fn = lambda m: tf.cast(tf.transpose(tf.cast(m, tf.int32), [1, 0]), tf.bool)  # noqa: E731
    check(fn, tf.TensorSpec([4, 6], tf.bool), ops=["TRANSPOSE"])


def test_another_reader_of_the_numbers():
    def fn(m):
        number = tf.cast(m, tf.float32)
        return number, tf.logical_not(tf.cast(number, tf.bool))

    check(fn, MASK, ops=["CAST", "LOGICAL_NOT"])


def test_other_types_stay():
    check(lambda x: tf.cast(tf.cast(x, tf.int32), tf.float32), tf.TensorSpec([None, 6]), ops=["CAST", "CAST"])
    check(lambda x: tf.cast(tf.cast(x, tf.bool), tf.int32), tf.TensorSpec([None], tf.int32), ops=["CAST", "CAST"])
