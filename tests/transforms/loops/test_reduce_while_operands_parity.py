"""Loops that define what they return."""

import tensorflow as tf

from fuseconv.testing import check


def test_what_a_step_defines_has_the_size_of_the_batch():
    def function(x):
        state = x
        for _ in tf.range(30):
            made = tf.tanh(state) * 0.5
            state = state - made
        return tf.sin(made)

    # Its size in the first step was another, which took a copy in each: SHAPE, ADD and SLICE.
    assert not {"SLICE", "SHAPE"}.intersection(check(function, tf.TensorSpec([None, 3])).ops)
