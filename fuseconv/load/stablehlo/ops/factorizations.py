"""Factors of matrices as LAPACK leaves them, one column in each run of a loop; columns that are few are written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.loops import repeat
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, symbolic


class _Places(NamedTuple):
    """The rows [m], the same as [m, 1], and the columns [n] of matrices [..., m, n]; and the `rank` of these."""

    row: Value
    rows: Value
    columns: Value
    rank: int


def triangular_factors(tf: Scope, x: Value, kind: TensorType, exchanged: TensorType) -> list[Value]:
    """Return matrices [..., m, n] as getrf leaves them: the factor U, and below it L without its diagonal; and the row,
    counted from 1, that each row was exchanged with [..., min(m, n)].

    The largest number of a column becomes the diagonal's, and what is below it is eliminated. A column of zeros
    stays."""

    def eliminate(tf: Scope, step: Value, x: Value, pivots: Value) -> list[Value]:
        at, place = _places(tf, x, kind), tf.Reshape(step, [1])
        zero, last = tf.same(0, x), at.rank - 1
        column = tf.Abs(tf.GatherV2(x, step, last))
        rest = tf.SelectV2(_is(tf, "Less", at.row, step), tf.same(-1, x), column, dtype=x.dtype)
        best = tf.add("ArgMax", [rest, tf.const(last - 1)], {"output_type": types.INT32}, types.INT32)
        pivot = tf.ExpandDims(best, last - 1)
        there = tf.SelectV2(_is(tf, "Equal", at.row, pivot), step, at.row, dtype=types.INT32)
        order = tf.SelectV2(_is(tf, "Equal", at.row, step), pivot, there, dtype=types.INT32)
        x = tf.GatherV2(x, order, last - 1, batch_dims=last - 1)
        pivots = _put(tf, pivots, exchanged, step, tf.AddV2(pivot, tf.const(1)))
        if step.data is not None and step.data + 1 == kind.shape[-2]:
            return [x, pivots]  # nothing is below the last row
        row, column = tf.GatherV2(x, place, last - 1), tf.GatherV2(x, place, last)
        head = tf.GatherV2(row, place, last)
        divisor = tf.SelectV2(_is(tf, "Equal", head, zero), tf.same(1, x), head, dtype=x.dtype)
        below = _is(tf, "Greater", at.rows, step)
        factor = tf.SelectV2(below, tf.RealDiv(column, divisor), zero, dtype=x.dtype)
        right = tf.SelectV2(_is(tf, "Greater", at.columns, step), row, zero, dtype=x.dtype)
        left = tf.LogicalAnd(below, _is(tf, "Equal", at.columns, step))
        return [tf.SelectV2(left, factor, tf.Sub(x, tf.Mul(factor, right)), dtype=x.dtype), pivots]

    return _by_columns(tf, eliminate, x, kind, exchanged)


def reflections(tf: Scope, x: Value, kind: TensorType, scaling: TensorType) -> list[Value]:
    """Return matrices [..., m, n] as geqrf leaves them: R, and below it the vectors v of reflections I - t v v' without
    the ones that they begin with; and their t [..., min(m, n)]."""

    def reflect(tf: Scope, step: Value, x: Value, scales: Value) -> list[Value]:
        at, place = _places(tf, x, kind), tf.Reshape(step, [1])
        last = at.rank - 1
        column = tf.GatherV2(x, place, last)
        top = tf.GatherV2(column, place, last - 1)
        tail = tf.SelectV2(_is(tf, "Greater", at.rows, step), column, tf.same(0, x), dtype=x.dtype)
        made, scale, vector = _reflection(tf, top, tail, last - 1)
        rest = _reflected(tf, x, _from(tf, at, step, vector), scale, last - 1)
        left = tf.SelectV2(_is(tf, "Less", at.rows, step), column, vector, dtype=x.dtype)
        left = tf.SelectV2(_is(tf, "Equal", at.rows, step), made, left, dtype=x.dtype)
        x = tf.SelectV2(_is(tf, "Greater", at.columns, step), rest, x, dtype=x.dtype)
        x = tf.SelectV2(_is(tf, "Equal", at.columns, step), left, x, dtype=x.dtype)
        return [x, _put(tf, scales, scaling, step, tf.Squeeze(scale, squeeze_dims=[last]))]

    return _by_columns(tf, reflect, x, kind, scaling)


def product_of_reflections(tf: Scope, x: Value, scales: Value, kind: TensorType, scaling: TensorType) -> Value:
    """Return the first columns of the product of reflections, of which geqrf left the vectors and scales."""
    _check(kind, scaling)
    last, count = kind.rank - 1, scaling.shape[-1]
    many = tf.size(scales, last - 1) if count is None else tf.const(count)

    def restore(tf: Scope, step: Value, made: Value, x: Value, scales: Value, many: Value) -> list[Value]:
        at = _places(tf, x, kind)
        step = tf.Sub(tf.Sub(many, tf.const(1)), step)
        place = tf.Reshape(step, [1])
        column = tf.GatherV2(x, place, last)
        tail = tf.SelectV2(_is(tf, "Greater", at.rows, step), column, tf.same(0, x), dtype=x.dtype)
        scale = tf.ExpandDims(tf.GatherV2(scales, place, last - 1), last)
        return [_reflected(tf, made, _from(tf, at, step, tail), scale, last - 1), x, scales, many]

    at = _places(tf, x, kind)
    diagonal = tf.SelectV2(_is(tf, "Equal", at.rows, at.columns), tf.same(1, x), tf.ZerosLike(x), dtype=x.dtype)
    shapes = [symbolic(kind), symbolic(kind), symbolic(scaling), ()]
    return repeat(tf, many if count is None else count, restore, [diagonal, x, scales, many], shapes)[0]


def _by_columns(tf: Scope, step: Callable, x: Value, kind: TensorType, beside: TensorType) -> list[Value]:
    """Return what a function leaves of matrices, and what it puts into a tensor of this type for each column."""
    refuse_unless(x.dtype.is_float, f"the factors of matrices of {x.dtype}")
    _check(kind, beside)
    count = beside.shape[-1]
    sizes = tf.shape(x)
    outer = tf.StridedSlice(sizes, [0], [kind.rank - 2], [1])
    inner = tf.StridedSlice(sizes, [kind.rank - 2], [kind.rank], [1])
    most = tf.Min(inner, 0) if count is None else tf.const(count)
    none = tf.add("Fill", [tf.ConcatV2(outer, tf.Reshape(most, [1]), 0), tf.const(0, beside.dtype)], {}, beside.dtype)
    return repeat(tf, most if count is None else count, step, [x, none], [symbolic(kind), symbolic(beside)])


def _check(kind: TensorType, beside: TensorType) -> None:
    """Refuse bytes that say another rank of what is made for each column, or more of these than there are."""
    most = min((size for size in kind.shape[-2:] if size is not None), default=None)
    count = beside.shape[-1] if beside.shape else None
    if kind.rank < 2 or beside.rank != kind.rank - 1 or (None not in (count, most) and count > most):  # type: ignore[operator]
        raise DamagedError(f"matrices {kind} have no {beside} for their columns")


def _reflection(tf: Scope, top: Value, tail: Value, axis: int) -> tuple[Value, Value, Value]:
    """Return what a reflection makes of the number at the top of columns, its scale, and the rest of its vector. The
    sign changes; where the rest is 0 already, nothing does."""
    zero, one = tf.same(0, top), tf.same(1, top)
    most = tf.Max(tf.Abs(tail), axis, keep_dims=True)
    none = _is(tf, "Equal", most, zero)

    def kept(value: Value, otherwise: Value) -> Value:
        return tf.SelectV2(none, otherwise, value, dtype=top.dtype)

    # Squares overflow, or vanish, of what is not near 1.
    unit = kept(tf.Maximum(most, tf.Abs(top)), one)
    below = tf.Sum(tf.Square(tf.RealDiv(tail, unit)), axis, keep_dims=True)
    length = tf.Mul(tf.Sqrt(tf.AddV2(tf.Square(tf.RealDiv(top, unit)), below)), unit)
    made = tf.SelectV2(_is(tf, "Less", top, zero), length, tf.Neg(length), dtype=top.dtype)
    apart = kept(tf.Sub(top, made), one)
    return kept(made, top), kept(tf.RealDiv(tf.Neg(apart), kept(made, one)), zero), tf.RealDiv(tail, apart)


def _reflected(tf: Scope, x: Value, vector: Value, scale: Value, axis: int) -> Value:
    """Return x - t v (v' x)."""
    across = tf.Sum(tf.Mul(vector, x), axis, keep_dims=True)
    return tf.Sub(x, tf.Mul(tf.Mul(vector, scale), across))


def _from(tf: Scope, at: _Places, step: Value, tail: Value) -> Value:
    """Return the vector of a reflection: 1 at its row, and the rest below."""
    return tf.SelectV2(_is(tf, "Equal", at.rows, step), tf.same(1, tail), tail, dtype=tail.dtype)


def _put(tf: Scope, x: Value, kind: TensorType, step: Value, value: Value) -> Value:
    """Return vectors with another number at a place."""
    places = _range(tf, x, kind.rank - 1, kind.shape[-1])
    return tf.SelectV2(_is(tf, "Equal", places, step), value, x, dtype=x.dtype)


def _places(tf: Scope, x: Value, kind: TensorType) -> _Places:
    row, columns = (_range(tf, x, kind.rank + axis, kind.shape[axis]) for axis in (-2, -1))
    return _Places(row, tf.ExpandDims(row, 1), columns, kind.rank)


def _range(tf: Scope, x: Value, axis: int, size: int | None) -> Value:
    if size is not None:
        budget.require_elements((size,), np.dtype(np.int32), tf.op.name)
        return tf.const(np.arange(size, dtype=np.int32))
    return tf.Range(0, tf.size(x, axis), 1)


def _is(tf: Scope, comparison: str, x: Value, y: Value) -> Value:
    return tf.add(comparison, [x, y], {}, types.BOOL)
