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


def rebuilt(x):
    """The matrix, and the nearest one with orthogonal columns or rows."""
    values, left, right = tf.linalg.svd(x)
    return tf.matmul(left * values[..., None, :], right, adjoint_b=True), tf.einsum("...ik,...jk->...ij", left, right)


@pytest.mark.parametrize("shape", [(None, 4, 3), (None, 3, 4), (2, 6, 2), (None, 1, 3)], ids=str)
def test_products_of_vectors(shape):
    check(lambda x: rebuilt(x)[0], tf.TensorSpec(shape), static=False)
    check(tf.linalg.pinv, tf.TensorSpec(shape), static=False, atol=2e-5)


def test_the_rotation_between_points():
    def rotation(a, b):
        _, u, v = tf.linalg.svd(tf.matmul(a, b, transpose_a=True))
        turn = tf.linalg.det(tf.matmul(v, u, transpose_b=True))
        signs = tf.linalg.diag(tf.stack([tf.ones_like(turn), tf.ones_like(turn), turn], -1))
        return v @ signs @ tf.transpose(u, [0, 2, 1])

    points = tf.TensorSpec([None, 8, 3])
    check(rotation, points, points, static=False, atol=2e-5)


def test_vectors_of_a_plane_are_whole_bases():
    """The points of a plane have a value that is 0, whose vectors are orthogonal to the others."""

    def orthogonal(x):
        _, u, v = tf.linalg.svd(x)
        nearest = tf.matmul(u, v, transpose_b=True)
        return tf.matmul(nearest, nearest, transpose_a=True), tf.abs(tf.linalg.det(nearest))

    flat = np.random.default_rng(0).standard_normal((2, 3, 3)).astype(np.float32)
    flat[:, 2] = flat[:, 0] - flat[:, 1]
    flat[1, :, 2] = 0
    check(orthogonal, tf.TensorSpec([None, 3, 3]), inputs=[flat], batches=(2,), static=False)


def test_functions_of_symmetric_matrices():
    def whitened(x):
        values, vectors = tf.linalg.eigh(tf.matmul(x, x, transpose_a=True))
        return x @ (vectors * (1 / tf.sqrt(values + 0.1))[:, None]) @ tf.transpose(vectors, [0, 2, 1])

    check(whitened, tf.TensorSpec([None, 10, 5]), static=False, atol=2e-5)


@pytest.mark.parametrize("function", [tf.sqrt, tf.math.log], ids=["sqrt", "log"])
def test_what_a_square_root_is_told_to_write(function):
    def of_values(x):
        e, v = tf.linalg.eigh(tf.matmul(x, x, transpose_a=True) + tf.eye(4))
        return (v * function(e)[..., None, :]) @ tf.linalg.matrix_transpose(v)

    check(of_values, tf.TensorSpec([None, 6, 4]), static=False, atol=2e-5)
    root = tf.linalg.sqrtm if function is tf.sqrt else lambda x: tf.math.real(tf.linalg.logm(tf.cast(x, tf.complex64)))
    check_refused(root, tf.TensorSpec([None, 4, 4]), match="Matrix.*: no form is right for all matrices; for symmetric")


@pytest.mark.parametrize("shape", [(None, 5, 3), (None, 3, 5), (4, 4)], ids=str)
def test_least_squares(shape):
    specs = tf.TensorSpec(shape), tf.TensorSpec([*shape[:-1], 2])
    check(lambda a, b: tf.linalg.lstsq(a, b, fast=False), *specs, static=False, atol=2e-5)


@pytest.mark.parametrize("regularizer", [0.0, 0.3])
def test_fast_least_squares(regularizer):
    def fast(a, b):
        return tf.raw_ops.MatrixSolveLs(matrix=a, rhs=b, l2_regularizer=tf.constant(regularizer, tf.float64))

    check(fast, tf.TensorSpec([None, 6, 3]), tf.TensorSpec([None, 6, 2]), static=False, atol=2e-5)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e20])
def test_least_squares_of_columns_that_others_make_up(scale):
    count = np.arange(4.0)
    x = (np.stack([count + 1, count**2, count + 1 + count**2], 1) * scale).astype(np.float32)
    y = np.arange(8.0, dtype=np.float32).reshape(4, 2)
    check(lambda a, b: tf.linalg.lstsq(a, b, fast=False), tf.TensorSpec([4, 3]), tf.TensorSpec([4, 2]), inputs=[x, y])


def test_vectors_are_refused():
    check_refused(lambda x: tf.linalg.svd(x)[1], tf.TensorSpec([4, 3]), match="Svd.*vectors")
    check_refused(lambda x: tf.linalg.svd(x, full_matrices=True)[1] ** 2, tf.TensorSpec([4, 3]), match="Svd.*vectors")
    check_refused(lambda x: tf.linalg.eigh(x)[1], tf.TensorSpec([3, 3]), match="SelfAdjointEigV2.*vectors")
    check_refused(lambda x: tf.linalg.svd(x)[0], tf.TensorSpec([None, None]), match="Svd.*size")


def test_more_vectors_than_values_are_refused():
    def projected(x):
        left = tf.linalg.svd(x, full_matrices=True)[1]
        return tf.matmul(left, left, transpose_b=True)

    check_refused(projected, tf.TensorSpec([4, 3]), match="Svd.*any that fit")
