"""Linear algebra by elimination, one column of the matrix in each run of a WHILE.

All matrices of a batch are worked on at once, float32 [batch, n, ...]. Where TensorFlow fails, since a matrix has no
inverse or no square root, the result is not a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.matmul import swapped
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, select
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.type_inference import broadcast

_FACTORED = "the size of matrices that are factored"


@lowers("MatrixInverse", "BatchMatrixInverse")
@in_float32
def MatrixInverse(tfl, matrix, *, adjoint=False):
    """Elimination of the matrix beside the unit matrix, with the largest pivots."""
    shape = shape_of(matrix)
    x = _flat(tfl, swapped(tfl, matrix) if adjoint else matrix)
    every = _rows(tfl, x)
    diagonal = tfl.equal(tfl.expand_dims(every, 0), tfl.expand_dims(every, 1))
    unit = select(tfl, tfl.expand_dims(diagonal, 0), 1.0, _zeros(tfl, x))
    return reshape(tfl, _gauss_jordan(tfl, x, unit)[0], shape, matrix)


@lowers("MatrixSolve", "BatchMatrixSolve")
@in_float32
def MatrixSolve(tfl, matrix, rhs, *, adjoint=False):
    """Elimination of the matrix beside the right-hand sides, with the largest pivots."""
    x, beside = _system(tfl, matrix, rhs, adjoint)
    return reshape(tfl, _gauss_jordan(tfl, x, beside)[0], shape_of(tfl.source.result), rhs, matrix)


@lowers("MatrixDeterminant", "BatchMatrixDeterminant")
@in_float32
def MatrixDeterminant(tfl, matrix):
    """REDUCE_PROD of the pivots of an elimination."""
    x = _flat(tfl, matrix)
    _, pivots = _gauss_jordan(tfl, x, None)
    none = tfl.reduce_any(tfl.equal(pivots, 0.0), [1])
    return reshape(tfl, select(tfl, none, 0.0, tfl.reduce_prod(pivots, [1])), shape_of(matrix)[:-2], matrix)


@lowers
@in_float32
def LogMatrixDeterminant(tfl, matrix):
    """REDUCE_PROD of the signs of the pivots of an elimination, and the SUM of their logarithms."""
    _, pivots = _gauss_jordan(tfl, _flat(tfl, matrix), None)
    none = tfl.reduce_any(tfl.equal(pivots, 0.0), [1])
    sign = select(tfl, none, 0.0, tfl.reduce_prod(tfl.sign(pivots), [1]))
    size = select(tfl, none, float("-inf"), tfl.sum_(tfl.log(tfl.abs_(pivots)), [1]))
    return [reshape(tfl, x, shape_of(matrix)[:-2], matrix) for x in (sign, size)]


@lowers
@in_float32
def Lu(tfl, x, *, output_idx_type=None):
    """Elimination below the diagonal with the largest pivots; the factors stay where they leave zeros."""

    def once(tfl: Builder, step: Value, whole: Value, order: Value) -> list[Value]:
        every = _rows(tfl, whole)
        rows = tfl.expand_dims(every, 0)
        best = _largest_from(tfl, tfl.gather(whole, step, axis=2), rows, step)
        chosen = tfl.gather(whole, best, axis=1, batch_dims=1)
        whole, order = (_exchanged(tfl, each, rows, step, best) for each in (whole, order))
        follows = tfl.greater(rows, step)
        factor = tfl.div(tfl.gather(whole, step, axis=2), tfl.gather(chosen, step, axis=2))
        factor = tfl.expand_dims(tfl.select_v2(follows, factor, _number(tfl, 0)), 2)
        rest = tfl.sub(whole, tfl.mul(factor, tfl.select_v2(tfl.greater(every, step), chosen, _number(tfl, 0))))
        kept = tfl.logical_and(tfl.expand_dims(follows, 2), tfl.equal(every, step))
        return [tfl.select_v2(kept, factor, rest), order]

    matrix = _flat(tfl, x)
    none = tfl.sum_(_zeros(tfl, matrix), [2])
    order = tfl.add(cast(tfl, none, types.INT32), tfl.expand_dims(_rows(tfl, matrix), 0))
    whole, order = tfl.repeat(_size(tfl, matrix), once, [matrix, order])
    order = cast(tfl, order, tfl.source.results[1].dtype)
    return [reshape(tfl, whole, shape_of(x), x), reshape(tfl, order, shape_of(x)[:-1], x)]


@lowers("Cholesky", "BatchCholesky")
@in_float32
def Cholesky(tfl, x):
    """One column of the root at a time, from left to right: the remainder of the matrix over the SQRT of its
    diagonal."""

    def once(tfl: Builder, step: Value, left: Value, root: Value) -> list[Value]:
        rows = tfl.expand_dims(_rows(tfl, left), 0)
        column = tfl.gather(left, step, axis=2)
        pivot = tfl.gather(column, tfl.reshape(step, [1]), axis=1)
        column = tfl.select_v2(tfl.less(rows, step), _number(tfl, 0), tfl.div(column, tfl.sqrt(pivot)))
        column = tfl.expand_dims(column, 2)
        here = tfl.equal(tfl.expand_dims(rows, 1), step)
        rest = tfl.sub(left, tfl.batch_matmul(column, column, adj_y=True))
        return [rest, tfl.select_v2(here, column, root)]

    matrix = _flat(tfl, x)
    _, root = tfl.repeat(_size(tfl, matrix), once, [matrix, _zeros(tfl, matrix)])
    return reshape(tfl, root, shape_of(x), x)


@lowers("MatrixTriangularSolve", "BatchMatrixTriangularSolve")
@in_float32
def MatrixTriangularSolve(tfl, matrix, rhs, *, lower=True, adjoint=False):
    """Substitution, one row at a time, the last first of an upper triangle; each is subtracted from the rows that
    follow."""
    return _substituted(tfl, matrix, rhs, lower, adjoint)


@lowers
@in_float32
def BandedTriangularSolve(tfl, bands, rhs, *, lower=True, adjoint=False):
    """The diagonals made a matrix by a SELECT_V2 each; then as MatrixTriangularSolve."""
    *outer, count, size = shape_of(bands)
    (diagonals,) = static_dims([count], "the number of diagonals")
    offsets = range(0, -diagonals, -1) if lower else range(diagonals - 1, -1, -1)
    matrix = _of_diagonals(tfl, _flat(tfl, bands), offsets)
    return _substituted(tfl, reshape(tfl, matrix, (*outer, size, size), bands), rhs, lower, adjoint)


def _substituted(tfl: Lowering, matrix: Value, rhs: Value, lower: bool, adjoint: bool) -> Value:
    """Return what triangular matrices, transposed if `adjoint`, make the right-hand sides of."""
    triangle, wanted = _system(tfl, matrix, rhs, adjoint)
    forwards = lower != adjoint

    def once(tfl: Builder, step: Value, x: Value, made: Value) -> list[Value]:
        rows = tfl.expand_dims(_rows(tfl, x), 1)
        at = step if forwards else tfl.sub(tfl.sub(dim_scalar(tfl, shape_of(x)[1], x), 1), step)
        column = tfl.expand_dims(tfl.gather(x, at, axis=2), 2)
        row = tfl.gather(made, tfl.reshape(at, [1]), axis=1)
        row = tfl.div(row, tfl.gather(column, tfl.reshape(at, [1]), axis=1))
        follows = tfl.greater(rows, at) if forwards else tfl.less(rows, at)
        made = tfl.select_v2(follows, tfl.sub(made, tfl.mul(column, row)), made)
        return [x, tfl.select_v2(tfl.equal(rows, at), row, made)]

    _, made = tfl.repeat(_size(tfl, triangle), once, [triangle, wanted])
    return reshape(tfl, made, shape_of(tfl.source.result), rhs, matrix)


@lowers
@in_float32
def Qr(tfl, x, *, full_matrices=False):
    """One reflection a column, from left to right, that leaves nothing below the diagonal; then, from the last to the
    first, on the columns of the unit matrix. The signs are Eigen's: what comes on the diagonal has not the sign of what
    was there. Of columns that depend on others Q is as arbitrary as TensorFlow's."""
    rows, columns = static_dims(shape_of(x)[-2:], _FACTORED)
    kept = rows if full_matrices else min(rows, columns)
    q, r = reflections(tfl, _flat(tfl, x), kept)
    outer = shape_of(x)[:-2]
    return [reshape(tfl, q, (*outer, rows, kept), x), reshape(tfl, r, (*outer, kept, columns), x)]


