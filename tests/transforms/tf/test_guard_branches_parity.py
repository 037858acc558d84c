"""A branch for few elements, and one that would fail with them."""

import tensorflow as tf

from fuseconv.testing import check


def test_the_largest_of_too_few():
    @tf.function
    def function(x):
        def few():
            return tf.pad(x, [[0, tf.maximum(3 - tf.shape(x)[0], 0)], [0, 0]])[:3]

        return tf.cond(tf.shape(x)[0] < 3, few, lambda: tf.gather(x, tf.math.top_k(x[:, 0], 3).indices))

    check(function, tf.TensorSpec([None, 4]), batches=(2, 5))
