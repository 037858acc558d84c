"""Linear algebra on matrices that are not constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

linalg = tf.linalg
SHAPES = [(None, 4, 4), (3, None, None), (2, None, 3, 3), (5, 5), (None, 1, 1)]


def regular(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Matrices far from those without an inverse, of which most need rows to change places."""
    *outer, n, m = shape
    if n != m:
        return rng.standard_normal(shape).astype(dtype)
    turned = np.linalg.qr(rng.standard_normal(shape))[0]
    return (turned * rng.uniform(0.5, 2, (*outer, 1, n))).astype(dtype)


def square(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """Matrices that are the square of another; above the diagonal they hold something else."""
    if shape[-1] != shape[-2]:
        return rng.standard_normal(shape).astype(dtype)
    root = rng.standard_normal(shape)
    made = root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])
    return np.where(np.tri(shape[-1], dtype=bool), made, 7).astype(dtype)


def sides(shape: tuple, count: int = 2) -> Any:
    return tf.TensorSpec([*shape[:-1], count])


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("adjoint", [False, True])
def test_inverse(shape, adjoint):
    # Unknown sides are of one size: the batch's.
    batches = (4,) if shape.count(None) > 1 else (2, 3)
    draw = fixed(shape) if shape.count(None) > 1 else regular
    check(lambda x: linalg.inv(x, adjoint), tf.TensorSpec(shape), inputs=draw, batches=batches, static=False)


def fixed(shape: tuple) -> list[np.ndarray]:
    return [regular(np.random.default_rng(0), tuple(5 if dim is None else dim for dim in shape), np.float32)]


@pytest.mark.parametrize("adjoint", [False, True])
def test_solve(adjoint):
    shape = (None, 4, 4)
    check(lambda x, y: linalg.solve(x, y, adjoint), tf.TensorSpec(shape), sides(shape), inputs=regular)


@pytest.mark.parametrize("shape", [(None, 4, 4), (3, 3), (2, 1, 5, 5)], ids=str)
def test_determinant(shape):
    check(linalg.det, tf.TensorSpec(shape), inputs=regular)
    check(linalg.slogdet, tf.TensorSpec(shape), inputs=regular)


def test_no_inverse():
    x = np.array([[[1, 2], [2, 4]], [[0, 0], [0, 0]], [[0, 1], [1, 0]]], np.float32)
    check(lambda x: [linalg.det(x), *linalg.slogdet(x)], tf.TensorSpec([3, 2, 2]), inputs=[x])


@pytest.mark.parametrize("shape", [(None, 4, 4), (5, 5), (2, None, 3, 3)], ids=str)
def test_cholesky(shape):
    check(linalg.cholesky, tf.TensorSpec(shape), inputs=square)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_triangles(lower, adjoint):
    def fn(x, y):
        return linalg.triangular_solve(x, y, lower, adjoint)

    def draw(rng, shape, dtype):
        x = rng.standard_normal(shape)
        return (x if shape[-1] != shape[-2] else x + 3 * np.eye(shape[-1])).astype(dtype)

    shape = (None, 4, 4)
    check(fn, tf.TensorSpec(shape), sides(shape), inputs=draw)
    check(fn, tf.TensorSpec([4, 4]), sides(shape), inputs=draw)
    check(fn, tf.TensorSpec([2, 1, 4, 4]), sides((None, 4, 4)), inputs=draw)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("adjoint", [False, True])
def test_banded_solve(lower, adjoint):
    def fn(bands, y):
        return linalg.banded_triangular_solve(bands, y, lower, adjoint)

    def draw(rng, shape, dtype):
        x = rng.uniform(0.2, 1, shape)
        x[..., 0 if lower else -1, :] += 2  # the main diagonal, where x holds bands
        return x.astype(dtype)

    check(fn, tf.TensorSpec([None, 3, 5]), tf.TensorSpec([None, 5, 2]), inputs=draw)
    bands = tf.random.stateless_uniform([2, 7], [1, 2], 1.0, 2.0)
    check(lambda y: fn(bands[:, : tf.shape(y)[0]], y), tf.TensorSpec([None, 2]), batches=(4, 7), static=False)
    check(fn, tf.TensorSpec([4, 1, 1, 4]), tf.TensorSpec([3, 4, 2]), inputs=draw)


