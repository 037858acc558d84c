"""Shape functions of slices, gathers and scatters."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Shape, Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.slice_spec import Insert, SliceSpec, Take
from fuseconv.tf.operands import (
    Contradiction,
    UnknownShape,
    agree,
    agree_on_indices,
    axis_held_by,
    content_of,
    dims_behind,
    extents,
    ints,
    nonnegative,
    same,
    same_shape,
    shape_of,
    sizes,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("Slice")
def slice_(op: Op, x: Value, begin: Value, size: Value) -> Shapes:
    same_shape([begin.shape, size.shape, None if x.rank is None else (x.rank,)])
    content = content_of(size)
    if content is None:
        return tuple(dims.fresh("slice") for _ in (x.shape if x.shape is not None else sizes(size)))
    starts = content_of(begin)
    result: list[Dim] = []
    for axis, taken in enumerate(content.reshape(-1)):
        agree(not isinstance(taken, int) or taken >= -1, f"it takes {taken} elements of dimension {axis}")
        if isinstance(taken, int) and taken < 0:
            # The rest of the dimension, which the op requires to begin inside it.
            start = dims.fresh("slice") if starts is None else starts.reshape(-1)[axis]
            known = x.shape is not None and starts is not None
            result.append(shape_of(x)[axis] - start if known else dims.fresh("slice"))
        else:
            result.append(taken if nonnegative(taken) else dims.fresh("slice"))
            if x.shape is not None and starts is not None:
                left = x.shape[axis] - starts.reshape(-1)[axis] - taken
                agree(not isinstance(left, int) or left >= 0, f"it takes {taken} elements beyond dimension {axis}")
    return tuple(result)


@infers("StridedSlice")
def strided_slice(
    op: Op, x: Value, begin: Value, end: Value, strides: Value, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0,
) -> Shapes:  # fmt: skip
    shape = shape_of(x)
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    spec = SliceSpec.read((_bounds(begin, end), _bounds(end, begin), _bounds(strides, begin)), masks)
    entries = spec.unfold(len(shape))
    if entries is None:
        raise Contradiction(f"it takes {len(spec.entries)} slices of a tensor of rank {len(shape)}")
    result: list[Dim] = []
    source = iter(shape)
    for entry in entries:
        if isinstance(entry, Insert):
            result.append(1)
            continue
        dim = next(source)
        if isinstance(entry, Take):
            result.append(length(dim, entry))
    return tuple(result)


@infers("StridedSliceGrad")
def strided_slice_grad(op: Op, shape: Value, begin: Value, end: Value, strides: Value, dy: Value) -> Shapes:
    _agree_on_bounds(begin, end, strides)
    return tuple(extents(shape, "whole"))


@infers("TensorStridedSliceUpdate")
def tensor_strided_slice_update(
    op: Op, x: Value, begin: Value, end: Value, strides: Value, value: Value
) -> Shapes:
    _agree_on_bounds(begin, end, strides)
    return x.shape


def _agree_on_bounds(*bounds: Value) -> None:
    """Raise Contradiction unless begin, end and strides of a slice are vectors of one length."""
    same_shape([with_rank(bound, 1) for bound in bounds])


def _bounds(value: Value, sibling: Value) -> list[Dim]:
    """Return the elements of begin, end or strides; unknown ones where only their number is known."""
    try:
        return sizes(value, "bound")
    except UnknownShape:
        return [dims.fresh("bound") for _ in sizes(sibling, "bound")]


def length(dim: Dim, take: Take) -> Dim:
    """Return how many elements of a dimension of size `dim` are taken; a fresh unknown if that depends on clamping."""
    begin, end, stride = take.begin, take.end, take.stride
    if isinstance(stride, Sym):
        return dims.fresh("slice")
    if begin is None and end is None:
        return dims.ceildiv(dim, abs(stride))
    if isinstance(dim, int) and not isinstance(begin, Sym) and not isinstance(end, Sym):
        return len(range(*slice(begin, end, stride).indices(dim)))
    if stride > 0:
        first = 0 if begin is None else _from_front(begin, dim)
        last = dim if end is None else _from_front(end, dim)
        inside = all(nonnegative(d) for d in (first, last, dim - last, last - first))
        if inside:
            return dims.ceildiv(last - first, stride)
    return dims.fresh("slice")


def _from_front(bound: Dim, dim: Dim) -> Dim:
    """Return a bound of a dimension that is surely long enough for it, counted from the front."""
    return bound + dim if isinstance(bound, int) and bound < 0 else bound


@infers("XlaDynamicUpdateSlice")
def xla_dynamic_update_slice(op: Op, x: Value, update: Value, indices: Value) -> Shapes:
    if x.shape is None:
        return None
    same(with_rank(indices, 1)[0], len(x.shape))
    for size, part in zip(x.shape, with_rank(update, len(x.shape))):
        left = size - part
        agree(not isinstance(left, int) or left >= 0, f"it writes {part} elements over {size}")
    return x.shape


@infers("XlaDynamicSlice")
def xla_dynamic_slice(op: Op, x: Value, start_indices: Value, size_indices: Value) -> Shapes:
    if x.shape is not None:
        for vector in (start_indices, size_indices):
            same(with_rank(vector, 1)[0], len(x.shape))
    return tuple(extents(size_indices))


@infers("Gather")
def gather(op: Op, params: Value, indices: Value) -> Shapes:
    made = (*shape_of(indices), *shape_of(params)[1:])
    agree_on_indices(params, indices, 0)
    return made


@infers("GatherV2")
def gather_v2(op: Op, params: Value, indices: Value, axis: Value, *, batch_dims: int = 0) -> Shapes:
    source, taken = shape_of(params), shape_of(indices)
    batch = batch_dims + len(taken) if batch_dims < 0 else batch_dims
    try:
        along = axis_held_by(axis, len(source))
    except UnknownShape:
        return tuple(dims.fresh("gather") for _ in range(len(source) + len(taken) - 1 - batch))
    if not 0 <= batch <= min(along, len(taken)):
        raise Contradiction(f"its batch_dims are {batch_dims} and its axis is {along}")
    agree_on_indices(params, indices, along)
    shared = tuple(same(a, b) for a, b in zip(source[:batch], taken[:batch]))
    return (*shared, *source[batch:along], *taken[batch:], *source[along + 1 :])


@infers("GatherNd")
def gather_nd(op: Op, params: Value, indices: Value) -> Shapes:
    source, taken = shape_of(params), shape_of(indices)
    if not taken or not isinstance(taken[-1], int):
        raise UnknownShape
    _agree_on_depth(taken[-1], len(source))
    return (*taken[:-1], *source[taken[-1] :])


def _agree_on_depth(depth: int, rank: int) -> None:
    agree(depth <= rank, f"its indices are of {depth} dimensions, and the tensor has {rank}")


@infers("ResourceGather")
def resource_gather(op: Op, handle: Value, indices: Value) -> Shapes:
    # A handle does not tell the shape of its variable.
    raise UnknownShape


@infers("ScatterNd")
def scatter_nd(op: Op, indices: Value, updates: Value, shape: Value) -> Shapes:
    made = tuple(extents(shape))
    _agree_on_updates(made, indices, updates)
    return made


@infers(
    "ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin", "TensorScatterSub",
    "TensorScatterUpdate",
)  # fmt: skip
def tensor_scatter(op: Op, x: Value, indices: Value, updates: Value) -> Shapes:
    if x.shape is not None:
        _agree_on_updates(x.shape, indices, updates)
    return x.shape


@infers("InplaceAdd", "InplaceSub", "InplaceUpdate")
def inplace(op: Op, x: Value, i: Value, v: Value) -> Shapes:
    rows = with_rank(i, 1)
    if x.shape is not None:
        agree(bool(x.shape), "it has a scalar, which has no rows")
        same_shape([v.shape, (*rows, *x.shape[1:])])
    return x.shape


def _agree_on_updates(made: Shape, indices: Value, updates: Value) -> None:
    """Raise Contradiction unless there is an update of the right shape for each index into a tensor of that shape."""
    if indices.shape and updates.shape is not None and isinstance(depth := indices.shape[-1], int):
        _agree_on_depth(depth, len(made))
        same_shape([updates.shape, (*indices.shape[:-1], *made[depth:])])


@infers("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(op: Op, *operands: Value) -> Shapes:
    indices, data = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    pairs = [(rows, places) for rows, places in zip(data, indices) if None not in (rows.shape, places.shape)]
    tail = same_shape([dims_behind(rows, places) for rows, places in pairs])
    if tail is None:
        raise UnknownShape
    try:
        largest = max(index for operand in indices for index in ints(operand))
    except (UnknownShape, ValueError):
        return (dims.fresh("stitch"), *tail)
    return (largest + 1, *tail)


@infers("DynamicPartition")
def dynamic_partition(op: Op, data: Value, partitions: Value) -> Shapes:
    return [(dims.fresh("part"), *dims_behind(data, partitions)) for _ in op.results]
