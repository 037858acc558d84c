"""Fourier transforms, factors of matrices, and batch normalization."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, ints, number, refuse_unless, tensor_type, text

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
    return tf.Cholesky(x) if lower else adjoint(tf, tf.Cholesky(adjoint(tf, x, rank)), rank)


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
    made = tf.add("MatrixTriangularSolve", [a, b if how.left else adjoint(tf, b, rank)], attrs, a.dtype)
    return made if how.left else adjoint(tf, made, rank)


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
    kind, axis = tensor_type(op.operands[0]), number(op.attribute("feature_index"))
    plain = _holds(scale, 1) and _holds(offset, 0)
    rows = _rows(tf, op, axis) if plain else None
    value, others = rows or (x, [other for other in range(kind.rank) if other != axis])
    mean = _kept_mean(tf, value, others)
    apart = tf.Sub(value, mean)
    variance = _kept_mean(tf, tf.Square(apart), others)
    by = tf.Rsqrt(tf.AddV2(variance, tf.same(op.attribute("epsilon"), variance)))
    by = by if plain else tf.Mul(by, _along(tf, scale, axis, kind.rank))
    made = tf.Mul(apart, by) if plain else tf.AddV2(tf.Mul(apart, by), _along(tf, offset, axis, kind.rank))
    return [tf.Reshape(made, kind.sizes) if rows else made, tf.Reshape(mean, [-1]), tf.Reshape(variance, [-1])]


def _rows(tf: Scope, op: Operation, axis: int) -> tuple[Value, list[int]] | None:
    """Return what is reshaped to [1, rows, elements], a feature a row, and the dimensions of a row in it: the layer
    norm that PyTorch decomposes so needs no reshape."""
    kind, before = tensor_type(op.operands[0]), op.operands[0].op
    if before is None or before.name != "reshape" or axis != 1 or kind.rank != 3 or kind.shape[0] != 1:
        return None
    whole = tensor_type(before.operands[0])
    for first in range(whole.rank if whole.is_static else 0):
        if math.prod(whole.sizes[:first]) == kind.shape[1]:
            return tf.value(before.operands[0]), list(range(first, whole.rank))
    return None


def _kept_mean(tf: Scope, x: Value, along: list[int]) -> Value:
    return tf.add("Mean", [x, tf.ints(along)], {"keep_dims": True}, x.dtype)


def _holds(vector: Value, number: int) -> bool:
    return vector.data is not None and bool((vector.data == number).all())


def _along(tf: Scope, vector: Value, axis: int, rank: int) -> Value:
    return vector if axis == rank - 1 else tf.Reshape(vector, [-1, *[1] * (rank - 1 - axis)])


def adjoint(tf: Scope, x: Value, rank: int) -> Value:
    return tf.Transpose(x, [*range(rank - 2), rank - 1, rank - 2])
