"""Parity of singular values and eigenvalues."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.lower.ops.singular_values import _next_round
from fuseconv.testing import check, check_refused

SHAPES = [(None, 4, 3), (None, 3, 7), (5, 5), (2, None, 1, 1), (None, 2, 2)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_singular_values(shape):
    check(lambda x: tf.linalg.svd(x, compute_uv=False), tf.TensorSpec(shape), static=False)


@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_eigenvalues(size):
    check(tf.linalg.eigvalsh, tf.TensorSpec([None, size, size]), static=False)


def test_vectors_that_nobody_reads():
    check(lambda x: tf.linalg.svd(x)[0], tf.TensorSpec([None, 4, 3]), static=False)


MATRICES = {
    "zeros": np.zeros((4, 4)),
    "unit": np.eye(4),
    "one value": np.ones((4, 4)),
    "equal sizes": np.diag([2.0, -2.0, 2.0, -2.0]) + 0.5 * np.tri(4, k=-1) + 0.5 * np.tri(4, k=-1).T,
    "large": np.arange(16).reshape(4, 4) * 1e30,
    "small": np.arange(16).reshape(4, 4) * 1e-25,
    "of many sizes": np.diag([1e-6, 1.0, 1e3, -1e5]),
}


@pytest.mark.parametrize("matrix", MATRICES.values(), ids=MATRICES)
def test_all_kinds_of_matrices(matrix):
    def values(x):
        return tf.linalg.svd(x, compute_uv=False), tf.linalg.eigvalsh(x)

    x = matrix.astype(np.float32)
    check(values, tf.TensorSpec(x.shape), inputs=[x])


@pytest.mark.parametrize("count", [2, 4, 6, 16])
def test_each_column_meets_each_other(count):
    columns = np.arange(count)
    met = set()
    for _ in range(count - 1):
        met |= {frozenset(pair) for pair in zip(columns[: count // 2].tolist(), columns[count // 2 :].tolist())}
        columns = columns[_next_round(count)]
    assert len(met) == count * (count - 1) // 2


def test_vectors_are_refused():
    check_refused(lambda x: tf.linalg.svd(x)[1], tf.TensorSpec([4, 3]), match="Svd.*vectors")
    check_refused(lambda x: tf.linalg.eigh(x)[1], tf.TensorSpec([3, 3]), match="SelfAdjointEigV2.*vectors")
    check_refused(lambda x: tf.linalg.svd(x)[0], tf.TensorSpec([None, None]), match="Svd.*size")
