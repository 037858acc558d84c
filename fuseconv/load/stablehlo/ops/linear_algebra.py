"""Fourier transforms, factors of matrices, and batch normalization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, ints, number, refuse_unless, tensor_type, text

# The factors of matrices with more columns would take hundreds of ops.
_MOST_COLUMNS = 16
_DIMENSIONS = {1: "", 2: "2D", 3: "3D"}


@imports
def fft(tf: Scope, op: Operation, x: Value) -> Value:
    """fft(x), RFFT -> RFFT(x, length), by one to three of its last dimensions."""
    kind, lengths = text(op.attribute("fft_type")), ints(op.attribute("fft_length"))
    refuse_unless(len(lengths) in _DIMENSIONS, f"a transform of {len(lengths)} dimensions")
    operands = [x, tf.ints(lengths)] if "R" in kind else [x]
    return tf.add(f"{kind}{_DIMENSIONS[len(lengths)]}", operands, {}, tensor_type(op.results[0]).dtype)


@imports
def cholesky(tf: Scope, op: Operation, x: Value) -> Value:
    """Cholesky(x), which reads the lower triangle."""
    return root(tf, x, tensor_type(op.operands[0]).rank, bool(op.attribute("lower")))


def root(tf: Scope, x: Value, rank: int, lower: bool) -> Value:
    """Return the triangular root of matrices of which this triangle is read."""
    refuse_unless(not x.dtype.is_complex, "complex matrices")
    return tf.Cholesky(x) if lower else _adjoint(tf, tf.Cholesky(_adjoint(tf, x, rank)), rank)


@dataclass(frozen=True)
class Triangle:
    """How a triangular system is solved: op(a) x = b, or x op(a) = b if not `left`."""

    left: bool
    lower: bool
    transposed: bool
    unit: bool


@imports
def triangular_solve(tf: Scope, op: Operation, a: Value, b: Value) -> Value:
    """MatrixTriangularSolve(a, b): the x with op(a) x = b; x op(a) = b is that of the transposed."""
    left, lower, unit = (bool(op.attribute(name)) for name in ("left_side", "lower", "unit_diagonal"))
    how = Triangle(left, lower, text(op.attribute("transpose_a")) != "NO_TRANSPOSE", unit)
    return solved(tf, a, b, tensor_type(op.operands[0]).rank, how)


def solved(tf: Scope, a: Value, b: Value, rank: int, how: Triangle) -> Value:
    """Return the solution of a triangular system."""
    refuse_unless(not a.dtype.is_complex, "complex matrices")
    if how.unit:
        a = tf.MatrixSetDiag(a, tf.OnesLike(tf.MatrixDiagPart(a)))
    attrs = {} if how.lower else {"lower": False}
    if how.transposed == how.left:  # from the right, the transposed op(a) is solved
        attrs["adjoint"] = True
    made = tf.add("MatrixTriangularSolve", [a, b if how.left else _adjoint(tf, b, rank)], attrs, a.dtype)
    return made if how.left else _adjoint(tf, made, rank)


def triangular_factors(tf: Scope, x: Value, kind: TensorType) -> tuple[Value, Value]:
    """Return matrices [..., m, n] as what LAPACK's getrf leaves: the factor U, and below it L without its diagonal; and
    the row, counted from 1, that each row was exchanged with [..., min(m, n)].

    One column after another: the largest number becomes the diagonal's, and what is below it is eliminated."""
    rank = kind.rank
    rows, columns = kind.shape[-2:]
    refuse_unless(x.dtype is types.FLOAT32, f"the factors of matrices of {x.dtype}")
    refuse_unless(rows is not None and columns is not None, "the sizes of its matrices are not known")
    assert rows is not None and columns is not None
    count = min(rows, columns)
    refuse_unless(count <= _MOST_COLUMNS, f"the factors of {count} columns, where {_MOST_COLUMNS} are written out")
    pivots = []
    places = np.arange(rows, dtype=np.int32)
    for step in range(count):
        size = tf.Abs(_part(tf, x, rank, rank - 1, step, shrinks=True))
        rest = tf.SelectV2(tf.const(places < step, types.BOOL), tf.same(-1, x), size, dtype=x.dtype)
        best = tf.add("ArgMax", [rest, tf.const(rank - 2)], {"output_type": types.INT32}, types.INT32)
        pivot = tf.ExpandDims(best, rank - 2)
        pivots.append(tf.AddV2(pivot, tf.const(1)))
        x = tf.GatherV2(x, _exchanged(tf, places, step, pivot), rank - 2, batch_dims=rank - 2)
        if step + 1 < rows:
            x = _eliminated(tf, x, rank, step, rows, columns)
    return x, tf.ConcatV2(*pivots, rank - 2) if len(pivots) > 1 else pivots[0]