def reflections(tfl: Lowering, matrix: Value, kept: int) -> tuple[Value, Value]:
    """Return Q [batch, m, kept] and R [batch, kept, n] of matrices [batch, m, n]."""
    rows, columns = static_dims(shape_of(matrix)[-2:], _FACTORED)
    steps = min(rows, columns)
    below = np.arange(rows)[:, None] > np.arange(columns)

    def eliminate(tfl: Builder, step: Value, left: Value, normals: Value) -> list[Value]:
        normal = tfl.expand_dims(_normal(tfl, tfl.gather(left, step, axis=2), step), 2)
        here = tfl.equal(tfl.const(np.arange(steps, dtype=np.int32)), step)
        return [_reflected(tfl, left, normal), tfl.select_v2(here, normal, normals)]

    def restore(tfl: Builder, step: Value, q: Value, normals: Value) -> list[Value]:
        last = tfl.gather(normals, tfl.sub(tfl.const(steps - 1, types.INT32), step), axis=2)
        return [_reflected(tfl, q, tfl.expand_dims(last, 2)), normals]

    none = tfl.slice_(_zeros(tfl, matrix), [0, 0, 0], [-1, -1, steps])
    r, normals = tfl.repeat(steps, eliminate, [matrix, none])
    column = tfl.slice_(none, [0, 0, 0], [-1, -1, 1])
    q, _ = tfl.repeat(steps, restore, [tfl.add(column, np.eye(rows, kept, dtype=np.float32)), normals])
    return q, tfl.slice_(tfl.select_v2(tfl.const(below), _number(tfl, 0), r), [0, 0, 0], [-1, kept, -1])