def test_a_gaussian_process():
    """The mean of a posterior whose inputs are given at run time."""

    def fn(known, values, wanted):
        def kernel(a, b):
            return tf.exp(-0.5 * tf.reduce_sum((a[:, None] - b[None]) ** 2, -1))

        root = linalg.cholesky(kernel(known, known) + 0.1 * tf.eye(6))
        return tf.matmul(kernel(wanted, known), linalg.cholesky_solve(root, values))

    check(fn, tf.TensorSpec([6, 2]), tf.TensorSpec([6, 1]), tf.TensorSpec([None, 2]))


def test_other_types_are_refused():
    check_refused(linalg.inv, tf.TensorSpec([3, 3], tf.float64), match="float64")


@pytest.mark.parametrize("shape", [(None, 4, 3), (3, 5), (2, None, 4, 4), (None, 1, 1), (0, 3, 2)], ids=str)
@pytest.mark.parametrize("full", [False, True])
def test_qr(shape, full):
    check(lambda x: linalg.qr(x, full), tf.TensorSpec(shape))


@pytest.mark.parametrize(
    "matrix",
    [
        np.diag([2.0, -3.0, 0.0, 5.0])[:, :3],  # nothing stands below the diagonal
        np.array([[0.0, 1.0], [0.0, 2.0], [4.0, 3.0]]),
        np.array([[1e-15, 2e15], [-3e-15, 1e15]]),
        np.array([[3.0, 1.0], [-4.0, 1.0], [0.0, -0.0]]),
    ],
    ids=["diagonal", "zeros on top", "of many sizes", "known"],
)
def test_qr_has_the_signs_of_eigen(matrix):
    x = matrix.astype(np.float32)
    check(lambda x: linalg.qr(x), tf.TensorSpec(x.shape), inputs=[x])


def test_qr_of_unknown_size_is_refused():
    check_refused(lambda x: linalg.qr(x), tf.TensorSpec([None, None]), match="size of matrices")


@pytest.mark.parametrize("outer", [(None,), (), (2, None), (0,)], ids=str)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_products_of_three_diagonals(outer, size):
    def product(above, main, below, x):
        return tf.raw_ops.TridiagonalMatMul(superdiag=above, maindiag=main, subdiag=below, rhs=x)

    diagonals = [tf.TensorSpec([*outer, 1, size])] * 3
    check(product, *diagonals, tf.TensorSpec([*outer, size, 3]))


def test_elements_of_diagonals_that_have_no_row_do_not_count():
    above, main, below, x = (np.ones((1, 3), np.float32) for _ in range(4))
    above[0, -1], below[0, 0] = np.nan, np.inf
    check(
        lambda *given: tf.raw_ops.TridiagonalMatMul(**dict(zip(("superdiag", "maindiag", "subdiag", "rhs"), given))),
        *[tf.TensorSpec([1, 3])] * 3, tf.TensorSpec([3, 1]), inputs=[above, main, below, x.T],
    )  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_lower_and_upper_triangle(shape, dtype):
    batches = (4,) if shape.count(None) > 1 else (2, 3)
    draw = fixed(shape) if shape.count(None) > 1 else regular
    check(lambda x: linalg.lu(x, dtype), tf.TensorSpec(shape), inputs=draw, batches=batches, static=False)


def test_rows_that_change_places():
    x = np.array([[[0, 2, 1], [-4, 1, 0], [2, 3, 5]], [[1, 0, 0], [0, 0, 3], [0, 2, 0]]], np.float32)
    check(linalg.lu, tf.TensorSpec(x.shape), inputs=[x])
    check(lambda x: linalg.lu_reconstruct(*linalg.lu(x)), tf.TensorSpec([3, 3]), inputs=[x[0]])


@pytest.mark.parametrize("shape", [(None, 3, 4), (3, 5), (2, None, 3, 1)], ids=str)
@pytest.mark.parametrize("pivoting", [False, True])
def test_systems_of_three_diagonals(shape, pivoting):
    def solved(x, rhs):
        x = x + tf.constant([[0.0], [4.0], [0.0]])
        return linalg.tridiagonal_solve(x, rhs, "compact", partial_pivoting=pivoting)

    check(solved, tf.TensorSpec(shape), tf.TensorSpec([*shape[:-2], shape[-1], 2]), static=False)
