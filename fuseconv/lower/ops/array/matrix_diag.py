"""Diagonals and bands of matrices, the last two dimensions of a tensor.

The elements of the result are gathered: which of the operand's each is depends on shapes alone, which must be known in
the last dimensions, but for a single diagonal.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Shape, is_static, product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import build_legalized, scalar, select
from fuseconv.lower.support.type_promotion import cast


@lowers("MatrixDiag", "BatchMatrixDiag")
def MatrixDiag(tfl, diagonal):
    """MATRIX_DIAG."""
    return build_legalized(tfl, "MATRIX_DIAG", tfl.matrix_diag, diagonal)


@lowers("MatrixDiagV2", "MatrixDiagV3")
def MatrixDiagV3(tfl, diagonal, k, num_rows, num_cols, padding_value, *, align=None):
    """MATRIX_DIAG of a main diagonal, and PAD of it for another one of unknown size; else GATHER of the diagonals and
    the padding."""
    low, high = _band(k)
    rows, columns = (int(constant_of(x, "the size of the matrix").reshape(())) for x in (num_rows, num_cols))
    simple = low == high and rows == columns == -1 and padding_value.is_const and not padding_value.data.any()
    if simple and low == 0:
        return MatrixDiag(tfl, diagonal)
    dims = shape_of(diagonal)
    if simple and not is_static(dims[-1:]):
        above, below = max(high, 0), max(-low, 0)
        pads = np.array([*[(0, 0)] * (len(dims) - 1), (below, above), (above, below)], np.int32)
        return build_legalized(tfl, "PAD", lambda wide: tfl.pad(wide, pads), MatrixDiag(tfl, diagonal))
    inner = static_dims(dims[-1:] if low == high else dims[-2:], "the size of the diagonals")
    least = inner[-1] + max(0, -high), inner[-1] + max(0, low)
    square = rows == columns == -1
    rows = max(least) if square else least[0] if rows == -1 else rows
    columns = max(least) if square else least[1] if columns == -1 else columns
    budget.require_room(rows * columns, 8, tfl.name)
    source = np.full((rows, columns), int(product(inner)))
    for place, row, column in _diagonals(low, high, rows, columns, _alignment(tfl, align)):
        source[row, column] = place
    return _gather_by_index(tfl, [diagonal], len(inner), source, padding_value)


@lowers("MatrixDiagPart", "BatchMatrixDiagPart")
def MatrixDiagPart(tfl, x):
    """GATHER of the main diagonal."""
    return _part(tfl, x, 0, 0, "LEFT_LEFT", None)


@lowers("MatrixDiagPartV2", "MatrixDiagPartV3")
def MatrixDiagPartV3(tfl, x, k, padding_value, *, align=None):
    """GATHER of the diagonals and the padding."""
    return _part(tfl, x, *_band(k), _alignment(tfl, align), padding_value)


@lowers("MatrixSetDiag", "BatchMatrixSetDiag")
def MatrixSetDiag(tfl, x, diagonal):
    """MATRIX_SET_DIAG."""
    return _with_diagonals(tfl, x, diagonal, 0, 0, "LEFT_LEFT")


@lowers("MatrixSetDiagV2", "MatrixSetDiagV3")
def MatrixSetDiagV3(tfl, x, diagonal, k, *, align=None):
    """MATRIX_SET_DIAG of a main diagonal; GATHER from the matrix and other diagonals."""
    return _with_diagonals(tfl, x, diagonal, *_band(k), _alignment(tfl, align))


@lowers
def Diag(tfl, diagonal):
    """MATRIX_DIAG of all elements."""
    dims = shape_of(diagonal)
    flat = reshape(tfl, diagonal, (product(dims),))
    return reshape(tfl, build_legalized(tfl, "MATRIX_DIAG", tfl.matrix_diag, flat), (*dims, *dims), diagonal)


@lowers
def DiagPart(tfl, x):
    """GATHER of the main diagonal of the two halves of the dimensions."""
    dims = shape_of(x)
    half = dims[: len(dims) // 2]
    (count,) = static_dims([product(half)], "the size of the diagonal")
    return reshape(tfl, _part(tfl, reshape(tfl, x, (count, count)), 0, 0, "LEFT_LEFT", None), half, x)


@lowers("MatrixBandPart", "BatchMatrixBandPart")
def MatrixBandPart(tfl, x, num_lower, num_upper):
    """SELECT_V2 of the band, else 0. A negative number keeps its whole side."""
    rows, columns = (_size(tfl, x, axis) for axis in (-2, -1))
    offset = tfl.sub(_count(tfl, columns), tfl.expand_dims(_count(tfl, rows), scalar(1, types.INT32)))
    band = []
    if not _keeps_all(num_lower):
        band.append(tfl.less_equal(tfl.neg(offset), _width(tfl, num_lower, rows)))
    if not _keeps_all(num_upper):
        band.append(tfl.less_equal(offset, _width(tfl, num_upper, columns)))
    return select(tfl, functools.reduce(tfl.logical_and, band), x, 0) if band else x


def _keeps_all(number: Value) -> bool:
    return number.data is not None and bool(number.data < 0)


def _size(tfl: Lowering, x: Value, axis: int) -> Value:
    """Return a size, by its axis from the end, as an int32 scalar; the rank of x need not be known."""
    if x.shape is not None:
        return dim_scalar(tfl, x.shape[axis], x)
    shape = tfl.shape_(x)
    return tfl.strided_slice(shape, [axis], [axis + 1], [1], shrink_axis_mask=1)


def _count(tfl: Lowering, size: Value) -> Value:
    """Return 0, 1, ..., size - 1 as an int32 vector."""
    if size.data is not None:
        return tfl.const(np.arange(size.data.item(), dtype=np.int32))
    return tfl.range(scalar(0, types.INT32), size, scalar(1, types.INT32))


def _width(tfl: Lowering, number: Value, size: Value) -> Value:
    """Return how far from the diagonal elements are kept, as an int32 scalar: up to the size where any are."""
    if number.data is not None:
        return scalar(number.data, types.INT32)
    number = cast(tfl, number, types.INT32)
    return tfl.select_v2(tfl.less(number, 0), size, number)


def _band(k: Value) -> tuple[int, int]:
    """Return the lowest and the highest diagonal."""
    diagonals = constant_of(k, "the choice of diagonals").reshape(-1).tolist()
    return diagonals[0], diagonals[-1]


def _alignment(tfl: Lowering, align: str | None) -> str:
    return align or ("RIGHT_LEFT" if tfl.source.type.endswith("V3") else "LEFT_LEFT")


def _diagonals(low: int, high: int, rows: int, columns: int, align: str) -> Iterator[tuple[int, int, int]]:
    """Yield (place, row, column) of each element of the diagonals. The place is that in a table of the diagonals, [high
    - low + 1, longest], the highest first, each flush to the side that `align` names ("super_sub")."""
    above, below = align.split("_")
    lengths = {d: min(rows + min(d, 0), columns - max(d, 0)) for d in range(low, high + 1)}
    longest = max(lengths.values())
    for diagonal, length in lengths.items():
        # A main diagonal shorter than the longest is flush left if either side is.
        left = (diagonal >= 0 and above == "LEFT") or (diagonal <= 0 and below == "LEFT")
        start = (high - diagonal) * longest + (0 if left else longest - length)
        for at in range(length):
            yield start + at, at + max(0, -diagonal), at + max(0, diagonal)


def _part(tfl: Lowering, x: Value, low: int, high: int, align: str, padding: Value | None) -> Value:
    """Return diagonals [..., high - low + 1, longest] of matrices, or one [..., longest] where low is high. padding:
    for the ends of shorter ones."""
    *batch, height, width = shape_of(x)
    if low == high and not is_static((height, width)):
        # Neighbors on the diagonal are a row and a column apart; the first is behind `above` columns, or `below` rows.
        above, below = max(high, 0), max(-low, 0)
        step = tfl.add(dim_scalar(tfl, width, x), 1)
        count = tfl.minimum(dim_scalar(tfl, height - below, x), dim_scalar(tfl, width - above, x))
        places = tfl.mul(tfl.range(scalar(0, types.INT32), count, scalar(1, types.INT32)), step)
        if low:
            places = tfl.add(places, above or tfl.mul(dim_scalar(tfl, width, x), below))
        flat = reshape(tfl, x, (product(batch), product([height, width])))
        taken = build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, places, axis=1), flat)
        return reshape(tfl, taken, (*batch, shape_of(taken)[1]), x, taken)
    rows, columns = static_dims(shape_of(x)[-2:], "the size of the matrix")
    longest = min(rows + min(high, 0), columns - max(low, 0))
    budget.require_room((high - low + 1) * longest, 8, tfl.name)
    source = np.full((high - low + 1) * longest, rows * columns)
    for place, row, column in _diagonals(low, high, rows, columns, align):
        source[place] = row * columns + column
    return _gather_by_index(tfl, [x], 2, source.reshape((-1, longest)[low == high :]), padding)


def _with_diagonals(tfl: Lowering, x: Value, diagonal: Value, low: int, high: int, align: str) -> Value:
    if low == high == 0:
        return build_legalized(tfl, "MATRIX_SET_DIAG", tfl.matrix_set_diag, x, diagonal)
    rows, columns = static_dims(shape_of(x)[-2:], "the size of the matrix")
    budget.require_room(rows * columns, 8, tfl.name)
    source = np.arange(rows * columns).reshape(rows, columns)
    for place, row, column in _diagonals(low, high, rows, columns, align):
        source[row, column] = rows * columns + place
    return _gather_by_index(tfl, [x, diagonal], 2, source, None)


def _gather_by_index(
    tfl: Lowering, operands: list[Value], inner: int, source: np.ndarray, padding: Value | None
) -> Value:
    """Build a gather along the flattened, joined inner dimensions of the operands: the result has the inner dimensions
    of `source`, which holds an index for each element; the index after the last is the padding."""
    shape = shape_of(operands[0])
    batch: Shape = shape[: len(shape) - inner]
    widths = [math.prod(static_dims(shape_of(x)[len(batch) :], "the size of the matrix")) for x in operands]
    flat = [reshape(tfl, x, (product(batch), width), operands[0]) for x, width in zip(operands, widths)]

    def gathered(*wide: Value) -> Value:
        joined = wide[0] if len(flat) == 1 else tfl.concatenation(*wide[: len(flat)], axis=1)
        if (source == sum(widths)).any():
            require(padding is not None, "the diagonals need padding")
            joined = tfl.padv2(joined, np.array([[0, 0], [0, 1]], np.int32), *wide[len(flat) :])
        return tfl.gather(joined, source.reshape(-1).astype(np.int32), axis=1)

    fill = [padding] if padding is not None else []
    return reshape(tfl, build_legalized(tfl, "GATHER", gathered, *flat, *fill), (*batch, *source.shape), operands[0])
