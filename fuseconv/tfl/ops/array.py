"""Ops that move elements: shapes, slices, joins, gathers, scatters."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, ceildiv, floordiv, fresh, is_static, product
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import UNKNOWN, Insert, SliceSpec, Take
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.type_inference import (
    ShapeError,
    axis_of,
    content,
    ints,
    merge,
    require_vector,
    same,
    scalar,
    shape_of,
    sizes_of,
    unknown,
)


@op("ReshapeOptions")
def reshape(x: Value, shape: Index | None = None, *, new_shape: tuple[int, ...] | None = None) -> ResultType:
    """Take the shape from the operand, or where there is none from the option; one -1 stands for what is left."""
    target = shape_of(shape) if shape is not None else new_shape
    if target is None:
        return x.dtype, None
    if -1 in target:
        left: Dim = fresh()
        if x.shape is not None:
            left = floordiv(product(x.shape), product(dim for dim in target if dim != -1))
        target = tuple(left if dim == -1 else dim for dim in target)
    if x.shape is not None and is_static(x.shape) and is_static(target):
        merge((product(x.shape), product(target)))
    return x.dtype, target


@op("TransposeOptions")
def transpose(x: Value, perm: Index) -> ResultType:
    if x.shape is None:
        return x.dtype, None
    order = ints(perm)
    if order is None:
        return x.dtype, unknown(len(x.shape))
    return x.dtype, tuple(x.shape[axis_of(axis, len(x.shape))] for axis in order)


@op("ConcatenationOptions")
def concatenation(*xs: Value, axis: int = 0, fused_activation_function: str = "NONE") -> ResultType:
    shapes = [x.shape for x in xs if x.shape is not None]
    if len(shapes) < len(xs):
        return xs[0].dtype, None
    at = axis_of(axis, len(shapes[0]))
    joined: Dim = 0
    for shape in shapes:
        joined = joined + shape[at]
    columns = zip(*shapes, strict=True)
    return xs[0].dtype, tuple(joined if index == at else merge(dims) for index, dims in enumerate(columns))


@op("SliceOptions")
def slice_(x: Value, begin: Index, size: Index) -> ResultType:
    """Take size elements from begin on in each dimension; a size of -1 takes all that is left."""
    if x.shape is not None:
        require_vector(begin, len(x.shape))
        require_vector(size, len(x.shape))
    sizes = content(size)
    if sizes is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    if -1 not in sizes:
        return x.dtype, tuple(sizes)
    starts = content(begin)
    if x.shape is None or starts is None:
        return x.dtype, tuple(fresh() if dim == -1 else dim for dim in sizes)
    zipped = zip(x.shape, starts, sizes, strict=True)
    return x.dtype, tuple(dim - start if size == -1 else size for dim, start, size in zipped)


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


@op("StridedSliceOptions")
def strided_slice(
    x: Value, begin: Index, end: Index, strides: Index, *, begin_mask: int = 0, end_mask: int = 0,
    ellipsis_mask: int = 0, new_axis_mask: int = 0, shrink_axis_mask: int = 0, offset: bool = False,
) -> ResultType:  # fmt: skip
    """As TensorFlow's StridedSlice; bit i of a mask speaks of element i of begin. offset: end counts from begin."""
    steps = ints(strides)
    if x.shape is None or steps is None:
        return x.dtype, None
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
    return x.dtype, (*x.shape[:at], *indices.shape[batch:], *x.shape[at + 1 :])


@op("GatherNdOptions")
def gather_nd(x: Value, indices: Index) -> ResultType:
    """x [...], indices [i..., k] -> [i..., the dimensions of x from k on]."""
    if x.shape is None or indices.shape is None or not isinstance(indices.shape[-1], int):
        return x.dtype, None
    return x.dtype, (*indices.shape[:-1], *x.shape[indices.shape[-1] :])


@op("PackOptions", derived={"values_count": lambda o: len(o.operands)})
def pack(*xs: Value, axis: int = 0, values_count: int | None = None) -> ResultType:
    """values_count need not be given: it is the number of operands."""
    shapes = [x.shape for x in xs if x.shape is not None]
    if not shapes:
        return xs[0].dtype, None
    merged = [merge(dims) for dims in zip(*shapes, strict=True)]
    merged.insert(axis_of(axis, len(merged) + 1), len(xs))
    return xs[0].dtype, tuple(merged)


@op("UnpackOptions", derived={"num": lambda o: len(o.results)})
def unpack(x: Value, *, num: int | None = None, axis: int = 0) -> list[ResultType]:
    """num need not be given if x has a known size along the axis."""
    if x.shape is None:
        if num is None:
            raise ValueError("UNPACK of an unknown shape needs num")
        return [(x.dtype, None)] * num
    at = axis_of(axis, len(x.shape))
    size = x.shape[at] if num is None else num
    if not isinstance(size, int):
        raise ValueError("UNPACK along an unknown dimension needs num")
    return [(x.dtype, x.shape[:at] + x.shape[at + 1 :])] * size


