"""Singular values and eigenvalues by rotations of columns (Hestenes' one-sided form of Jacobi's method).

A step turns pairs of columns so that each pair is orthogonal. The columns then change places as teams of a tournament
do, so that n - 1 steps, a sweep, turn each with each other; as all become orthogonal, their lengths become the values.
They are right to a few parts in 1e6 of the largest one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.linalg import reflections
from fuseconv.lower.ops.math.matmul import swapped
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import scalar, select
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tfl.builder import Builder

_UNKNOWN = "the size of matrices whose values are computed"
# Float32 takes 6 to 8.
_SWEEPS = 12
# Beyond this cotangent of twice the angle, columns are orthogonal as far as float32 tells.
_FLAT = 1e9
# Of the largest value, for each row or column: what is no longer counts as 0, where that matters.
_RANK_LIMIT = 4 * float(np.finfo(np.float32).eps)


@lowers
@in_float32
def Svd(tfl, x, *, compute_uv=True, full_matrices=False):
    """The lengths of columns that a WHILE turns until they are orthogonal, by TOPK_V2; the turns are the vectors of one
    side, the directions of the columns those of the other. `reject-vector-signs` refuses vectors of which more is read
    than products in which their signs cancel."""
    values, *vectors = tfl.source.results
    rows, columns = static_dims(shape_of(x)[-2:], _UNKNOWN)
    read = any(each.uses for each in vectors)
    square = rows == columns
    require(square or not (read and full_matrices), "vectors beyond those of singular values are any that fit")
    wide = columns > rows
    found = _turned_matrices(tfl, swapped(tfl, x) if wide else x, read)
    made = reshape(tfl, _values(tfl, found), shape_of(values), x)
    if not read:
        return [made, None, None]
    sides = [_directions(tfl, found.columns), found.turns]
    sides = sides[::-1] if wide else sides
    return [made, *(reshape(tfl, side, shape_of(each), x) for side, each in zip(sides, vectors))]


@lowers
@in_float32
def SelfAdjointEigV2(tfl, x, *, compute_v=True):
    """The singular values of the matrix that a multiple of the unit matrix makes positive, less that, and the turns;
    of the vectors holds what does of those of Svd."""
    values, vectors = tfl.source.results
    (size,) = static_dims(shape_of(x)[-1:], _UNKNOWN)
    matrix = reshape(tfl, x, (product(shape_of(x)[:-2]), size, size))
    # TensorFlow reads what is on the diagonal and below it.
    lower = tfl.const(np.tri(size, dtype=bool))
    whole = tfl.select_v2(lower, matrix, swapped(tfl, matrix))
    bound = tfl.reduce_max(tfl.sum_(tfl.abs_(whole), [2], keep_dims=True), [1], keep_dims=True)
    diagonal = tfl.const(np.eye(size, dtype=np.float32))
    found = _turned_matrices(tfl, tfl.add(whole, tfl.mul(bound, diagonal)), bool(vectors.uses))
    made = tfl.sub(tfl.reverse_v2(_values(tfl, found), [1]), reshape(tfl, bound, (shape_of(matrix)[0], 1)))
    turns = reshape(tfl, tfl.reverse_v2(found.turns, [2]), shape_of(vectors), x) if vectors.uses else None
    return [reshape(tfl, made, shape_of(values), x), turns]


@lowers
def MatrixSolveLs(tfl, matrix, rhs, l2_regularizer, *, fast=True):
    """The turned columns' products with the right-hand sides, over the squares of their lengths and the regularizer,
    turned back. What is too short counts as 0, so that the solution is the shortest of those that are as good."""
    return _least_squares(tfl, matrix, rhs, added=float(constant_of(l2_regularizer, "l2_regularizer")) if fast else 0.0)


@in_float32
def _least_squares(tfl: Lowering, matrix: Value, rhs: Value, *, added: float) -> Value:
    rows, columns = static_dims(shape_of(matrix)[-2:], _UNKNOWN)
    wide = columns > rows
    found = _turned_matrices(tfl, swapped(tfl, matrix) if wide else matrix, True)
    wanted = reshape(tfl, rhs, (shape_of(found.columns)[0], *shape_of(rhs)[-2:]), rhs)
    lengths = tfl.expand_dims(found.lengths, 2)
    least = tfl.mul(tfl.reduce_max(lengths, [1], keep_dims=True), _RANK_LIMIT * max(rows, columns))
    short = tfl.less_equal(lengths, least)
    over = tfl.mul(tfl.mul(lengths, lengths), found.scale)
    if added:
        over = tfl.add(over, tfl.div(tfl.const(added, types.FLOAT32), found.scale))
    left, right = (found.columns, found.turns) if wide else (found.turns, found.columns)
    shares = tfl.div(tfl.batch_matmul(right, wanted, adj_x=True), select(tfl, short, 1.0, over))
    made = tfl.batch_matmul(left, select(tfl, short, 0.0, shares))
    return reshape(tfl, made, shape_of(tfl.source.result), rhs, matrix)


class _Turned(NamedTuple):
    """Matrices x [batch, m, n], m >= n, over `scale` [batch, 1, 1], whose columns are turned until they are orthogonal.

    lengths: of the columns, [batch, n], the largest first. Where they are wanted: columns [batch, m, n]; turns v
    [batch, n, n], of which x v are the columns."""

    lengths: Value
    scale: Value
    columns: Value
    turns: Value


def _turned_matrices(tfl: Lowering, x: Value, vectors: bool) -> _Turned:
    """Turn pairs of columns of x [..., m, n] until all are orthogonal: one-sided Jacobi sweeps."""
    height, count = static_dims(shape_of(x)[-2:], _UNKNOWN)
    x = reshape(tfl, x, (product(shape_of(x)[:-2]), height, count), x)
    scale = tfl.reduce_max(tfl.abs_(x), [1, 2], keep_dims=True)
    # Squares overflow, or vanish, of what is not near 1.
    scale = select(tfl, tfl.equal(scale, 0.0), 1.0, scale)
    # A column of zeros makes the number even; it stays the shortest one.
    spare = count % 2 if count > 1 else 0
    columns = tfl.pad(tfl.div(x, scale), np.array([[0, 0], [0, 0], [0, spare]], np.int32))
    turned = [columns]
    if vectors:
        none = tfl.mul(tfl.slice_(columns, [0, 0, 0], [-1, 1, -1]), 0.0)
        turned.append(tfl.add(none, np.eye(count + spare, dtype=np.float32)))
    if count > 1:
        turned = tfl.repeat(_SWEEPS * (count + spare - 1), _turned, turned)
    lengths = tfl.sqrt(tfl.sum_(tfl.mul(turned[0], turned[0]), [1]))
    wanted = scalar(count, types.INT32)
    if not vectors:
        return _Turned(tfl.topk_v2(lengths, wanted)[0], scale, columns, columns)
    ranked = lengths
    if spare:
        # The column of zeros comes behind others of no length.
        own = tfl.slice_(turned[1], [0, count, 0], [-1, -1, -1])
        ranked = tfl.sub(lengths, tfl.sum_(tfl.abs_(own), [1]))
    order = tfl.topk_v2(ranked, wanted)[1]
    columns, turns = (tfl.gather(each, order, axis=2, batch_dims=1) for each in turned)
    turns = tfl.slice_(turns, [0, 0, 0], [-1, count, -1]) if spare else turns
    return _Turned(tfl.gather(lengths, order, axis=1, batch_dims=1), scale, columns, turns)


def _values(tfl: Lowering, found: _Turned) -> Value:
    return tfl.mul(found.lengths, reshape(tfl, found.scale, (shape_of(found.lengths)[0], 1)))


def _directions(tfl: Lowering, columns: Value) -> Value:
    """Return orthogonal columns [batch, m, n] at length 1; any that fit for those of length 0."""
    count = shape_of(columns)[2]
    assert isinstance(count, int)
    q, r = reflections(tfl, columns, count)
    diagonal = tfl.sum_(tfl.mul(r, np.eye(count, dtype=np.float32)), [1], keep_dims=True)
    return tfl.mul(q, select(tfl, tfl.less(diagonal, 0.0), -1.0, tfl.add(tfl.mul(diagonal, 0.0), 1.0)))


def _turned(tfl: Builder, step: Value, x: Value, *turns: Value) -> list[Value]:
    """Turn column k with column n/2 + k, for all k, and let them change places; `turns` as x is turned."""
    left, right = tfl.split(tfl.const(2, types.INT32), x, num_splits=2)

    def products(a: Value, b: Value) -> Value:
        return tfl.sum_(tfl.mul(a, b), [1], keep_dims=True)

    def number(value: float) -> Value:
        return tfl.const(value, types.FLOAT32)

    both = products(left, right)
    slope = tfl.div(tfl.sub(products(right, right), products(left, left)), tfl.mul(both, 2.0))
    slope = tfl.minimum(tfl.maximum(slope, -_FLAT), _FLAT)
    size = tfl.add(tfl.abs_(slope), tfl.sqrt(tfl.add(tfl.mul(slope, slope), 1.0)))
    tangent = tfl.div(tfl.select_v2(tfl.less(slope, 0.0), number(-1), number(1)), size)
    tangent = tfl.select_v2(tfl.equal(both, 0.0), number(0), tangent)
    cosine = tfl.div(number(1), tfl.sqrt(tfl.add(tfl.mul(tangent, tangent), 1.0)))
    order = tfl.const(_next_round(int(shape_of(x)[2])))  # type: ignore[arg-type]

    def moved(left: Value, right: Value) -> Value:
        turned = tfl.sub(left, tfl.mul(right, tangent)), tfl.add(tfl.mul(left, tangent), right)
        columns = tfl.concatenation(*[tfl.mul(each, cosine) for each in turned], axis=2)
        return tfl.gather(columns, order, axis=2)

    halves = [(left, right), *(tfl.split(tfl.const(2, types.INT32), each, num_splits=2) for each in turns)]
    return [moved(*each) for each in halves]


def _next_round(count: int) -> np.ndarray:
    """Return which column comes to each place, where column k meets column count/2 + k: all but the first go round."""
    half = count // 2
    ring = [*range(1, half), *range(count - 1, half - 1, -1)]
    order = np.zeros(count, np.int32)
    order[ring] = ring[-1:] + ring[:-1]
    return order
