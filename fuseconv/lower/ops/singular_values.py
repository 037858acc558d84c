"""Singular values and eigenvalues by rotations of columns (Hestenes' one-sided form of Jacobi's method).

A step turns pairs of columns so that each pair is orthogonal. The columns then change places as teams of a tournament
do, so that n - 1 steps, a sweep, turn each with each other; as all become orthogonal, their lengths become the values.
They are right to a few parts in 1e6 of the largest one.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.matmul import swapped
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import scalar, select
from fuseconv.lower.support.type_promotion import in_float32
from fuseconv.tfl.builder import Builder

_VECTORS = (
    "vectors of matrices are defined up to their signs, or turns, of which TensorFlow's algorithm chooses some; only "
    "the values are composed"
)
_UNKNOWN = "the size of matrices whose values are computed"
# Float32 takes 6 to 8.
_SWEEPS = 12
# Beyond this cotangent of twice the angle, columns are orthogonal as far as float32 tells.
_FLAT = 1e9


@lowers
@in_float32
def Svd(tfl, x, *, compute_uv=True, full_matrices=False):
    """The lengths of columns that a WHILE turns until they are orthogonal, by TOPK_V2. The vectors are refused."""
    _require_values_only(tfl)
    rows, columns = static_dims(shape_of(x)[-2:], _UNKNOWN)
    tall = swapped(tfl, x) if columns > rows else x
    matrices = reshape(tfl, tall, (product(shape_of(x)[:-2]), *shape_of(tall)[-2:]), x)
    return [reshape(tfl, _singular_values(tfl, matrices), shape_of(tfl.source.results[0]), x), None, None]


@lowers
@in_float32
def SelfAdjointEigV2(tfl, x, *, compute_v=True):
    """The singular values of the matrix that a multiple of the unit matrix makes positive, less that. The vectors are
    refused."""
    _require_values_only(tfl)
    (size,) = static_dims(shape_of(x)[-1:], _UNKNOWN)
    matrix = reshape(tfl, x, (product(shape_of(x)[:-2]), size, size))
    # TensorFlow reads what is on the diagonal and below it.
    lower = tfl.const(np.tri(size, dtype=bool))
    whole = tfl.select_v2(lower, matrix, swapped(tfl, matrix))
    bound = tfl.reduce_max(tfl.sum_(tfl.abs_(whole), [2], keep_dims=True), [1], keep_dims=True)
    diagonal = tfl.const(np.eye(size, dtype=np.float32))
    values = _singular_values(tfl, tfl.add(whole, tfl.mul(bound, diagonal)))
    values = tfl.sub(tfl.reverse_v2(values, [1]), reshape(tfl, bound, (shape_of(matrix)[0], 1)))
    return [reshape(tfl, values, shape_of(tfl.source.results[0]), x), None]


def _require_values_only(tfl: Lowering) -> None:
    require(not any(vectors.uses for vectors in tfl.source.results[1:]), _VECTORS)


def _singular_values(tfl: Lowering, x: Value) -> Value:
    """Return the singular values [batch, n], the largest first, of matrices [batch, m, n], m >= n."""
    batch, _, count = shape_of(x)
    assert isinstance(count, int)
    largest = tfl.reduce_max(tfl.abs_(x), [1, 2], keep_dims=True)
    # Squares overflow, or vanish, of what is not near 1.
    x = tfl.div(x, select(tfl, tfl.equal(largest, 0.0), 1.0, largest))
    if count > 1:
        # A column of zeros makes the number even; it stays the shortest one.
        x = tfl.pad(x, np.array([[0, 0], [0, 0], [0, 1]], np.int32)) if count % 2 else x
        (x,) = tfl.repeat(_SWEEPS * (count + count % 2 - 1), _turned, [x])
    lengths = tfl.sqrt(tfl.sum_(tfl.mul(x, x), [1]))
    values, _ = tfl.topk_v2(tfl.mul(lengths, reshape(tfl, largest, (batch, 1))), scalar(count, types.INT32))
    return values


def _turned(tfl: Builder, step: Value, x: Value) -> list[Value]:
    """Turn column k with column n/2 + k, for all k, and let them change places."""
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
    turned = tfl.sub(left, tfl.mul(right, tangent)), tfl.add(tfl.mul(left, tangent), right)
    columns = tfl.concatenation(*[tfl.mul(each, cosine) for each in turned], axis=2)
    return [tfl.gather(columns, tfl.const(_next_round(int(shape_of(x)[2]))), axis=2)]  # type: ignore[arg-type]


def _next_round(count: int) -> np.ndarray:
    """Return which column comes to each place, where column k meets column count/2 + k: all but the first go round."""
    half = count // 2
    ring = [*range(1, half), *range(count - 1, half - 1, -1)]
    order = np.zeros(count, np.int32)
    order[ring] = ring[-1:] + ring[:-1]
    return order
