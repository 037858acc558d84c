"""A table of positions that one case lacks, as in Funnel."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

KERNEL = np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32)


def test_a_table_that_one_case_lacks():
    def function(x):
        table = tf.cond(tf.reduce_sum(x) > 1e9, lambda: tf.fill([1], -1.0), lambda: x[0] + 1.0)
        return tf.einsum("td,dnh->tnh", table, KERNEL)

    assert "IF" not in check(function, tf.TensorSpec([None, None, 4])).ops