@op("SplitOptions")
def split(axis: Index, x: Value, *, num_splits: int = 0) -> list[ResultType]:
    """num_splits equal parts along the axis."""
    at = ints(axis)
    if x.shape is None or at is None:
        return [(x.dtype, None)] * num_splits
    index = axis_of(at[0], len(x.shape))
    part = (*x.shape[:index], floordiv(x.shape[index], num_splits), *x.shape[index + 1 :])
    return [(x.dtype, part)] * num_splits


@op("SplitVOptions", derived={"num_splits": lambda o: len(o.results)})
def split_v(x: Value, size_splits: Index, axis: Index, *, num_splits: int | None = None) -> list[ResultType]:
    """Parts of the sizes size_splits, one of which may be -1. num_splits is needed if their number is not known."""
    sizes = shape_of(size_splits)
    at = ints(axis)
    if sizes is None:
        if num_splits is None:
            raise ValueError("SPLIT_V into an unknown number of parts needs num_splits")
        return [(x.dtype, None)] * num_splits
    if x.shape is None or at is None:
        return [(x.dtype, None)] * len(sizes)
    index = axis_of(at[0], len(x.shape))
    rest: Dim = x.shape[index]
    for size in sizes:
        rest = rest if size == -1 else rest - size
    return [
        (x.dtype, (*x.shape[:index], rest if size == -1 else size, *x.shape[index + 1 :])) for size in sizes
    ]


def padded(x: Value, paddings: Value) -> ResultType:
    """Return the shape of x with paddings [rank, 2]: how much before and after each dimension."""
    if x.shape is None:
        return x.dtype, None
    amounts = content(paddings)
    if amounts is None:
        return x.dtype, unknown(len(x.shape))
    return x.dtype, tuple(dim + amounts[2 * i] + amounts[2 * i + 1] for i, dim in enumerate(x.shape))


@op("PadOptions")
def pad(x: Value, paddings: Index) -> ResultType:
    """Pad with zeros."""
    return padded(x, paddings)


@op("PadV2Options")
def padv2(x: Value, paddings: Index, value: Value) -> ResultType:
    return padded(x, paddings)


@op("MirrorPadOptions")
def mirror_pad(x: Value, paddings: Index, *, mode: str = "REFLECT") -> ResultType:
    return padded(x, paddings)


@op("TileOptions")
def tile(x: Value, multiples: Index) -> ResultType:
    if x.shape is None:
        return x.dtype, None
    factors = content(multiples)
    if factors is None:
        return x.dtype, unknown(len(x.shape))
    return x.dtype, tuple(dim * factor for dim, factor in zip(x.shape, factors, strict=True))


@op("BroadcastToOptions")
def broadcast_to(x: Value, shape: Index) -> ResultType:
    return x.dtype, sizes_of(shape)


@op()
def broadcast_args(x: Value, y: Value) -> ResultType:
    """Two shapes -> the shape that they broadcast to."""
    if x.shape is None or y.shape is None:
        return x.dtype, (fresh(),)
    (a,), (b,) = x.shape, y.shape
    return x.dtype, (max(a, b) if isinstance(a, int) and isinstance(b, int) else fresh(),)


@op("OneHotOptions")
def one_hot(indices: Index, depth: Index, on_value: Value, off_value: Value, *, axis: int = 0) -> ResultType:
    """axis -1: the new dimension is the last."""
    if indices.shape is None:
        return on_value.dtype, None
    size = scalar(depth)
    shape = list(indices.shape)
    shape.insert(len(shape) if axis == -1 else axis, fresh() if size is None else size)
    return on_value.dtype, tuple(shape)


