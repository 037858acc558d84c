"""Numbers of columns that are taken at once, with quantization and without."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check


def test_boxes_are_decoded():
    def decode(x):
        y, x, h, w = (x[..., i] for i in range(4))
        return tf.stack([y - tf.exp(h), x - tf.exp(w), y + tf.exp(h), x + tf.exp(w)], -1)

    assert check(decode, tf.TensorSpec([2, 7, 4])).ops.count("UNPACK") == 1
    converted = check(decode, tf.TensorSpec([None, 7, 4]), static=False)
    assert "UNPACK" not in converted.ops


def test_an_element_that_is_returned_twice():
    converted = check(lambda x: (x[0], x[1], x[1], tf.exp(x[0])), tf.TensorSpec([2, 3]))
    assert "UNPACK" in converted.ops


def test_states_in_a_loop():
    def steps(state):
        for _ in tf.range(3):
            a, b, c = state[0], state[1], state[2]
            state = tf.stack([a + 0.1 * (b - a), b + 0.1 * (a - c), c + 0.1 * a * b])
        return state

    check(steps, tf.TensorSpec([3]))


def test_elements_counted_from_the_end():
    kernel = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
    assert "UNPACK" in check(lambda x: (x @ kernel)[:, -1] * (x @ kernel)[:, 0], tf.TensorSpec([5, 4])).ops
