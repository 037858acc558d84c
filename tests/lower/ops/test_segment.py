"""Parity of reductions by id."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.pairwise import pairwise

UNSORTED = [
    tf.math.unsorted_segment_sum, tf.math.unsorted_segment_prod, tf.math.unsorted_segment_max,
    tf.math.unsorted_segment_min,
]  # fmt: skip
SORTED = [
    tf.math.segment_sum, tf.math.segment_prod, tf.math.segment_max, tf.math.segment_min, tf.math.segment_mean,
]  # fmt: skip


def rows(dtype):
    return np.random.default_rng(0).integers(1, 9, (5, 3)).astype(dtype.as_numpy_dtype)


@pairwise(
    index_type={"int32": tf.int32, "int64": tf.int64},
    dtype={"float32": tf.float32, "int32": tf.int32},
    op={op.__name__: op for op in UNSORTED},
)
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


@pytest.mark.parametrize("op", SORTED[:2], ids=lambda op: op.__name__)
def test_rows_of_a_constant_by_any_number_of_ids(op):
    ids = np.array([0, 0, 2, 2, 5], np.int32)
    for shape in ((5, 3), (5, 3, 1)):
        data = rows(tf.int64).reshape(shape)
        check(lambda ids, data=data: op(data, ids), tf.TensorSpec([None], tf.int32), inputs=[ids], static=False)


TYPES = [tf.float16, tf.bfloat16, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.int64]


@pytest.mark.parametrize("op", UNSORTED, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: t.name)
def test_types(op, dtype):
    ids = np.array([[3, 0], [-1, 3]], np.int32)
    specs = tf.TensorSpec([None, 2, 3], dtype), tf.TensorSpec([None, 2], tf.int32)
    inputs = [rows(dtype)[:4].reshape(2, 2, 3), ids]
    check(lambda x, ids: op(x, ids, 5), *specs, inputs=inputs, static=False)
    check(lambda x, ids: op(x, ids, tf.reduce_max(ids) + 2), *specs, inputs=inputs, static=False)


@pytest.mark.parametrize("op", UNSORTED + SORTED[:4], ids=lambda op: op.__name__)
def test_large_int64(op):
    ids, count = np.array([0, 0, 2, 2], np.int32), [3] if op in UNSORTED else []
    x = np.array([2**62, 2**53 + 1, -(2**53) - 1, 2], np.int64)
    check(lambda x: op(x, ids, *count), tf.TensorSpec([4], tf.int64), inputs=[x])


SPARSE = [tf.raw_ops.SparseSegmentSum, tf.raw_ops.SparseSegmentMean, tf.raw_ops.SparseSegmentSqrtN]
SPARSE_SIZED = [
    tf.raw_ops.SparseSegmentSumWithNumSegments, tf.raw_ops.SparseSegmentMeanWithNumSegments,
    tf.raw_ops.SparseSegmentSqrtNWithNumSegments,
]  # fmt: skip


@pytest.mark.parametrize("op", SPARSE + SPARSE_SIZED, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_sparse(op, dtype):
    indices, ids = np.array([4, 0, 0, 2, 1], np.int32), np.array([0, 0, 2, 2, 5], np.int32)
    sized = {"num_segments": 8} if op in SPARSE_SIZED else {}

    def gathered(data, indices, ids):
        return op(data=data, indices=indices, segment_ids=ids, **sized)

    specs = tf.TensorSpec([None, 3], dtype), tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)
    check(gathered, *specs, inputs=[rows(dtype), indices, ids], static=False)
    check(lambda data: gathered(data, indices, ids), tf.TensorSpec([5, 3], dtype), inputs=[rows(dtype)])


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda t: t.name)
@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
def test_sparse_matrix(adjoint_a, adjoint_b, dtype):
    places = np.array([[0, 1], [0, 3], [2, 0], [4, 3], [4, 4]], np.int64)

    def product(values, b):
        flags = {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b}
        return tf.raw_ops.SparseTensorDenseMatMul(a_indices=places, a_values=values, a_shape=[5, 5], b=b, **flags)

    check(product, tf.TensorSpec([5], dtype), tf.TensorSpec([3, 5] if adjoint_b else [5, 3], dtype))
