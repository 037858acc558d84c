"""Ops that take, place or name elements by where they are: slices, gathers, scatters."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, ceildiv, fresh
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import UNKNOWN, Insert, SliceSpec, Take
from fuseconv.tfl.kernel_limits import LARGEST_SIZE
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.type_inference import (
    ShapeError,
    axis_of,
    content,
    ints,
    merge,
    merged,
    require_least,
    require_most,
    require_vector,
    same,
    scalar,
    sizes_of,
    unknown,
)


@op("SliceOptions")
def slice_(x: Value, begin: Index, size: Index) -> ResultType:
    """Take size elements from begin on in each dimension; a size of -1 takes all that is left."""
    if x.shape is not None:
        require_vector(begin, len(x.shape))
        require_vector(size, len(x.shape))
    sizes = content(size)
    if sizes is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    starts = content(begin)
    if x.shape is None or starts is None:
        return x.dtype, tuple(fresh() if dim == -1 else dim for dim in sizes)
    taken: list[Dim] = []
    for dim, start, length in zip(x.shape, starts, sizes, strict=True):
        taken.append(dim - start if length == -1 else length)
        require_least(0, "a begin", start)
        require_most(dim, "an end", start + taken[-1])
    return x.dtype, tuple(taken)


def sliced(dim: Dim, begin: Dim | None, end: Dim | None, stride: int) -> Dim:
    """Return the number of elements that begin:end:stride takes, as in Python; a bound of None is open."""
    if isinstance(dim, int) and (begin is None or isinstance(begin, int)) and (end is None or isinstance(end, int)):
        return len(range(*slice(begin, end, stride).indices(dim)))
    if stride < 0:
        return ceildiv(dim, -stride) if begin is None and end is None else fresh()
    start: Dim = 0 if begin is None else begin
    if isinstance(start, int) and start < 0:
        start = dim + start
    stop: Dim = dim if end is None or end == dim else end
    if isinstance(stop, int) and stop < 0:
        stop = dim + stop
    # A bound that may lie beyond the end is cut to it, so that the size is known only up to the end or back from it.
    if stop is end and not (isinstance(stop, int) and isinstance(dim, int) and stop <= dim):
        return fresh()
    length = ceildiv(stop - start, stride)
    if isinstance(length, int) and isinstance(dim, Sym):
        # Both bounds count from the end: there may be less before it, though hardly nothing at all.
        return fresh() if length > 0 and begin != -1 else max(length, 0)
    return length


@op("StridedSliceOptions", ranks="* 1 1 1")
def strided_slice(
    x: Value, begin: Index, end: Index, strides: Index, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, offset: bool = False,
) -> ResultType:  # fmt: skip
    """As TensorFlow's StridedSlice; bit i of a mask speaks of element i of begin. offset: end counts from begin."""
    merged(begin.shape, end.shape, strides.shape)
    steps = ints(strides)
    if x.shape is None or steps is None:
        return x.dtype, None
    require_least(-LARGEST_SIZE, "a stride", *steps)
    if 0 in steps:
        raise ShapeError("a stride of 0")
    starts, stops = (content(bound) or [UNKNOWN] * len(steps) for bound in (begin, end))
    masks = begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask
    entries = SliceSpec.read((starts, stops, steps), masks).unfold(len(x.shape))
    if entries is None:
        raise ShapeError(f"a slice of more than the {len(x.shape)} dimensions that there are")
    result: list[Dim] = []
    dims = iter(x.shape)
    for entry in entries:
        dim = 1 if isinstance(entry, Insert) else next(dims)
        if isinstance(entry, Take):
            low, high = (fresh() if bound is UNKNOWN else bound for bound in (entry.begin, entry.end))
            if offset and high is not None:
                high = high + (low if low is not None else 0)
            dim = sliced(dim, low, high, entry.stride)
        if isinstance(entry, (Insert, Take)):
            result.append(dim)
        elif isinstance(dim, int) and isinstance(entry.index, int) and not -dim <= entry.index < dim:
            raise ShapeError(f"it picks element {entry.index} of {dim}")
    return x.dtype, tuple(result)


