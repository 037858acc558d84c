"""Matrix products."""

from __future__ import annotations

import math

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.ir.terms import operand_of
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.legalize_operands import (
    broadcast_runs,
    broadcast_to,
    elementwise,
    filled,
    merge_runs,
    scalar,
)
from fuseconv.lower.support.merged_dims import along_last, transpose
from fuseconv.lower.support.type_promotion import cast, complex_from_parts, conjugate, in_float32, promote
from fuseconv.tf.operands import broadcast
from fuseconv.tf.traits import RESHAPES
from fuseconv.tfl.kernel_limits import RANK

# BATCH_MATMUL packs its right operand in each run and computes in tiles of up to 32 columns; FULLY_CONNECTED has packed
# its weights before. For [256,256] @ [256,n], transpositions included, it takes 4.2 us instead of 17.1 where n is 4,
# 15.4 instead of 17.5 where it is 24, and 18.8 instead of 17.6 where it is 32. LiteRT's own kernel, without XNNPACK, is
# no match at all: [100,50] @ [50,400] takes it 985 us, and FULLY_CONNECTED 66. Few weights take as long either way.
_FEWEST_WEIGHTS = 256


@lowers
def MatMul(tfl, a, b, *, transpose_a=False, transpose_b=False):
    """FULLY_CONNECTED with a constant, BATCH_MATMUL of two matrices; integers but int8 are multiplied and summed."""
    return matmul(tfl, a, b, transpose_a, transpose_b)


@lowers
def SparseMatMul(tfl, a, b, *, transpose_a=False, transpose_b=False, a_is_sparse=False, b_is_sparse=False):
    """MatMul of matrices in which zeros are stored like other numbers, though there may be many."""
    return matmul(tfl, *(cast(tfl, v, types.FLOAT32) for v in (a, b)), transpose_a, transpose_b)


@lowers("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3")
def BatchMatMul(tfl, x, y, *, adj_x=False, adj_y=False):
    """FULLY_CONNECTED with a constant matrix, else BATCH_MATMUL, which makes int32 of int8; other integers are
    multiplied and summed."""
    if x.dtype.is_complex:
        x, y = (conjugate(tfl, z) if adjoint else z for z, adjoint in ((x, adj_x), (y, adj_y)))
    return matmul(tfl, x, y, adj_x, adj_y)


def matmul(tfl: Lowering, x: Value, y: Value, adj_x: bool = False, adj_y: bool = False) -> Value:
    """Return x [...,m,k] @ y [...,k,n], with leading dimensions that broadcast; adj: the last two are swapped. The
    result is of the op's type. A constant matrix y is a dense layer's, and x, if y has one column."""
    left, right = shape_of(x), shape_of(y)
    if 0 in (*left, *right):  # the kernels fail, or take it that there are no rows
        outer = broadcast(left[:-2], right[:-2])
        return filled(tfl, (*outer, left[-1 if adj_x else -2], right[-2 if adj_y else -1]), 0, tfl.dtype, x, y)
    if x.dtype is y.dtype is types.INT8 and max(len(shape_of(x)), len(shape_of(y))) <= RANK["BATCH_MATMUL"]:
        result = [(types.INT32, tfl.shape)]
        return cast(tfl, tfl.batch_matmul(x, y, adj_x=adj_x, adj_y=adj_y, results=result), tfl.dtype)
    if x.dtype.is_integer and y.dtype.is_integer:
        return _integer_matmul(tfl, x, y, adj_x, adj_y)
    if x.dtype is types.COMPLEX64:
        return _complex_matmul(tfl, x, y, adj_x, adj_y)
    x, y = (cast(tfl, v, types.FLOAT32) if v.dtype.is_integer else v for v in (x, y))
    return _float_matmul(tfl, x, y, adj_x=adj_x, adj_y=adj_y)[0]


def dense(tfl: Lowering, x: Value, weights: Value) -> Value:
    """Multiply x [...,k] with the transpose of `weights` [n,k] -> [...,n]."""

    def build(rows: Value) -> Value:
        return tfl.fully_connected(rows, weights, keep_num_dims=len(shape_of(rows)) > 2)

    return along_last(tfl, "FULLY_CONNECTED", x, build)


def swapped(tfl: Lowering, x: Value) -> Value:
    """Return x with its last two dimensions swapped."""
    rank = len(shape_of(x))
    return transpose(tfl, x, [*range(rank - 2), rank - 1, rank - 2])


@in_float32
def _float_matmul(tfl: Lowering, x: Value, y: Value, *, adj_x: bool, adj_y: bool) -> Value:
    return _real_matmul(tfl, x, y, adj_x, adj_y)


def _complex_matmul(tfl: Lowering, x: Value, y: Value, adj_x: bool, adj_y: bool) -> Value:
    """Return the products of the parts, added."""
    parts = [tfl.real(x), tfl.imag(x)], [tfl.real(y), tfl.imag(y)]
    (rr, ri), (ir, ii) = ([_real_matmul(tfl, a, b, adj_x, adj_y) for b in parts[1]] for a in parts[0])
    return complex_from_parts(tfl, tfl.sub(rr, ii), tfl.add(ri, ir))