def _exchanged(tf: Scope, places: np.ndarray, step: int, pivot: Value) -> Value:
    """Return the numbers of rows after two of them were exchanged."""
    there = tf.SelectV2(tf.Equal(tf.const(places), pivot, dtype=types.BOOL), tf.const(step), tf.const(places),
                        dtype=types.INT32)  # fmt: skip
    return tf.SelectV2(tf.const(places == step, types.BOOL), pivot, there, dtype=types.INT32)


def _eliminated(tf: Scope, x: Value, rank: int, step: int, rows: int, columns: int) -> Value:
    """Return x with the factors of the rows below in a column, and so much of the row subtracted from what is right of
    these. A column of zeros stays."""
    row = _part(tf, x, rank, rank - 2, step)
    head, column = (_part(tf, value, rank, rank - 1, step) for value in (row, x))
    zero, below = tf.same(0, x), np.arange(rows)[:, None] > step
    divisor = tf.SelectV2(tf.Equal(head, zero, dtype=types.BOOL), tf.same(1, x), head, dtype=x.dtype)
    factor = tf.SelectV2(tf.const(below, types.BOOL), tf.RealDiv(column, divisor), zero, dtype=x.dtype)
    right = tf.SelectV2(tf.const(np.arange(columns) > step, types.BOOL), row, zero, dtype=x.dtype)
    left = tf.const(below & (np.arange(columns) == step), types.BOOL)
    return tf.SelectV2(left, factor, tf.Sub(x, tf.Mul(factor, right)), dtype=x.dtype)


def _part(tf: Scope, x: Value, rank: int, axis: int, place: int, shrinks: bool = False) -> Value:
    """Return one slice of x along an axis."""
    begin, end = [0] * rank, [0] * rank
    begin[axis], end[axis] = place, place + 1
    others = (1 << rank) - 1 & ~(1 << axis)
    masks = {"begin_mask": others, "end_mask": others, **({"shrink_axis_mask": 1 << axis} if shrinks else {})}
    return tf.StridedSlice(x, begin, end, [1] * rank, **masks)


@imports
def batch_norm_inference(
    tf: Scope, op: Operation, x: Value, scale: Value, offset: Value, mean: Value, variance: Value
) -> Value:
    """(x - mean) * (scale * rsqrt(variance + epsilon)) + offset."""
    axis, rank = number(op.attribute("feature_index")), tensor_type(op.operands[0]).rank
    by = tf.Mul(tf.Rsqrt(tf.AddV2(variance, tf.same(op.attribute("epsilon"), variance))), scale)
    mean, by, offset = (_along(tf, value, axis, rank) for value in (mean, by, offset))
    return tf.AddV2(tf.Mul(tf.Sub(x, mean), by), offset)


@imports
def batch_norm_training(tf: Scope, op: Operation, x: Value, scale: Value, offset: Value) -> list[Value]:
    """Normalize by the mean and variance of all but the features, which are results too."""
    axis, rank = number(op.attribute("feature_index")), tensor_type(op.operands[0]).rank
    others = tf.ints([other for other in range(rank) if other != axis])
    mean = tf.Mean(x, others)
    apart = tf.Sub(x, _along(tf, mean, axis, rank))
    variance = tf.Mean(tf.Square(apart), others)
    by = tf.Mul(tf.Rsqrt(tf.AddV2(variance, tf.same(op.attribute("epsilon"), variance))), scale)
    made = tf.AddV2(tf.Mul(apart, _along(tf, by, axis, rank)), _along(tf, offset, axis, rank))
    return [made, mean, variance]


def _along(tf: Scope, vector: Value, axis: int, rank: int) -> Value:
    return vector if axis == rank - 1 else tf.Reshape(vector, [-1, *[1] * (rank - 1 - axis)])


def _adjoint(tf: Scope, x: Value, rank: int) -> Value:
    return tf.Transpose(x, [*range(rank - 2), rank - 1, rank - 2])
