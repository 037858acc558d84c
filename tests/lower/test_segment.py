"""Parity of reductions by id."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

UNSORTED = [
    tf.math.unsorted_segment_sum, tf.math.unsorted_segment_prod, tf.math.unsorted_segment_max,
    tf.math.unsorted_segment_min,
]  # fmt: skip
SORTED = [
    tf.math.segment_sum, tf.math.segment_prod, tf.math.segment_max, tf.math.segment_min, tf.math.segment_mean,
]  # fmt: skip


def rows(dtype):
    return np.random.default_rng(0).integers(1, 9, (5, 3)).astype(dtype.as_numpy_dtype)


@pytest.mark.parametrize("op", UNSORTED, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda t: t.name)
@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_unsorted(op, dtype, index_type):
    ids = np.array([3, 0, -1, 3, 1], index_type.as_numpy_dtype)
    specs = tf.TensorSpec([None, 3], dtype), tf.TensorSpec([None], index_type)
    check(lambda x, ids: op(x, ids, 5), *specs, inputs=[rows(dtype), ids], static=False)


@pytest.mark.parametrize("op", SORTED, ids=lambda op: op.__name__)
def test_sorted(op):
    ids = np.array([0, 0, 2, 2, 5], np.int32)
    specs = tf.TensorSpec([None, 3]), tf.TensorSpec([None], tf.int32)
    check(op, *specs, inputs=[rows(tf.float32), ids], static=False)
    check(lambda x: op(x, ids), tf.TensorSpec([5, 3]), inputs=[rows(tf.float32)])
