"""Sparse tensors, as their indices, elements and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
INDICES, VALUES = tf.TensorSpec([None, 2], tf.int64), tf.TensorSpec([None])
SHAPE = tf.TensorSpec([2], tf.int64)
# In no order, and without an element in the rows 1, 3 and 4.
PLACES = np.array([[2, 3], [0, 1], [2, 0], [0, 4], [2, 1]], np.int64)
NUMBERS = np.array([1, 2, 3, 4, 5], np.float32)
SIZES = np.array([5, 6], np.int64)
SORTED = np.array([[0, 1], [0, 4], [2, 0], [2, 1], [2, 3]], np.int64)
EMPTY = [np.zeros((0, 2), np.int64), np.zeros(0, np.float32), SIZES]


def checked(fn: Any, *inputs: np.ndarray, specs: Any = (INDICES, VALUES, SHAPE)) -> None:
    check(fn, *specs, inputs=inputs, static=False)


@pytest.mark.parametrize("inputs", [(PLACES, NUMBERS, SIZES), (SORTED, NUMBERS, SIZES), EMPTY])
def test_reorder(inputs):
    checked(lambda i, v, s: list(raw.SparseReorder(input_indices=i, input_values=v, input_shape=s)), *inputs)


@pytest.mark.parametrize("inputs", [(PLACES, NUMBERS, SIZES), (SORTED, NUMBERS, SIZES), EMPTY])
def test_empty_rows_are_filled(inputs):
    def fn(i, v, s):
        made = raw.SparseFillEmptyRows(indices=i, values=v, dense_shape=s, default_value=-7.0)
        return list(made)

    checked(fn, *inputs)
    checked(lambda i, v, s: fn(i, v, tf.constant(SIZES)), *inputs)


@pytest.mark.parametrize("shape", [[3, -1], [2, 5, -1], [-1], [30, 1], [10, 3]], ids=str)
def test_reshape(shape):
    def fn(i, s):
        return list(raw.SparseReshape(input_indices=i, input_shape=s, new_shape=tf.constant(shape, tf.int64)))

    checked(fn, PLACES, SIZES, specs=(INDICES, SHAPE))
    if -1 not in shape:
        return
    large = np.array([2**20, 30 * 2**30], np.int64)
    places = np.array([[2**20 - 1, 30 * 2**30 - 1], [12345, 2**33 + 17]], np.int64)
    checked(fn, places, large, specs=(INDICES, SHAPE))


@pytest.mark.parametrize("axes", [[0], [1], [-1, 0]], ids=str)
@pytest.mark.parametrize("keep", [False, True])
def test_sums(axes, keep):
    def fn(i, v, s):
        return raw.SparseReduceSum(
            input_indices=i, input_values=v, input_shape=s, reduction_axes=axes, keep_dims=keep
        )

    checked(fn, PLACES, NUMBERS, SIZES)


def test_dense_operands():
    def fn(i, v, dense, row):
        shape = tf.constant(SIZES)
        results = [raw.SparseTensorDenseAdd(a_indices=i, a_values=v, a_shape=shape, b=dense)]
        operands = dense, row, dense[:, :1], row[1]
        for op in (raw.SparseDenseCwiseMul, raw.SparseDenseCwiseDiv, raw.SparseDenseCwiseAdd):
            results += [op(sp_indices=i, sp_values=v, sp_shape=shape, dense=x) for x in operands]
        return results

    rng = np.random.default_rng(0)
    dense, row = (rng.uniform(1, 2, shape).astype(np.float32) for shape in ((5, 6), (6,)))
    specs = INDICES, VALUES, tf.TensorSpec([5, 6]), tf.TensorSpec([6])
    checked(fn, PLACES, NUMBERS, dense, row, specs=specs)


def test_softmax():
    checked(lambda i, v, s: raw.SparseSoftmax(sp_indices=i, sp_values=v, sp_shape=s), SORTED, NUMBERS, SIZES)
    specs = tf.TensorSpec([None, 3], tf.int64), VALUES, tf.TensorSpec([3], tf.int64)
    deep = np.array([[0, 1, 1], [0, 1, 2], [1, 0, 0], [1, 2, 0], [1, 2, 1]], np.int64)
    checked(lambda i, v, s: raw.SparseSoftmax(sp_indices=i, sp_values=v, sp_shape=s), deep, NUMBERS,
            np.array([2, 3, 4], np.int64), specs=specs)  # fmt: skip


@pytest.mark.parametrize("combiner", ["mean", "sqrtn", "sum"])
def test_embeddings_of_lists_with_empty_ones(combiner):
    """What a feature column makes of a dense input, in which -1 stands for nothing."""
    table = tf.constant(np.random.default_rng(0).standard_normal((10, 4)), tf.float32)

    def fn(ids):
        where = tf.where(ids >= 0)
        sparse = tf.SparseTensor(where, tf.gather_nd(ids, where), tf.shape(ids, tf.int64))
        return tf.nn.safe_embedding_lookup_sparse([table], sparse, combiner=combiner)

    ids = np.array([[3, 1, -1], [-1, -1, -1], [9, -1, 9]], np.int64)
    check(fn, tf.TensorSpec([None, 3], tf.int64), inputs=[ids], batches=(3,))


def test_attention_on_a_graph():
    def fn(x, edges):
        scores = tf.reduce_sum(tf.gather(x, edges[:, 0]) * tf.gather(x, edges[:, 1]), -1)
        graph = tf.sparse.reorder(tf.SparseTensor(edges, scores, tf.cast([tf.shape(x)[0]] * 2, tf.int64)))
        return tf.sparse.sparse_dense_matmul(tf.sparse.softmax(graph), x)

    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    checked(fn, x, PLACES, specs=(tf.TensorSpec([None, 3]), INDICES))


@pytest.mark.parametrize("axes", [-1, 0, [0, 1]], ids=str)
@pytest.mark.parametrize("keep", [False, True])
def test_largest(axes, keep):
    """Of negative numbers too, and 0 where there are none."""

    def fn(i, v, s):
        return raw.SparseReduceMax(input_indices=i, input_values=v - 9, input_shape=s, reduction_axes=axes,
                                   keep_dims=keep)  # fmt: skip

    checked(fn, SORTED, NUMBERS, SIZES)
    checked(lambda i, v, s: fn(i, tf.cast(v, tf.int32), tf.constant(SIZES)), SORTED, NUMBERS, SIZES)
    checked(lambda i, v, s: fn(i, v, tf.constant(SIZES)), *EMPTY)


@pytest.mark.parametrize("inputs", [(SORTED, NUMBERS, SIZES), EMPTY])
def test_joined_sliced_and_added(inputs):
    def parts(x):
        return x.indices, x.values, x.dense_shape

    def fn(i, v, s):
        x = tf.SparseTensor(i, v, s)
        y = tf.SparseTensor(i[:1] + tf.constant([[1, 1]], tf.int64), v[:1] * 2, s)
        y = tf.sparse.concat(0, [tf.sparse.slice(y, [0, 0], [3, 6]), tf.sparse.slice(x, [2, 0], [2, 6])])
        joined = [tf.sparse.concat(axis, [x, y, x]) for axis in (0, -1)]
        added = tf.sparse.add(x, tf.SparseTensor(y.indices, y.values, s))
        far = [tf.sparse.slice(x, [1, 1], size) for size in ([9, 3], [2**63 - 1, 3])]
        return [parts(each) for each in (*joined, added, *far, tf.sparse.add(x, x))]

    checked(fn, *inputs)


def test_a_sum_of_sparse_tensors_with_a_threshold_is_refused():
    def fn(i, v, s):
        x = tf.SparseTensor(i, v, s)
        return tf.sparse.add(x, x, 0.5).values

    check_refused(fn, INDICES, VALUES, SHAPE, match="small sums")