def _real_matmul(tfl: Lowering, x: Value, y: Value, adj_x: bool, adj_y: bool) -> Value:
    left, right = shape_of(x), shape_of(y)
    if y.is_const and not adj_x and len(left) >= len(right) and all(dim == 1 for dim in right[:-2]):
        matrix = reshape(tfl, y, right[-2:])
        return dense(tfl, x, matrix if adj_y else swapped(tfl, matrix))
    if _is_matrix_times_column(x, y, adj_x, adj_y):
        matrix = reshape(tfl, x, left[-2:])
        rows = _reshaped(tfl, y, (*right[:-2], right[-1 if adj_y else -2]))
        made = dense(tfl, rows, swapped(tfl, matrix) if adj_x else matrix)
        # What the kernel makes of a single vector has a batch of 1.
        return reshape(tfl, made, (*right[:-2], left[-1 if adj_x else -2], 1), y)
    if _is_matrix_times_matrix(x, y, adj_x):
        made = dense(tfl, y if adj_y else swapped(tfl, y), swapped(tfl, x) if adj_x else x)
        return swapped(tfl, made)
    if max(len(left), len(right)) <= RANK["BATCH_MATMUL"]:
        return tfl.batch_matmul(x, y, adj_x=adj_x, adj_y=adj_y)
    return _merged_matmul(tfl, x, y, adj_x, adj_y)


def _is_matrix_times_column(x: Value, y: Value, adj_x: bool, adj_y: bool) -> bool:
    """Return whether a product is a dense layer's, written as W x: of a constant matrix and columns.

    A matrix that others read as it is is not written a second time to be transposed."""
    left, right = shape_of(x), shape_of(y)
    if not x.is_const or y.is_const or len(left) > len(right) or any(dim != 1 for dim in left[:-2]):
        return False
    return right[-2 if adj_y else -1] == 1 and not (adj_x and len(x.uses) > 1)


def _is_matrix_times_matrix(x: Value, y: Value, adj_x: bool) -> bool:
    """Return whether a product is that of a constant matrix, of some size, and another matrix."""
    left = shape_of(x)
    if not x.is_const or y.is_const or len(left) != 2 or len(shape_of(y)) != 2 or (adj_x and len(x.uses) > 1):
        return False
    return math.prod(left) >= _FEWEST_WEIGHTS  # type: ignore[arg-type, operator]


def _reshaped(tfl: Lowering, x: Value, shape: Shape) -> Value:
    """Reshape x; if x was reshaped from that shape, return what it was reshaped from."""
    source = operand_of(x, RESHAPES)
    return source if source is not None and source.shape == shape else reshape(tfl, x, shape)


def _merged_matmul(tfl: Lowering, x: Value, y: Value, adj_x: bool, adj_y: bool) -> Value:
    """Return the product of operands of more dimensions than BATCH_MATMUL takes: leading ones along which the same
    operand is broadcast become one; if that leaves too many, what is broadcast is written out."""
    left, right = shape_of(x), shape_of(y)
    full = broadcast(left[:-2], right[:-2])
    runs = broadcast_runs((left[:-2], right[:-2]), full)
    limit = RANK["BATCH_MATMUL"]
    why = f"operands of more than rank {limit} broadcast along sizes that are not known; give them with --input-shape"
    require(runs is not None, why)
    if len(runs) > limit - 2:  # type: ignore[arg-type]
        x, y = (broadcast_to(tfl, v, (*full, *s[-2:]), x, y) for v, s in ((x, left), (y, right)))
        runs = [list(range(len(full)))]
    shapes = [(*merge_runs(shape_of(v)[:-2], runs, len(full)), *shape_of(v)[-2:]) for v in (x, y)]  # type: ignore[arg-type]
    z = tfl.batch_matmul(*(reshape(tfl, v, s, x, y) for v, s in zip((x, y), shapes)), adj_x=adj_x, adj_y=adj_y)
    return reshape(tfl, z, [*full, *shape_of(z)[-2:]], x, y)


def _integer_matmul(tfl: Lowering, x: Value, y: Value, adj_x: bool, adj_y: bool) -> Value:
    """Return the product as TFLite has no kernel for it: every pair of elements multiplied, then summed."""
    # What is left of the sum in the wider type is what the narrower one's arithmetic leaves.
    x, y = (cast(tfl, v, promote(tfl, scalar(0, tfl.dtype), (types.INT32, types.INT64)).dtype) for v in (x, y))
    x, y = swapped(tfl, x) if adj_x else x, swapped(tfl, y) if adj_y else y
    rank = max(len(shape_of(x)), len(shape_of(y)))
    left = tfl.expand_dims(x, tfl.const(-1, types.INT32))
    right = tfl.expand_dims(y, tfl.const(-3, types.INT32))
    return cast(tfl, tfl.sum_(elementwise(tfl, "MUL", left, right), [rank - 1]), tfl.dtype)