@op("RangeOptions")
def range_(start: Value, limit: Value, delta: Value) -> ResultType:
    if start.dtype.is_integer:
        low, high, step = scalar(start), scalar(limit), scalar(delta)
        if isinstance(low, int) and isinstance(high, int) and isinstance(step, int) and step:
            return start.dtype, (max(-((low - high) // step), 0),)
        if low is not None and high is not None and step == 1:
            return start.dtype, (high - low,)
    elif start.data is not None and limit.data is not None and delta.data is not None:
        # The kernel counts in double precision whatever the type.
        with np.errstate(all="ignore"):
            count = -((np.float64(start.data) - np.float64(limit.data)) // np.float64(delta.data))
        if np.isfinite(count):
            return start.dtype, (max(int(count), 0),)
    return start.dtype, (fresh(),)


@op("FillOptions")
def fill(dims: Index, value: Value) -> ResultType:
    return value.dtype, sizes_of(dims)


@op("ShapeOptions")
def shape(x: Value, *, out_type: str = "INT32") -> ResultType:
    return types.BY_NAME[out_type.lower()], (fresh() if x.shape is None else len(x.shape),)


@op("RankOptions")
def rank(x: Value) -> ResultType:
    return types.INT32, ()


@op("ExpandDimsOptions")
def expand_dims(x: Value, axis: Index) -> ResultType:
    if x.shape is None:
        return x.dtype, None
    at = ints(axis)
    if at is None:
        return x.dtype, unknown(len(x.shape) + 1)
    index = axis_of(at[0], len(x.shape) + 1)
    return x.dtype, (*x.shape[:index], 1, *x.shape[index:])


@op("SqueezeOptions")
def squeeze(x: Value, *, squeeze_dims: tuple[int, ...] | None = None) -> ResultType:
    """Without squeeze_dims, every dimension that is 1 when the op runs goes: known only if all sizes are."""
    if x.shape is None:
        return x.dtype, None
    if squeeze_dims:
        gone = {axis_of(axis, len(x.shape)) for axis in squeeze_dims}
        return x.dtype, tuple(dim for axis, dim in enumerate(x.shape) if axis not in gone)
    if not all(isinstance(dim, int) for dim in x.shape):
        return x.dtype, None
    return x.dtype, tuple(dim for dim in x.shape if dim != 1)


@op("ReverseV2Options")
def reverse_v2(x: Value, axes: Index) -> ResultType:
    return same(x)


@op("ReverseSequenceOptions")
def reverse_sequence(x: Value, seq_lengths: Index, *, seq_dim: int = 0, batch_dim: int = 0) -> ResultType:
    return same(x)


@op("SpaceToBatchNDOptions")
def space_to_batch_nd(x: Value, block_shape: Index, paddings: Index) -> ResultType:
    """x [n, spatial..., rest...], block_shape [m], paddings [m, 2]
    -> [n * product of blocks, (spatial + paddings) / block..., rest...]."""
    blocks, amounts = ints(block_shape), content(paddings)
    if x.shape is None or blocks is None or amounts is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    spatial = tuple(
        floordiv(x.shape[1 + i] + amounts[2 * i] + amounts[2 * i + 1], block) for i, block in enumerate(blocks)
    )
    return x.dtype, (x.shape[0] * product(blocks), *spatial, *x.shape[1 + len(blocks) :])


@op("BatchToSpaceNDOptions")
def batch_to_space_nd(x: Value, block_shape: Index, crops: Index) -> ResultType:
    """x [n, spatial..., rest...], block_shape [m], crops [m, 2]
    -> [n / product of blocks, spatial * block - crops..., rest...]."""
    blocks, amounts = ints(block_shape), content(crops)
    if x.shape is None or blocks is None or amounts is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    spatial = tuple(x.shape[1 + i] * block - amounts[2 * i] - amounts[2 * i + 1] for i, block in enumerate(blocks))
    return x.dtype, (floordiv(x.shape[0], product(blocks)), *spatial, *x.shape[1 + len(blocks) :])


@op("SpaceToDepthOptions")
def space_to_depth(x: Value, *, block_size: int = 0) -> ResultType:
    """[n, h, w, c] -> [n, h / block, w / block, c * block^2]."""
    if x.shape is None:
        return x.dtype, None
    n, h, w, c = x.shape
    return x.dtype, (n, floordiv(h, block_size), floordiv(w, block_size), c * block_size**2)


@op("DepthToSpaceOptions")
def depth_to_space(x: Value, *, block_size: int = 0) -> ResultType:
    """[n, h, w, c] -> [n, h * block, w * block, c / block^2]."""
    if x.shape is None:
        return x.dtype, None
    n, h, w, c = x.shape
    return x.dtype, (n, h * block_size, w * block_size, floordiv(c, block_size**2))


@op("ZerosLikeOptions")
def zeros_like(x: Value) -> ResultType:
    return same(x)


@op("UniqueOptions")
def unique(x: Value, *, idx_out_type: str = "INT32") -> list[ResultType]:
    """x [n] -> its distinct elements, and for each element of x which of these it is."""
    return [(x.dtype, (fresh(),)), (types.BY_NAME[idx_out_type.lower()], x.shape)]


@op("ScatterNdOptions")
def scatter_nd(indices: Index, updates: Value, shape: Index) -> ResultType:
    require_vector(shape)
    if indices.shape == () or updates.shape == ():
        raise ShapeError("it takes no scalars")
    return updates.dtype, sizes_of(shape)


@op("SparseToDenseOptions")
def sparse_to_dense(
    indices: Index, output_shape: Index, values: Value, default_value: Value, *, validate_indices: bool = False
) -> ResultType:
    if default_value.shape is not None:
        merge((1, product(default_value.shape)))
    return values.dtype, sizes_of(output_shape)


@op("MatrixDiagOptions")
def matrix_diag(x: Value) -> ResultType:
    return x.dtype, None if x.shape is None else (*x.shape, x.shape[-1])


@op("MatrixSetDiagOptions")
def matrix_set_diag(x: Value, diagonal: Value) -> ResultType:
    return same(x)


@op("DynamicUpdateSliceOptions")
def dynamic_update_slice(x: Value, update: Value, start_indices: Index) -> ResultType:
    return same(x)
