"""Shape functions of ops on ragged tensors, whose sizes depend on data."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    UnknownShape,
    agree,
    content_of,
    scalar,
    shape_of,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("RaggedTensorToTensor")
def to_tensor(
    op: Op, shape: Value, values: Value, default: Value, *partitions: Value, row_partition_types: list[str]
) -> Shapes:
    ragged = len(partitions) - (row_partition_types[0] == "FIRST_DIM_SIZE")
    given = content_of(shape)
    sizes = [dims.fresh("ragged") for _ in range(ragged + 1)]
    if given is not None and given.size > ragged:
        own = given.reshape(-1)
        sizes = [own[i] if isinstance(own[i], int) and own[i] >= 0 else size for i, size in enumerate(sizes)]
    return (*sizes, *shape_of(values)[1:])


@infers("RaggedTensorToSparse")
def to_sparse(op: Op, *splits_and_values: Value) -> Shapes:
    *splits, values = splits_and_values
    rank = len(splits) + len(shape_of(values))
    count = dims.product(shape_of(values))
    return [(count, rank), (count,), (rank,)]


@infers("RaggedRange")
def ragged_range(op: Op, *operands: Value) -> Shapes:
    rows = next((shape[0] for x in operands if len(shape := shape_of(x)) == 1), 1)
    return [(rows + 1,), (dims.fresh("ragged"),)]


@infers("RaggedGather")
def ragged_gather(op: Op, *operands: Value) -> Shapes:
    *_, values, indices = operands
    sizes, levels = shape_of(indices), len(op.results) - 1
    if not sizes:
        raise UnknownShape
    made = len(operands) - 2 + len(sizes) - 1
    agree(levels == made, f"it makes {made} levels of rows, and has results for {levels}")
    outer = [dims.product(sizes[: at + 1]) + 1 for at in range(len(sizes))][:levels]
    inner = [(dims.fresh("ragged"),) for _ in range(levels - len(outer))]
    return [*((size,) for size in outer), *inner, (dims.fresh("ragged"), *shape_of(values)[1:])]


@infers("RaggedBincount")
def ragged_bincount(op: Op, splits: Value, values: Value, size: Value, weights: Value) -> Shapes:
    return (with_rank(splits, 1)[0] - 1, scalar(size, "bins"))
