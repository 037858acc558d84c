"""Lists that are parts of a tensor, read one by one."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

X = tf.TensorSpec([None, 4])
LENGTHS = tf.TensorSpec([None], tf.int32)
RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((9, 4)).astype(np.float32)


def _largest(parts, count):
    made = tf.TensorArray(tf.float32, count)
    for i in tf.range(count):
        made = made.write(i, tf.reduce_max(tf.pad(parts.read(i), [[0, 1], [0, 0]]), 0))
    return made.stack()


def test_lengths_from_the_data():
    @tf.function
    def function(x, lengths):
        count = tf.shape(lengths)[0]
        return _largest(tf.TensorArray(tf.float32, count, infer_shape=False).split(x, lengths), count)

    inputs = [ROWS, np.array([2, 0, 4, 3], np.int32)]
    check(function, tf.TensorSpec([9, 4]), LENGTHS, inputs=inputs, batches=(4,), static=False)


def test_some_lengths_known():
    @tf.function
    def function(x):
        lengths = tf.stack([1, 2, tf.shape(x)[0] - 3])
        return _largest(tf.TensorArray(tf.float32, 3, infer_shape=False).split(x, lengths), 3)

    check(function, X, batches=(3, 5))


def test_read_in_a_branch_of_a_loop():
    @tf.function
    def function(x, lengths):
        parts = tf.TensorArray(tf.float32, 4, infer_shape=False).split(x, lengths)
        total = tf.zeros([4])
        for i in tf.range(4):
            if x[i, 0] > 0.0:
                total += tf.ensure_shape(tf.reduce_sum(parts.read(i), 0), [4]) * tf.cast(parts.size(), tf.float32)
            else:
                total -= 1.0
        return total, parts.read(1)

    inputs = [ROWS, np.array([2, 0, 4, 3], np.int32)]
    check(function, tf.TensorSpec([9, 4]), tf.TensorSpec([4], tf.int32), inputs=inputs)


@pytest.mark.parametrize("length", [1, 2])
def test_parts_of_one_length_are_stacked(length):
    @tf.function
    def function(x):
        count = tf.shape(x)[0]
        parts = tf.TensorArray(tf.float32, count).split(tf.repeat(x, length, 0), tf.fill([count], length))
        made = tf.TensorArray(tf.float32, count)
        for i in tf.range(count):
            made = made.write(i, tf.tanh(parts.read(i)))
        return made.concat()

    assert "SLICE" not in check(function, X).ops


def test_a_part_that_is_written_is_refused():
    @tf.function
    def function(x, lengths):
        parts = tf.TensorArray(tf.float32, 4, infer_shape=False).split(x, lengths)
        return parts.write(1, x[:1]).read(2)

    check_refused(function, X, tf.TensorSpec([4], tf.int32), match="different shapes")


def test_parts_joined_again():
    """A list that is read, and joined to what was split; some of its parts are empty."""

    def function(x, lengths):
        parts = tf.TensorArray(tf.float32, 4, infer_shape=False).split(x, lengths)
        return parts.read(2), parts.concat()

    inputs = [ROWS, np.array([2, 0, 4, 3], np.int32)]
    specs = tf.TensorSpec([9, 4]), tf.TensorSpec([4], tf.int32)
    check(function, *specs, inputs=inputs, static=False)
    check(lambda x: function(x, [1, 2, 3, 0]), tf.TensorSpec([6, None]))
    joined = lambda x, n: tf.TensorArray(tf.float32, 4, infer_shape=False).split(x, n).concat()  # noqa: E731
    check(joined, *specs, inputs=inputs, static=False)