@op("GatherOptions")
def gather(x: Value, indices: Index, *, axis: int = 0, batch_dims: int = 0) -> ResultType:
    """x [a..., n, b...], indices [a[:batch_dims]..., i...] -> [a..., i..., b...]."""
    if x.shape is None or indices.shape is None:
        return x.dtype, None
    at = axis_of(axis, len(x.shape))
    # LiteRT gathers what is constant as it loads a file; of other tensors it may be that nobody ever gathers.
    if x.data is not None and indices.data is not None and indices.data.size:
        least, largest = indices.data.min(), indices.data.max()
        if least < 0 or largest >= x.data.shape[at]:
            raise ShapeError(f"element {largest if least >= 0 else least} of {x.data.shape[at]}")
    batch = batch_dims + len(indices.shape) if batch_dims < 0 else batch_dims
    if not 0 <= batch <= min(at, len(indices.shape)):
        raise ShapeError(f"{batch_dims} dimensions of batches before axis {at}")
    merged(x.shape[:batch], indices.shape[:batch])
    return x.dtype, (*x.shape[:at], *indices.shape[batch:], *x.shape[at + 1 :])


@op("GatherNdOptions")
def gather_nd(x: Value, indices: Index) -> ResultType:
    """x [...], indices [i..., k] -> [i..., the dimensions of x from k on]."""
    if x.shape is None or indices.shape is None or not isinstance(indices.shape[-1], int):
        return x.dtype, None
    return x.dtype, (*indices.shape[:-1], *x.shape[indices.shape[-1] :])


@op("OneHotOptions", ranks="* one one one")
def one_hot(indices: Index, depth: Index, on_value: Value, off_value: Value, *, axis: int = 0) -> ResultType:
    """axis -1: the new dimension is the last."""
    if indices.shape is None:
        return on_value.dtype, None
    require_least(-1, "an axis", axis)
    size = scalar(depth)
    shape = list(indices.shape)
    shape.insert(len(shape) if axis == -1 else axis_of(axis, len(shape) + 1), fresh() if size is None else size)
    return on_value.dtype, tuple(shape)


@op("UniqueOptions", ranks="1")
def unique(x: Value, *, idx_out_type: str = "INT32") -> list[ResultType]:
    """x [n] -> its distinct elements, and for each element of x which of these it is."""
    return [(x.dtype, (fresh(),)), (types.BY_NAME[idx_out_type.lower()], x.shape)]


@op("ScatterNdOptions", ranks="1+ 1+ 1")
def scatter_nd(indices: Index, updates: Value, shape: Index) -> ResultType:
    """indices [i..., k], updates [i..., the dimensions of shape from k on] -> [shape]."""
    sizes = sizes_of(shape)
    if indices.shape is not None and sizes is not None and isinstance(indices.shape[-1], int):
        merged(updates.shape, (*indices.shape[:-1], *sizes[indices.shape[-1] :]))
    return updates.dtype, sizes


@op("SparseToDenseOptions", ranks="0-2 1 0-1 one")
def sparse_to_dense(
    indices: Index, output_shape: Index, values: Value, default_value: Value, *, validate_indices: bool = False
) -> ResultType:
    """indices [n, rank of the result], of a result of one dimension [n] or a scalar; values [n] or a scalar."""
    if indices.shape is not None and output_shape.shape is not None:
        merge((*output_shape.shape, indices.shape[1] if len(indices.shape) == 2 else 1))
        merge((*(indices.shape[:1] or (1,)), *(values.shape or ())))
    return values.dtype, sizes_of(output_shape)


@op("DynamicUpdateSliceOptions", ranks="* * 1")
def dynamic_update_slice(x: Value, update: Value, start_indices: Index) -> ResultType:
    if x.shape is not None:
        require_vector(start_indices, len(x.shape))
        for dim, part in zip(x.shape, x.shape if update.shape is None else update.shape, strict=True):
            require_most(dim, "a part", part)
    return same(x)