@lowers
@in_float32
def TridiagonalSolve(tfl, diagonals, rhs, *, partial_pivoting=True):
    """Elimination of the whole matrix, with the largest pivots."""
    matrix = _of_diagonals(tfl, _flat(tfl, diagonals), (1, 0, -1))
    return reshape(tfl, _gauss_jordan(tfl, matrix, _flat(tfl, rhs))[0], shape_of(rhs), rhs)


@lowers
@in_float32
def TridiagonalMatMul(tfl, superdiag, maindiag, subdiag, rhs):
    """MUL of the rows with the main diagonal, and of the rows behind and before them with the others, added."""

    x = _flat(tfl, rhs)
    above, main, below = (_flat(tfl, swapped(tfl, diagonal)) for diagonal in (superdiag, maindiag, subdiag))
    behind = tfl.mul(_but_one_row(tfl, above, first=False), _but_one_row(tfl, x, first=True))
    before = tfl.mul(_but_one_row(tfl, below, first=True), _but_one_row(tfl, x, first=False))
    # Of the other diagonals an element each has no row.
    neighbors = tfl.add(tfl.pad(behind, _rows_of_zeros(0, 1)), tfl.pad(before, _rows_of_zeros(1, 0)))
    return reshape(tfl, tfl.add(tfl.mul(main, x), neighbors), shape_of(rhs), rhs)


def _of_diagonals(tfl: Lowering, x: Value, offsets: Sequence[int]) -> Value:
    """Return the matrices [batch, n, n] of diagonals [batch, count, n], whose elements are at their rows' places;
    offsets: how far each is above the main one."""
    every = iota(tfl, shape_of(x)[2], x)
    distance = tfl.sub(tfl.expand_dims(every, 0), tfl.expand_dims(every, 1))
    matrix = _number(tfl, 0)
    for row, offset in enumerate(offsets):
        diagonal = tfl.expand_dims(tfl.gather(x, tfl.const(row, types.INT32), axis=1), 2)
        matrix = tfl.select_v2(tfl.equal(distance, offset), diagonal, matrix)
    return matrix


def _but_one_row(tfl: Lowering, x: Value, first: bool) -> Value:
    """Return matrices [batch, n, m] without their first, or last, row."""
    begin, end = ([0, 1, 0], [0, 0, 0]) if first else ([0, 0, 0], [0, -1, 0])
    return tfl.strided_slice(x, begin, end, [1, 1, 1], begin_mask=5 if first else 7, end_mask=7 if first else 5)


def _rows_of_zeros(before: int, after: int) -> np.ndarray:
    return np.array([[0, 0], [before, after], [0, 0]], np.int32)


def _normal(tfl: Builder, column: Value, step: Value) -> Value:
    """Return u [batch, n], for which I - u u' reflects what a column [batch, n] is from a row on to that row's axis; 0
    where nothing stands below the row."""
    rows = tfl.expand_dims(_rows(tfl, column), 0)
    zero = _number(tfl, 0)
    top = tfl.gather(column, tfl.reshape(step, [1]), axis=1)
    tail = tfl.select_v2(tfl.greater(rows, step), column, zero)
    rest = tfl.sum_(tfl.mul(tail, tail), [1], keep_dims=True)
    length = tfl.sqrt(tfl.add(tfl.mul(top, top), rest))
    moved = tfl.add(top, tfl.select_v2(tfl.greater_equal(top, zero), length, tfl.neg(length)))
    some = tfl.greater(rest, _number(tfl, float(np.finfo(np.float32).tiny)))
    scale = tfl.select_v2(some, tfl.mul(length, tfl.abs_(moved)), _number(tfl, 1))
    normal = tfl.div(tfl.select_v2(tfl.equal(rows, step), moved, tail), tfl.sqrt(scale))
    return tfl.select_v2(some, normal, zero)


def _reflected(tfl: Builder, x: Value, normal: Value) -> Value:
    """Return x - u (u' x), of matrices x [batch, n, m] and u [batch, n, 1]."""
    return tfl.sub(x, tfl.batch_matmul(normal, tfl.batch_matmul(normal, x, adj_x=True)))


