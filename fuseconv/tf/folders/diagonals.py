"""Folders of ops on several diagonals of matrices, as tf.eye, tf.linalg.diag, diag_part and set_diag write them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.folders.registry import kernel, require

# Which diagonal of the table, which of its places, and the rows and columns of the matrix that are there.
_Diagonal = tuple[int, slice, np.ndarray, np.ndarray]


@kernel("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_v2(
    op: Op,
    diagonal: np.ndarray,
    k: np.ndarray,
    num_rows: np.ndarray,
    num_cols: np.ndarray,
    padding_value: np.ndarray,
    *,
    align: str | None = None,
) -> np.ndarray:
    low, high = _band(k)
    table = _table(diagonal, low, high)
    rows, columns = _sizes(table.shape[-1] - min(high, 0), table.shape[-1] + max(low, 0), int(num_rows), int(num_cols))
    made = np.full((*table.shape[:-2], rows, columns), padding_value.reshape(()), diagonal.dtype)
    for which, places, row, column in _diagonals(op, low, high, rows, columns, align):
        made[..., row, column] = table[..., which, places]
    return made


@kernel("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part_v2(
    op: Op, x: np.ndarray, k: np.ndarray, padding_value: np.ndarray, *, align: str | None = None
) -> np.ndarray:
    low, high = _band(k)
    rows, columns = _matrix(x)
    longest = _longest(low, high, rows, columns)
    made = np.full((*x.shape[:-2], high - low + 1, longest), padding_value.reshape(()), x.dtype)
    for which, places, row, column in _diagonals(op, low, high, rows, columns, align):
        made[..., which, places] = x[..., row, column]
    return made[..., 0, :] if low == high else made


@kernel("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag_v2(
    op: Op, x: np.ndarray, diagonal: np.ndarray, k: np.ndarray, *, align: str | None = None
) -> np.ndarray:
    low, high = _band(k)
    rows, columns = _matrix(x)
    table = _table(diagonal, low, high)
    require(table.shape[:-2] == x.shape[:-2] and table.shape[-1] == _longest(low, high, rows, columns))
    made = x.copy()
    for which, places, row, column in _diagonals(op, low, high, rows, columns, align):
        made[..., row, column] = table[..., which, places]
    return made


def _sizes(fewest_rows: int, fewest_columns: int, rows: int, columns: int) -> tuple[int, int]:
    """Return the size of the matrix that the diagonals are in: as given, where -1 is as small as can be or square."""
    if rows == columns == -1:
        rows = columns = max(fewest_rows, fewest_columns)
    rows = fewest_rows if rows == -1 else rows
    columns = fewest_columns if columns == -1 else columns
    require(rows >= fewest_rows and columns >= fewest_columns and (rows == fewest_rows or columns == fewest_columns))
    return rows, columns


def _band(k: np.ndarray) -> tuple[int, int]:
    """Return the lowest and the highest diagonal."""
    require(k.size in (1, 2))
    diagonals = k.reshape(-1).tolist()
    require(diagonals[0] <= diagonals[-1])
    return diagonals[0], diagonals[-1]


def _matrix(x: np.ndarray) -> tuple[int, int]:
    require(x.ndim >= 2)
    return x.shape[-2], x.shape[-1]


def _table(diagonal: np.ndarray, low: int, high: int) -> np.ndarray:
    """Return the diagonals as [..., high - low + 1, longest], the highest first."""
    table = diagonal[..., np.newaxis, :] if low == high else diagonal
    require(table.ndim >= 2 and table.shape[-2] == high - low + 1)
    return table


def _longest(low: int, high: int, rows: int, columns: int) -> int:
    """Return the length of the longest diagonal; decline those beyond the matrix, which TensorFlow refuses."""
    require(-rows < low and high < columns)
    return min(rows + min(high, 0), columns - max(low, 0))


def _diagonals(op: Op, low: int, high: int, rows: int, columns: int, align: str | None) -> Iterator[_Diagonal]:
    """Yield each diagonal; shorter ones stand flush in the table to the side that `align` names ("super_sub")."""
    above, below = (align or ("RIGHT_LEFT" if op.type.endswith("V3") else "LEFT_LEFT")).split("_")
    longest = _longest(low, high, rows, columns)
    for diagonal in range(low, high + 1):
        length = min(rows + min(diagonal, 0), columns - max(diagonal, 0))
        # A main diagonal shorter than the longest is flush left if either side is.
        left = (diagonal >= 0 and above == "LEFT") or (diagonal <= 0 and below == "LEFT")
        start = 0 if left else longest - length
        along = np.arange(length)
        yield high - diagonal, slice(start, start + length), along + max(0, -diagonal), along + max(0, diagonal)
