"""Shape functions of ops that make, join, split and rearrange tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from fuseconv.ir import dims, types
from fuseconv.ir.dims import Dim, Shape, Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    Contradiction,
    UnknownShape,
    agree,
    axis_held_by,
    axis_in,
    content_of,
    elements,
    extents,
    ints,
    nonnegative,
    same,
    same_shape,
    scalar,
    shape_of,
    sizes,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers
from fuseconv.tfl.range_size import float_range_size


@infers("Shape")
def shape(op: Op, x: Value) -> Shapes:
    return (len(shape_of(x)),)


@infers("ShapeN")
def shape_n(op: Op, *operands: Value) -> Shapes:
    return [None if x.shape is None else (len(x.shape),) for x in operands]


@infers("Size", "Rank")
def size(op: Op, x: Value) -> Shapes:
    return ()


@infers("UnravelIndex")
def unravel_index(op: Op, indices: Value, sizes: Value) -> Shapes:
    return (*with_rank(sizes, 1), *shape_of(indices))


@infers("Reshape")
def reshape(op: Op, x: Value, shape: Value) -> Shapes:
    wanted = sizes(shape, "reshape")
    negative = [index for index, dim in enumerate(wanted) if isinstance(dim, int) and dim < 0]
    if len(negative) > 1 or (negative and wanted[negative[0]] != -1):
        raise Contradiction(f"it makes the shape {wanted}")
    if not negative:
        if x.shape is not None and dims.product(wanted) == dims.product(x.shape):
            return tuple(wanted)
        if dims.is_static(x.shape) and dims.is_static(tuple(wanted)):
            raise Contradiction(f"it makes {wanted} of {list(x.shape or ())}, which has another number of elements")
        # An element that may be -1 would be inferred; it cannot be if all sizes fit together as they are.
        return tuple(dim if nonnegative(dim) or dim in (x.shape or ()) else dims.fresh("reshape") for dim in wanted)
    (index,) = negative
    rest = dims.product(others := [*wanted[:index], *wanted[index + 1 :]])
    if x.shape is not None and rest == 0 and dims.is_static((*x.shape, *others)):
        # Sizes of 0 are left out on both sides: of [1, 4, 0], [2, 0, -1] makes [2, 0, 2].
        agree(0 in x.shape, f"it makes parts of no elements of {list(x.shape)}")
        wanted[index] = dims.floordiv(_nonzero_product(x.shape), _nonzero_product(others))
    elif x.shape is None or rest == 0:
        wanted[index] = dims.fresh("reshape")
    else:
        whole = dims.product(x.shape)
        wanted[index] = dims.floordiv(whole, rest)
        if isinstance(whole, int) and isinstance(rest, int) and whole % rest:
            raise Contradiction(f"it makes parts of {rest} elements of {whole}")
    return tuple(wanted)


def _nonzero_product(sizes: Sequence[Dim]) -> Dim:
    return dims.product([dim for dim in sizes if dim != 0])


@infers("Squeeze")
def squeeze(op: Op, x: Value, *, squeeze_dims: Sequence[int] = ()) -> Shapes:
    source = shape_of(x)
    axes = {axis_in(axis, len(source)) for axis in squeeze_dims}
    if axes:
        if any(isinstance(source[axis], int) and source[axis] != 1 for axis in axes):
            raise Contradiction(f"it drops the dimensions {sorted(axes)} of {list(source)}")
        return tuple(dim for axis, dim in enumerate(source) if axis not in axes)
    if not dims.is_static(source):
        raise UnknownShape
    return tuple(dim for dim in source if dim != 1)


@infers("ExpandDims")
def expand_dims(op: Op, x: Value, axis: Value) -> Shapes:
    source = shape_of(x)
    index = axis_held_by(axis, len(source) + 1)
    return (*source[:index], 1, *source[index:])


@infers("Transpose", "ConjugateTranspose")
def transpose(op: Op, x: Value, perm: Value) -> Shapes:
    with_rank(perm, 1)
    if content_of(perm) is None:
        count = len(x.shape) if x.shape is not None else len(sizes(perm))
        return tuple(dims.fresh() for _ in range(count))
    order = ints(perm)
    source = with_rank(x, len(order))
    if sorted([axis_in(axis, len(order)) for axis in order]) != list(range(len(order))):
        raise Contradiction(f"its perm is {order}, which is no order of dimensions")
    return tuple(source[axis] for axis in order)


@infers("Concat")
def concat(op: Op, axis: Value, *operands: Value) -> Shapes:
    return _concat(axis, operands)


@infers("ConcatV2")
def concat_v2(op: Op, *operands: Value) -> Shapes:
    return _concat(operands[-1], operands[:-1])


def _concat(axis: Value, operands: Sequence[Value]) -> Shape:
    known = [x.shape for x in operands if x.shape is not None]
    if not known:
        raise UnknownShape
    rank = len(known[0])
    if content_of(axis) is None:
        return tuple(dims.fresh("concat") for _ in range(rank))
    along = axis_held_by(axis, rank)
    merged = same_shape([(*s[:along], 0, *s[along + 1 :]) for s in known])
    assert merged is not None
    total: Dim = dims.fresh("concat") if len(known) < len(operands) else _sum(s[along] for s in known)
    return (*merged[:along], total, *merged[along + 1 :])


def _sum(terms: Iterable[Dim]) -> Dim:
    total: Dim = 0
    for term in terms:
        total = total + term
    return total


@infers("ConcatOffset")
def concat_offset(op: Op, axis: Value, *shapes: Value) -> Shapes:
    return [x.shape for x in shapes] if len(shapes) == len(op.results) else None


@infers("ParallelConcat")
def parallel_concat(op: Op, *values: Value, shape: Shape | None) -> Shapes:
    rows, *row = shape or (None,)
    if rows is None or None in row:
        raise Contradiction("it states no fixed shape")
    same(rows, len(values))
    same_shape([(1, *row), *(value.shape for value in values)])
    return shape


@infers("Split")
def split(op: Op, axis: Value, x: Value) -> Shapes:
    source, num_split = shape_of(x), len(op.results)
    if content_of(axis) is None:
        return [tuple(dims.fresh("split") for _ in source)] * num_split
    along = axis_held_by(axis, len(source))
    size = source[along]
    agree(isinstance(size, Sym) or size % num_split == 0, f"it makes {num_split} equal parts of {size} elements")
    part = dims.floordiv(size, num_split)
    return [(*source[:along], part, *source[along + 1 :])] * num_split


@infers("SplitV")
def split_v(op: Op, x: Value, size_splits: Value, axis: Value) -> Shapes:
    with_rank(size_splits, 1)
    source = shape_of(x)
    along = axis_held_by(axis, len(source))
    try:
        parts = sizes(size_splits, "split")
    except UnknownShape:
        parts = [dims.fresh("split") for _ in op.results]
    if -1 in parts:
        index = parts.index(-1)
        parts[index] = source[along] - _sum(part for i, part in enumerate(parts) if i != index)
    same(_sum(parts), source[along])
    agree(len(parts) == len(op.results), f"it has {len(op.results)} results, and {len(parts)} sizes")
    return [(*source[:along], part, *source[along + 1 :]) for part in parts]


@infers("Pack")
def pack(op: Op, *operands: Value, axis: int = 0) -> Shapes:
    source = same_shape([x.shape for x in operands])
    if source is None:
        raise UnknownShape
    along = axis_in(axis, len(source) + 1)
    return (*source[:along], len(operands), *source[along:])


@infers("Unpack")
def unpack(op: Op, x: Value, *, axis: int = 0) -> Shapes:
    source = shape_of(x)
    along = axis_in(axis, len(source))
    same(source[along], len(op.results))
    return [(*source[:along], *source[along + 1 :])] * len(op.results)


@infers("Pad", "PadV2", "MirrorPad")
def pad(op: Op, x: Value, paddings: Value, value: Value | None = None) -> Shapes:
    agree(value is None or not value.rank, "it pads with several values")
    _agree_on_pairs(paddings, x.rank)
    try:
        pairs = _pairs(paddings)
    except UnknownShape:
        return tuple(dims.fresh("pad") for _ in _ranked(x, paddings))
    source = with_rank(x, len(pairs))
    _only_sizes(pairs)
    if op.type == "MirrorPad":
        offset = 1 if op.attrs.get("mode") == "REFLECT" else 0
        for dim, largest in zip(source, (max((n for n in pair if isinstance(n, int)), default=0) for pair in pairs)):
            agree(isinstance(dim, Sym) or largest <= max(dim - offset, 0), f"it mirrors {largest} of {dim} elements")
    return tuple(dim + before + after for dim, (before, after) in zip(source, pairs))


@infers("MirrorPadGrad")
def mirror_pad_grad(op: Op, x: Value, paddings: Value) -> Shapes:
    _agree_on_pairs(paddings, x.rank)
    shape, amounts = shape_of(x), ints(paddings)
    return tuple(size - amounts[2 * axis] - amounts[2 * axis + 1] for axis, size in enumerate(shape))


@infers("Tile")
def tile(op: Op, x: Value, multiples: Value) -> Shapes:
    try:
        times = sizes(multiples)
    except UnknownShape:
        return tuple(dims.fresh("tile") for _ in _ranked(x, multiples))
    known = content_of(multiples) is not None
    return tuple(
        dim * n if known or isinstance(n, int) else dims.fresh("tile")
        for dim, n in zip(with_rank(x, len(times)), times)
    )


def _pairs(amounts: Value) -> np.ndarray:
    """Return the amounts before and after [n,2], with unknowns in rows of which not all is known; raises UnknownShape
    where not even the rows are."""
    made = amounts.op
    if content_of(amounts) is None and made is not None and made.kind == "tf.Pack" and not made.attrs.get("axis"):
        rows = [[dims.fresh("pad")] * 2 if row is None else sizes(row, "pad") for row in made.operands]
        if any(len(row) != 2 for row in rows):
            raise UnknownShape
        return np.array(rows, object).reshape(-1, 2)
    return np.array(elements(amounts), object).reshape(-1, 2)


def _agree_on_pairs(amounts: Value, count: Dim | None) -> None:
    """Raise Contradiction unless the amounts before and after are pairs, and so many if that is known."""
    if amounts.shape is not None:
        agree(len(amounts.shape) == 2, f"what it pads or crops has {len(amounts.shape)} dimensions")
        same(amounts.shape[1], 2)
        same(amounts.shape[0], amounts.shape[0] if count is None else count)


def _only_sizes(pairs: np.ndarray) -> None:
    """Raise Contradiction if padding or cropping leaves a negative size."""
    agree(all(isinstance(size, Sym) or size >= 0 for size in pairs.flat), f"it pads or crops {pairs.tolist()}")


def _ranked(x: Value, per_dimension: Value) -> Sequence:
    """Return a sequence as long as the rank of x, which may be known only from `per_dimension`, with a row for each
    dimension."""
    if x.shape is not None:
        if per_dimension.shape:
            same(per_dimension.shape[0], len(x.shape))
        return x.shape
    rows = shape_of(per_dimension)[0]
    if not isinstance(rows, int):
        raise UnknownShape
    return range(rows)


@infers("BroadcastTo")
def broadcast_to(op: Op, x: Value, shape: Value) -> Shapes:
    made = tuple(extents(shape, "broadcast"))
    if x.shape is not None:
        agree(len(x.shape) <= len(made), f"it broadcasts {len(x.shape)} dimensions to {len(made)}")
        for dim, to in zip(x.shape[::-1], made[::-1]):
            fits = isinstance(dim, Sym) or isinstance(to, Sym) or dim in (1, to)
            agree(fits, f"it broadcasts {dim} elements to {to}")
    return made


@infers("BroadcastArgs")
def broadcast_args(op: Op, s0: Value, s1: Value) -> Shapes:
    lengths = [shape_of(s)[0] for s in (s0, s1)]
    if s0.data is not None and s1.data is not None:
        for a, b in zip(s0.data[::-1], s1.data[::-1]):
            agree(a == b or a == 1 or b == 1, f"its shapes {s0.data.tolist()} and {s1.data.tolist()} do not broadcast")
    if not all(isinstance(n, int) for n in lengths):
        return (lengths[0] if lengths[0] == lengths[1] else dims.fresh(),)
    return (max(lengths),)  # type: ignore[type-var]


@infers("BroadcastGradientArgs")
def broadcast_gradient_args(op: Op, a: Value, b: Value) -> Shapes:
    return [(dims.fresh("axes"),), (dims.fresh("axes"),)]


@infers("Fill")
def fill(op: Op, shape: Value, value: Value) -> Shapes:
    return tuple(extents(shape, "fill"))


@infers("Empty")
def empty(op: Op, shape: Value) -> Shapes:
    return tuple(extents(shape, "empty"))


@infers("OneHot")
def one_hot(op: Op, indices: Value, depth: Value, on_value: Value, off_value: Value, *, axis: int = -1) -> Shapes:
    agree(all(value.rank in (None, 0) for value in (depth, on_value, off_value)), "its depth or values are no scalars")
    source = shape_of(indices)
    index = axis_in(axis, len(source) + 1)
    return (*source[:index], scalar(depth, "depth"), *source[index:])


@infers("Range")
def range_(op: Op, start: Value, limit: Value, delta: Value) -> Shapes:
    if start.dtype.is_float and all(v.is_const for v in (start, limit, delta)):
        count = float_range_size(*(v.data for v in (start, limit, delta)))  # type: ignore[arg-type]
        return (dims.fresh("range") if count is None else count,)
    a, b, by = (_whole_number(v) for v in (start, limit, delta))
    agree(by != 0, "its delta is 0")
    if a is None or b is None or by is None:
        return (dims.fresh("range"),)
    if isinstance(a, int) and isinstance(b, int) and isinstance(by, int):
        return (max(0, -((a - b) // by)),)
    if isinstance(by, int) and by > 0 and nonnegative(b - a):
        return (dims.ceildiv(b - a, by),)
    return (dims.fresh("range"),)


def _whole_number(value: Value) -> Dim | None:
    """Return the whole number that a scalar is, of a float type too: a constant, or the size of a dimension that was
    cast. What has sizes beyond 2**24, which float32 rounds, does not fit into memory as what is counted in floats."""
    if not value.dtype.is_float:
        elements = content_of(value)
        return None if elements is None else elements.reshape(-1)[0]
    if value.is_const:
        number = float(value.data.reshape(()))  # type: ignore[union-attr]
        return int(number) if number.is_integer() else None
    counted = value.op.operands[0] if value.op is not None and value.op.kind == "tf.Cast" else None
    exact = value.dtype in (types.FLOAT32, types.FLOAT64) and counted is not None and not counted.dtype.is_float
    return _whole_number(counted) if exact and counted is not None else None


@infers("LinSpace")
def lin_space(op: Op, start: Value, stop: Value, num: Value) -> Shapes:
    return (scalar(num, "num"),)


@infers("SpaceToBatchND")
def space_to_batch_nd(op: Op, x: Value, block_shape: Value, paddings: Value) -> Shapes:
    _agree_on_pairs(paddings, block_shape.shape[0] if block_shape.rank == 1 else None)  # type: ignore[index]
    return _into_batch(_pairs(paddings), list(shape_of(x)), ints(block_shape))


@infers("SpaceToBatch")
def space_to_batch(op: Op, x: Value, paddings: Value, *, block_size: int) -> Shapes:
    return _into_batch(_pairs(paddings), list(with_rank(x, 4)), [block_size] * 2)


def _into_batch(pairs: np.ndarray, shape: list[Dim], blocks: Sequence[int]) -> Shape:
    shape[0] = shape[0] * dims.product(blocks)
    _only_sizes(pairs)
    for axis, (block, (before, after)) in enumerate(zip(blocks, pairs), 1):
        padded = shape[axis] + before + after
        agree(isinstance(padded, Sym) or padded % block == 0, f"it makes blocks of {block} of {padded} elements")
        shape[axis] = dims.floordiv(padded, block)
    return tuple(shape)


@infers("BatchToSpaceND")
def batch_to_space_nd(op: Op, x: Value, block_shape: Value, crops: Value) -> Shapes:
    _agree_on_pairs(crops, block_shape.shape[0] if block_shape.rank == 1 else None)  # type: ignore[index]
    return _out_of_batch(_pairs(crops), list(shape_of(x)), ints(block_shape))


@infers("BatchToSpace")
def batch_to_space(op: Op, x: Value, crops: Value, *, block_size: int) -> Shapes:
    return _out_of_batch(_pairs(crops), list(with_rank(x, 4)), [block_size] * 2)


def _out_of_batch(pairs: np.ndarray, shape: list[Dim], blocks: Sequence[int]) -> Shape:
    _only_sizes(pairs)
    batch, made = shape[0], dims.product(blocks)
    agree(isinstance(batch, Sym) or batch % made == 0, f"it makes one of each {made} of a batch of {batch}")
    shape[0] = dims.floordiv(batch, made)
    for axis, (block, (before, after)) in enumerate(zip(blocks, pairs), 1):
        shape[axis] = shape[axis] * block - before - after
    return tuple(shape)


def _height_width(data_format: str) -> tuple[int, int, int]:
    if data_format not in ("NHWC", "NCHW"):
        raise UnknownShape
    return data_format.index("H"), data_format.index("W"), data_format.index("C")


@infers("SpaceToDepth")
def space_to_depth(op: Op, x: Value, *, block_size: int, data_format: str = "NHWC") -> Shapes:
    result = list(with_rank(x, 4))
    height, width, channel = _height_width(data_format)
    for axis in (height, width):
        size = result[axis]
        agree(isinstance(size, Sym) or size % block_size == 0, f"it makes blocks of {block_size} of {size} elements")
        result[axis] = dims.floordiv(size, block_size)
    result[channel] = result[channel] * (block_size * block_size)
    return tuple(result)


@infers("DepthToSpace")
def depth_to_space(op: Op, x: Value, *, block_size: int, data_format: str = "NHWC") -> Shapes:
    result = list(with_rank(x, 4))
    height, width, channel = _height_width(data_format)
    depth = result[channel]
    fits = isinstance(depth, Sym) or depth % (block_size * block_size) == 0
    agree(fits, f"it makes blocks of {block_size} x {block_size} of {depth} channels")
    result[height] = result[height] * block_size
    result[width] = result[width] * block_size
    result[channel] = dims.floordiv(result[channel], block_size * block_size)
    return tuple(result)


@infers("Bitcast")
def bitcast(op: Op, x: Value) -> Shapes:
    source = shape_of(x)
    old, new = x.dtype.numpy.itemsize, op.result.dtype.numpy.itemsize
    if old == new:
        return source
    if old > new:
        return (*source, old // new)
    agree(bool(source), f"it makes a {op.result.dtype} of a single {x.dtype}")
    same(source[-1], new // old)
    return source[:-1]
