"""Ops that move elements: shapes, joins, paddings, blocks."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, floordiv, fresh, is_static, product
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import Index, ResultType, op
from fuseconv.tfl.range_size import float_range_size
from fuseconv.tfl.type_inference import (
    ShapeError,
    axis_of,
    broadcast,
    content,
    exactly,
    ints,
    merge,
    merged,
    require_least,
    require_most,
    require_vector,
    same,
    scalar,
    shape_of,
    sizes_of,
    unknown,
)


@op("ReshapeOptions", ranks="* 1")
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


@op("TransposeOptions", ranks="* 1")
def transpose(x: Value, perm: Index) -> ResultType:
    if x.shape is None:
        return x.dtype, None
    require_vector(perm, len(x.shape))
    order = ints(perm)
    if order is None:
        return x.dtype, unknown(len(x.shape))
    if sorted(axis_of(axis, len(x.shape)) for axis in order) != [*range(len(x.shape))]:
        raise ShapeError(f"{order} is no order of {len(x.shape)} dimensions")
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
    size = x.shape[at] if num is None else merge((x.shape[at], num))
    if not isinstance(size, int):
        raise ValueError("UNPACK along an unknown dimension needs num")
    return [(x.dtype, x.shape[:at] + x.shape[at + 1 :])] * size


@op("SplitOptions", ranks="one *")
def split(axis: Index, x: Value, *, num_splits: int = 0) -> list[ResultType]:
    """num_splits equal parts along the axis."""
    require_least(1, "a number of parts", num_splits)
    at = ints(axis)
    if x.shape is None or at is None:
        return [(x.dtype, None)] * num_splits
    index = axis_of(at[0], len(x.shape))
    part = (*x.shape[:index], exactly(x.shape[index], num_splits), *x.shape[index + 1 :])
    return [(x.dtype, part)] * num_splits


@op("SplitVOptions", ranks="* 1 one", derived={"num_splits": lambda o: len(o.results)})
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
    if sizes.count(-1) != 1:
        merge((rest, 0))
    return [
        (x.dtype, (*x.shape[:index], rest if size == -1 else size, *x.shape[index + 1 :])) for size in sizes
    ]


def padded(x: Value, paddings: Value) -> ResultType:
    """Return the shape of x with paddings [rank, 2]: how much before and after each dimension."""
    if x.shape is None:
        return x.dtype, None
    merged(paddings.shape, (len(x.shape), 2))
    amounts = content(paddings)
    if amounts is None:
        return x.dtype, unknown(len(x.shape))
    require_least(0, "a padding", *amounts)
    return x.dtype, tuple(dim + amounts[2 * i] + amounts[2 * i + 1] for i, dim in enumerate(x.shape))


@op("PadOptions")
def pad(x: Value, paddings: Index) -> ResultType:
    """Pad with zeros."""
    return padded(x, paddings)


@op("PadV2Options", ranks="* * one")
def padv2(x: Value, paddings: Index, value: Value) -> ResultType:
    return padded(x, paddings)


@op("MirrorPadOptions")
def mirror_pad(x: Value, paddings: Index, *, mode: str = "REFLECT") -> ResultType:
    result = padded(x, paddings)
    for place, amount in enumerate(content(paddings) or () if x.shape is not None else ()):
        require_most(x.shape[place // 2] - (mode == "REFLECT"), "a padding", amount)  # type: ignore[index]
    return result


@op("TileOptions", ranks="* 1")
def tile(x: Value, multiples: Index) -> ResultType:
    if x.shape is None:
        return x.dtype, None
    factors = content(multiples)
    if factors is None:
        return x.dtype, unknown(len(x.shape))
    return x.dtype, tuple(dim * factor for dim, factor in zip(x.shape, factors, strict=True))


@op("BroadcastToOptions", ranks="* 1")
def broadcast_to(x: Value, shape: Index) -> ResultType:
    sizes = sizes_of(shape)
    merged(sizes, broadcast(x.shape, sizes))
    return x.dtype, sizes


@op()
def broadcast_args(x: Value, y: Value) -> ResultType:
    """Two shapes -> the shape that they broadcast to."""
    if x.shape is None or y.shape is None:
        return x.dtype, (fresh(),)
    (a,), (b,) = x.shape, y.shape
    return x.dtype, (max(a, b) if isinstance(a, int) and isinstance(b, int) else fresh(),)


@op("RangeOptions", ranks="0 0 0")
def range_(start: Value, limit: Value, delta: Value) -> ResultType:
    if start.dtype.is_integer:
        low, high, step = scalar(start), scalar(limit), scalar(delta)
        if isinstance(low, int) and isinstance(high, int) and isinstance(step, int) and step:
            return start.dtype, (max(-((low - high) // step), 0),)
        if low is not None and high is not None and step == 1:
            return start.dtype, (high - low,)
    elif start.data is not None and limit.data is not None and delta.data is not None:
        count = float_range_size(start.data, limit.data, delta.data)
        if count is not None:
            return start.dtype, (count,)
    return start.dtype, (fresh(),)


@op("FillOptions", ranks="1 0")
def fill(dims: Index, value: Value) -> ResultType:
    return value.dtype, sizes_of(dims)


@op("ShapeOptions")
def shape(x: Value, *, out_type: str = "INT32") -> ResultType:
    return types.BY_NAME[out_type.lower()], (fresh() if x.shape is None else len(x.shape),)


@op("RankOptions")
def rank(x: Value) -> ResultType:
    return types.INT32, ()


@op("ExpandDimsOptions", ranks="* one")
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
        merge((1, *(x.shape[axis] for axis in gone)))
        return x.dtype, tuple(dim for axis, dim in enumerate(x.shape) if axis not in gone)
    if not all(isinstance(dim, int) for dim in x.shape):
        return x.dtype, None
    return x.dtype, tuple(dim for dim in x.shape if dim != 1)


@op("ReverseV2Options", ranks="* 1")
def reverse_v2(x: Value, axes: Index) -> ResultType:
    if x.shape is not None:
        require_most(len(x.shape), "a number of axes", *(axes.shape or ()))
    return same(x)


@op("ReverseSequenceOptions", ranks="* 1")
def reverse_sequence(x: Value, seq_lengths: Index, *, seq_dim: int = 0, batch_dim: int = 0) -> ResultType:
    return same(x)


@op("SpaceToBatchNDOptions", ranks="3-4 1 2")
def space_to_batch_nd(x: Value, block_shape: Index, paddings: Index) -> ResultType:
    """x [n, spatial..., rest...], block_shape [m], paddings [m, 2]
    -> [n * product of blocks, (spatial + paddings) / block..., rest...]."""
    blocks, amounts = ints(block_shape), content(paddings)
    if x.shape is None or blocks is None or amounts is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    _require_blocks(x.shape, blocks, amounts)
    spatial = tuple(
        exactly(x.shape[1 + i] + amounts[2 * i] + amounts[2 * i + 1], block) for i, block in enumerate(blocks)
    )
    return x.dtype, (x.shape[0] * product(blocks), *spatial, *x.shape[1 + len(blocks) :])


@op("BatchToSpaceNDOptions", ranks="3-4 1 2")
def batch_to_space_nd(x: Value, block_shape: Index, crops: Index) -> ResultType:
    """x [n, spatial..., rest...], block_shape [m], crops [m, 2]
    -> [n / product of blocks, spatial * block - crops..., rest...]."""
    blocks, amounts = ints(block_shape), content(crops)
    if x.shape is None or blocks is None or amounts is None:
        return x.dtype, None if x.shape is None else unknown(len(x.shape))
    _require_blocks(x.shape, blocks, amounts)
    spatial = tuple(x.shape[1 + i] * block - amounts[2 * i] - amounts[2 * i + 1] for i, block in enumerate(blocks))
    return x.dtype, (exactly(x.shape[0], product(blocks)), *spatial, *x.shape[1 + len(blocks) :])


def _require_blocks(shape: Shape, blocks: Sequence[int], amounts: Sequence[Dim]) -> None:
    """Raise ShapeError unless there are a block, and paddings or crops, for each dimension between first and last."""
    if not len(shape) - 2 == len(blocks) == len(amounts) / 2:
        raise ShapeError(f"{len(blocks)} blocks with {len(amounts)} margins in {len(shape)} dimensions")
    require_least(1, "a block", *blocks)
    require_least(0, "a margin", *amounts)


@op("SpaceToDepthOptions", ranks="4")
def space_to_depth(x: Value, *, block_size: int = 0) -> ResultType:
    """[n, h, w, c] -> [n, h / block, w / block, c * block^2]."""
    if x.shape is None:
        return x.dtype, None
    require_least(1, "a block", block_size)
    n, h, w, c = x.shape
    return x.dtype, (n, exactly(h, block_size), exactly(w, block_size), c * block_size**2)


@op("DepthToSpaceOptions", ranks="4")
def depth_to_space(x: Value, *, block_size: int = 0) -> ResultType:
    """[n, h, w, c] -> [n, h * block, w * block, c / block^2]."""
    if x.shape is None:
        return x.dtype, None
    require_least(1, "a block", block_size)
    n, h, w, c = x.shape
    return x.dtype, (n, h * block_size, w * block_size, exactly(c, block_size**2))


@op("ZerosLikeOptions")
def zeros_like(x: Value) -> ResultType:
    return same(x)


@op("MatrixDiagOptions", ranks="1+")
def matrix_diag(x: Value) -> ResultType:
    return x.dtype, None if x.shape is None else (*x.shape, x.shape[-1])


@op("MatrixSetDiagOptions", ranks="2+ 1+")
def matrix_set_diag(x: Value, diagonal: Value) -> ResultType:
    return same(x)
