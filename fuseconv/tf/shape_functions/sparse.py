"""Shape functions of ops on sparse tensors: indices [n, rank], values [n] and a dense shape [rank]."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    Contradiction,
    UnknownShape,
    axis_in,
    content_of,
    extents,
    ints,
    same,
    same_shape,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("SparseReorder")
def reorder(op: Op, indices: Value, values: Value, shape: Value) -> Shapes:
    return [indices.shape, values.shape]


@infers("SparseReshape")
def sparse_reshape(op: Op, indices: Value, shape: Value, new_shape: Value) -> Shapes:
    (rank,) = with_rank(new_shape, 1)
    return [(with_rank(indices, 2)[0], rank), (rank,)]


@infers("SparseFillEmptyRows")
def fill_empty_rows(op: Op, indices: Value, values: Value, shape: Value, default: Value) -> Shapes:
    (count, rank), made = with_rank(indices, 2), dims.fresh("filled")
    content = content_of(shape)
    first = dims.fresh("rows") if content is None else content[0]
    return [(made, rank), (made,), (first,), (count,)]


@infers("SparseConcat")
def sparse_concat(op: Op, *operands: Value, concat_dim: int) -> Shapes:
    count = len(operands) // 3
    places = [with_rank(value, 2) for value in operands[:count]]
    total, rank = sum((place[0] for place in places[1:]), places[0][0]), places[0][1]
    return [(total, rank), (total,), (rank,)]


@infers("SparseAdd", "SparseSlice")
def sparse_of_other_elements(op: Op, indices: Value, values: Value, shape: Value, *others: Value) -> Shapes:
    (_, rank), made = with_rank(indices, 2), dims.fresh("elements")
    return [(made, rank), (made,), (rank,)]


@infers("SparseReduceMax", "SparseReduceSum")
def sparse_reduce_sum(
    op: Op, indices: Value, values: Value, shape: Value, axes: Value, *, keep_dims: bool = False
) -> Shapes:
    sizes = extents(shape, "dense")
    _agree_on_elements(indices, values, len(sizes))
    reduced = {axis_in(axis, len(sizes)) for axis in ints(axes)}
    if keep_dims:
        return tuple(1 if at in reduced else size for at, size in enumerate(sizes))
    return tuple(size for at, size in enumerate(sizes) if at not in reduced)


@infers("SparseTensorDenseAdd")
def sparse_dense_add(op: Op, indices: Value, values: Value, shape: Value, dense: Value) -> Shapes:
    sizes = same_shape([tuple(extents(shape, "dense")), dense.shape])
    _agree_on_elements(indices, values, len(sizes or ()))
    return sizes


def _agree_on_elements(indices: Value, values: Value, rank: int) -> None:
    """Raise Contradiction unless each of the values has an index of so many dimensions."""
    same_shape([with_rank(indices, 2), (*with_rank(values, 1), rank)])


@infers("SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul", "SparseSoftmax")
def like_values(op: Op, indices: Value, values: Value, shape: Value, *dense: Value) -> Shapes:
    """The dense tensor is broadcast to the sparse one, and has no more dimensions."""
    if None not in (indices.shape, values.shape, shape.shape):
        (rank,) = with_rank(shape, 1)
        same_shape([with_rank(indices, 2), (*with_rank(values, 1), rank)])
        if isinstance(rank, int) and any(len(each.shape or ()) > rank for each in dense):
            raise Contradiction(f"its dense tensor has more than {rank} dimensions")
    return values.shape


@infers("SparseToDense")
def sparse_to_dense(op: Op, indices: Value, shape: Value, values: Value, default: Value) -> Shapes:
    if indices.shape is not None and values.shape:
        same(indices.shape[0] if indices.shape else 1, values.shape[0])
    made = tuple(extents(shape, "dense"))
    if indices.shape is not None:
        same(indices.shape[1] if len(indices.shape) == 2 else 1, len(made))
    return made


@infers("SparseTensorDenseMatMul")
def sparse_matmul(
    op: Op, indices: Value, values: Value, shape: Value, b: Value, *, adjoint_a: bool = False, adjoint_b: bool = False
) -> Shapes:
    sizes, right = extents(shape, "rows"), with_rank(b, 2)
    if len(sizes) != 2:
        raise UnknownShape
    return (sizes[1 if adjoint_a else 0], right[0 if adjoint_b else 1])
