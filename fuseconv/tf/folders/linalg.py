"""Folders of matrix products, einsum, and ops on matrices."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import kernel, require, widened


def _product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    require(x.ndim >= 2 and y.ndim >= 2 and x.shape[-1] == y.shape[-2])
    return np.matmul(widened(x), widened(y)).astype(x.dtype, copy=False)


@kernel("MatMul")
def matmul(
    op: Op,
    a: np.ndarray,
    b: np.ndarray,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    grad_a: bool = False,
    grad_b: bool = False,
) -> np.ndarray:
    return _product(a.T if transpose_a else a, b.T if transpose_b else b)


@kernel("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def batch_matmul(
    op: Op,
    x: np.ndarray,
    y: np.ndarray,
    *,
    adj_x: bool = False,
    adj_y: bool = False,
    grad_x: bool = False,
    grad_y: bool = False,
) -> np.ndarray:
    require(x.dtype == y.dtype == op.result.dtype.numpy)
    left = np.conj(np.swapaxes(x, -1, -2)) if adj_x else x
    right = np.conj(np.swapaxes(y, -1, -2)) if adj_y else y
    return _product(left, right)


@kernel("Einsum")
def einsum(op: Op, *operands: np.ndarray, equation: str) -> np.ndarray:
    require("->" in equation)
    made = np.einsum(equation, *map(widened, operands), optimize=len(operands) > 1)
    return made.astype(operands[0].dtype, copy=False)


@kernel("MatrixBandPart")
def matrix_band_part(op: Op, x: np.ndarray, num_lower: np.ndarray, num_upper: np.ndarray) -> np.ndarray:
    require(x.ndim >= 2)
    below, above = int(num_lower), int(num_upper)
    rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
    inside = ((below < 0) | (rows - columns <= below)) & ((above < 0) | (columns - rows <= above))
    return np.where(inside, x, x.dtype.type(0))


@kernel("MatrixDiag")
def matrix_diag(op: Op, diagonal: np.ndarray) -> np.ndarray:
    size = diagonal.shape[-1]
    made = np.zeros((*diagonal.shape, size), diagonal.dtype)
    made[..., np.arange(size), np.arange(size)] = diagonal
    return made


@kernel("MatrixDiagPart")
def matrix_diag_part(op: Op, x: np.ndarray) -> np.ndarray:
    return np.diagonal(x, axis1=-2, axis2=-1)


@kernel("MatrixSetDiag")
def matrix_set_diag(op: Op, x: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    made = x.copy()
    index = np.arange(min(x.shape[-2:]))
    made[..., index, index] = diagonal
    return made


@kernel("Diag")
def diag(op: Op, diagonal: np.ndarray) -> np.ndarray:
    made = np.zeros((diagonal.size, diagonal.size), diagonal.dtype)
    np.fill_diagonal(made, diagonal.reshape(-1))
    return made.reshape(*diagonal.shape, *diagonal.shape)


@kernel("DiagPart")
def diag_part(op: Op, x: np.ndarray) -> np.ndarray:
    half = x.shape[: x.ndim // 2]
    size = int(np.prod(half))
    return np.diagonal(x.reshape(size, size)).reshape(half)