def _gauss_jordan(tfl: Lowering, x: Value, beside: Value | None) -> tuple[Value, Value]:
    """Eliminate the matrices to identity: return the transformed right-hand sides (the inverses if there are none), and
    the pivots [batch, n], whose product is the determinant."""

    def once(tfl: Builder, step: Value, whole: Value, pivots: Value) -> list[Value]:
        rows = tfl.expand_dims(_rows(tfl, whole), 0)
        best = _largest_from(tfl, tfl.gather(whole, step, axis=2), rows, step)
        chosen = tfl.gather(whole, best, axis=1, batch_dims=1)
        first = tfl.gather(whole, tfl.reshape(step, [1]), axis=1)
        pivot = tfl.gather(chosen, step, axis=2)
        chosen = tfl.div(chosen, tfl.expand_dims(pivot, 2))
        turned = tfl.select_v2(tfl.expand_dims(tfl.equal(rows, best), 2), first, whole)
        column = tfl.expand_dims(tfl.gather(turned, step, axis=2), 2)
        here = tfl.equal(rows, step)
        whole = tfl.select_v2(tfl.expand_dims(here, 2), chosen, tfl.sub(turned, tfl.mul(column, chosen)))
        # Two rows that change places change the sign.
        signed = tfl.select_v2(tfl.equal(best, step), pivot, tfl.neg(pivot))
        return [whole, tfl.select_v2(here, signed, pivots)]

    whole = x if beside is None else tfl.concatenation(x, beside, axis=2)
    nothing = tfl.sum_(_zeros(tfl, x), [2])
    whole, pivots = tfl.repeat(_size(tfl, x), once, [whole, nothing])
    if beside is not None:
        start = tfl.concatenation(tfl.ints([0, 0]), tfl.reshape(_size(tfl, x), [1]), axis=0)
        whole = tfl.slice_(whole, start, [-1, -1, -1])
    return whole, pivots


def _largest_from(tfl: Builder, column: Value, rows: Value, step: Value) -> Value:
    """Return the rows [batch, 1], from row `step` on, of the largest sizes in columns [batch, n]."""
    sizes = tfl.select_v2(tfl.less(rows, step), _number(tfl, -1), tfl.abs_(column))
    return tfl.expand_dims(tfl.arg_max(sizes, tfl.const(1, types.INT32), output_type="INT32"), 1)


def _exchanged(tfl: Builder, x: Value, rows: Value, step: Value, other: Value) -> Value:
    """Return x [batch, n, ...] with the rows `step` and `other` [batch, 1] in each other's places."""
    mine = tfl.gather(x, tfl.reshape(step, [1]), axis=1)
    its = tfl.gather(x, other, axis=1, batch_dims=1)
    here, there = tfl.equal(rows, step), tfl.equal(rows, other)
    if len(shape_of(x)) > 2:
        here, there = tfl.expand_dims(here, 2), tfl.expand_dims(there, 2)
    return tfl.select_v2(here, its, tfl.select_v2(there, mine, x))


def _flat(tfl: Lowering, x: Value) -> Value:
    """Return matrices with one dimension for their batch."""
    shape = shape_of(x)
    require(len(shape) >= 2, "an operand is no matrix")
    return reshape(tfl, x, (product(shape[:-2]), *shape[-2:]), x)


def _system(tfl: Lowering, matrix: Value, rhs: Value, adjoint: bool) -> tuple[Value, Value]:
    """Return the matrices, transposed if `adjoint`, and their right-hand sides: both with the same batch, as one
    dimension."""
    x = swapped(tfl, matrix) if adjoint else matrix
    batch = broadcast(shape_of(x)[:-2], shape_of(rhs)[:-2])
    x, rhs = (
        one
        if shape_of(one)[:-2] == batch
        else elementwise(tfl, "ADD", one, tfl.sum_(_zeros(tfl, other), [len(shape_of(other)) - 1], keep_dims=True))
        for one, other in ((x, rhs), (rhs, x))
    )
    return _flat(tfl, x), _flat(tfl, rhs)


def _zeros(tfl: Lowering, x: Value) -> Value:
    """Return zeros of the shape of x, even where x holds NaN or infinity."""
    return cast(tfl, tfl.less(x, x), types.FLOAT32)


def _size(tfl: Lowering, x: Value) -> Value:
    return dim_scalar(tfl, shape_of(x)[1], x)


def _rows(tfl: Builder, x: Value) -> Value:
    """Return the numbers of the rows of matrices [batch, n, m]."""
    return iota(tfl, shape_of(x)[1], x)


def _number(tfl: Builder, number: float) -> Value:
    return tfl.const(number, types.FLOAT32)
