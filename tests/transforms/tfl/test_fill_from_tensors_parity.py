"""What loops begin with is the same, made from the tensors that they read."""

import pytest
import tensorflow as tf

from fuseconv.testing import check


def loop(x, *carried, steps=3):
    """Return what a loop with its own matrix makes of what it carries; a number of steps that is data keeps it."""
    weights = tf.constant([[0.3, -0.2, 0.1, 0.5]] * 4)
    last = tf.cast(tf.reduce_max(tf.abs(tf.math.sign(x[..., 0]))), tf.int32) + steps - 1

    def body(i, *carried):
        first, *others = carried
        return i + 1, tf.tanh(first @ weights + 0.3), *(0.5 * other + first for other in others)

    return tf.while_loop(lambda i, *_: i < last, body, (0, *carried))[1:]


def like_an_input(x):
    batch = tf.shape(x)[0]
    return loop(x, tf.zeros([batch, 4]), tf.ones([batch, 4]), tf.fill([3, batch, 4], -0.5))


def like_a_sequence(x):
    x = tf.transpose(tf.reshape(tf.tanh(x), [-1, 2, 2]), [1, 0, 2])
    batch = tf.shape(x)[1]
    made = loop(x, tf.zeros([batch, 4]), tf.zeros([2, batch, 4]))
    return *made, x


def like_what_is_not_a_number(x):
    """0 * x would be none either."""
    return *loop(x, tf.zeros([tf.shape(x)[0], 4]), tf.ones([2, tf.shape(x)[0], 4])), tf.math.log(-1 - tf.abs(x))


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("layer", [like_an_input, like_a_sequence, like_what_is_not_a_number])
def test_what_a_loop_begins_with(layer, batch):
    ops = check(layer, tf.TensorSpec([batch, 4])).ops
    assert ("ZEROS_LIKE" in ops) == (batch is None)
    assert "FILL" not in ops
