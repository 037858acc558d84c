"""Folders of ops that make, join, split and rearrange tensors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.ir.types import STRING
from fuseconv.tf.folders.registry import Declined, kernel, require
from fuseconv.tf.operands import Contradiction, broadcast_dim
from fuseconv.tfl.range_size import float_range_size


@kernel("Identity", "StopGradient", "Snapshot", "DebugGradientIdentity", "LoopCond")
def identity(op: Op, x: np.ndarray) -> np.ndarray:
    return x


@kernel("PreventGradient")
def prevent_gradient(op: Op, x: np.ndarray, *, message: str = "") -> np.ndarray:
    return x


@kernel("IdentityN")
def identity_n(op: Op, *operands: np.ndarray) -> list[np.ndarray]:
    return list(operands)


@kernel("CheckNumerics")
def check_numerics(op: Op, x: np.ndarray, *, message: str = "") -> np.ndarray:
    require(bool(np.all(np.isfinite(x))))
    return x


@kernel("EnsureShape")
def ensure_shape(op: Op, x: np.ndarray, *, shape: Sequence[int | None] | None = None) -> np.ndarray:
    if shape is not None:
        require(len(shape) == x.ndim and all(want in (None, -1, dim) for want, dim in zip(shape, x.shape)))
    return x


@kernel("Shape")
def shape(op: Op, x: np.ndarray) -> np.ndarray:
    return np.array(x.shape, op.result.dtype.numpy)


@kernel("ShapeN")
def shape_n(op: Op, *operands: np.ndarray) -> list[np.ndarray]:
    return [np.array(x.shape, r.dtype.numpy) for x, r in zip(operands, op.results)]


@kernel("Size")
def size(op: Op, x: np.ndarray) -> np.ndarray:
    return np.array(x.size, op.result.dtype.numpy)


@kernel("Rank")
def rank(op: Op, x: np.ndarray) -> np.ndarray:
    return np.array(x.ndim, np.int32)


@kernel("Reshape")
def reshape(op: Op, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    wanted = shape.tolist()
    require(all(isinstance(dim, int) and dim >= -1 for dim in wanted) and wanted.count(-1) <= 1)
    others = int(np.prod([dim for dim in wanted if dim != -1], dtype=np.int64))
    require(x.size == others if -1 not in wanted else others and x.size % others == 0)
    return x.reshape(wanted)


@kernel("Squeeze")
def squeeze(op: Op, x: np.ndarray, *, squeeze_dims: Sequence[int] = ()) -> np.ndarray:
    axes = tuple(squeeze_dims)
    require(all(-x.ndim <= axis < x.ndim and x.shape[axis] == 1 for axis in axes))
    kept = [dim for axis, dim in enumerate(x.shape) if axis not in {a % x.ndim for a in axes}]
    return x.reshape(kept) if axes else np.squeeze(x)


@kernel("ExpandDims")
def expand_dims(op: Op, x: np.ndarray, axis: np.ndarray) -> np.ndarray:
    require(axis.size == 1)
    index = int(axis.reshape(()))
    require(-x.ndim - 1 <= index <= x.ndim)
    return np.expand_dims(x, index)


@kernel("Transpose")
def transpose(op: Op, x: np.ndarray, perm: np.ndarray) -> np.ndarray:
    return np.transpose(x, _permutation(x, perm))


@kernel("ConjugateTranspose")
def conjugate_transpose(op: Op, x: np.ndarray, perm: np.ndarray) -> np.ndarray:
    turned = np.transpose(x, _permutation(x, perm))
    return np.conj(turned) if x.dtype.kind == "c" else turned  # which makes int8 of bools


def _permutation(x: np.ndarray, perm: np.ndarray) -> list[int]:
    order = [axis + x.ndim if axis < 0 else axis for axis in perm.tolist()]
    require(sorted(order) == list(range(x.ndim)))
    return order


def _axis(axis: np.ndarray | int, rank: int) -> int:
    along = int(axis)
    require(-rank <= along < rank)
    return along % rank


@kernel("ConcatV2")
def concat_v2(op: Op, *operands: np.ndarray) -> np.ndarray:
    *parts, axis = operands
    return np.concatenate(parts, _axis(axis, parts[0].ndim))


@kernel("Concat")
def concat(op: Op, axis: np.ndarray, *parts: np.ndarray) -> np.ndarray:
    return np.concatenate(parts, _axis(axis, parts[0].ndim))


@kernel("ConcatOffset")
def concat_offset(op: Op, axis: np.ndarray, *shapes: np.ndarray) -> list[np.ndarray]:
    require(len(shapes) == len(op.results) and len({part.shape for part in shapes}) == 1)
    along = _axis(axis, shapes[0].size)
    ends = np.cumsum([0, *[part[along] for part in shapes[:-1]]])
    made = np.zeros((len(shapes), shapes[0].size), np.result_type(*shapes))
    made[:, along] = ends
    return list(made)


@kernel("Split")
def split(op: Op, axis: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    along = _axis(axis, x.ndim)
    require(x.shape[along] % len(op.results) == 0)
    return np.split(x, len(op.results), along)


@kernel("SplitV")
def split_v(op: Op, x: np.ndarray, size_splits: np.ndarray, axis: np.ndarray) -> list[np.ndarray]:
    along = _axis(axis, x.ndim)
    counts = size_splits.tolist()
    require(counts.count(-1) <= 1)
    if -1 in counts:
        counts[counts.index(-1)] = x.shape[along] - sum(counts) - 1
    require(sum(counts) == x.shape[along] and min(counts) >= 0)
    return np.split(x, np.cumsum(counts)[:-1], along)


@kernel("Pack")
def pack(op: Op, *operands: np.ndarray, axis: int = 0) -> np.ndarray:
    return np.stack(operands, _axis(axis, operands[0].ndim + 1))


@kernel("Unpack")
def unpack(op: Op, x: np.ndarray, *, axis: int = 0) -> list[np.ndarray]:
    along = _axis(axis, x.ndim)
    require(x.shape[along] == len(op.results))
    moved = np.moveaxis(x, along, 0)
    return [moved[index, ...] for index in range(len(op.results))]


def _pairs(paddings: np.ndarray, rank: int) -> list[tuple[int, int]]:
    require(paddings.shape == (rank, 2) and bool(np.all(paddings >= 0)))
    return [tuple(pair) for pair in paddings.tolist()]


@kernel("Pad")
def pad(op: Op, x: np.ndarray, paddings: np.ndarray) -> np.ndarray:
    require(op.result.dtype is not STRING)
    return np.pad(x, _pairs(paddings, x.ndim))


@kernel("PadV2")
def pad_v2(op: Op, x: np.ndarray, paddings: np.ndarray, value: np.ndarray) -> np.ndarray:
    return np.pad(x, _pairs(paddings, x.ndim), constant_values=value)


@kernel("MirrorPad")
def mirror_pad(op: Op, x: np.ndarray, paddings: np.ndarray, *, mode: str) -> np.ndarray:
    pairs = _pairs(paddings, x.ndim)
    require(all(max(pair) <= (dim - 1 if mode == "REFLECT" else dim) for pair, dim in zip(pairs, x.shape)))
    return np.pad(x, pairs, mode="reflect" if mode == "REFLECT" else "symmetric")


@kernel("Tile")
def tile(op: Op, x: np.ndarray, multiples: np.ndarray) -> np.ndarray:
    require(multiples.shape == (x.ndim,))
    return np.tile(x, multiples.tolist())


@kernel("BroadcastTo")
def broadcast_to(op: Op, x: np.ndarray, shape: np.ndarray) -> np.ndarray:
    wanted = shape.tolist()
    aligned = zip(reversed(x.shape), reversed(wanted))
    require(len(wanted) >= x.ndim and all(dim in (1, want) for dim, want in aligned))
    return np.broadcast_to(x, wanted)


@kernel("BroadcastArgs")
def broadcast_args(op: Op, s0: np.ndarray, s1: np.ndarray) -> np.ndarray:
    rank = max(s0.size, s1.size)
    padded = [[1] * (rank - s.size) + s.tolist() for s in (s0, s1)]
    try:
        return np.array([broadcast_dim(a, b) for a, b in zip(*padded)], np.result_type(s0, s1))
    except Contradiction:
        raise Declined from None


@kernel("BroadcastGradientArgs")
def broadcast_gradient_args(op: Op, s0: np.ndarray, s1: np.ndarray) -> list[np.ndarray]:
    """Return the axes that the gradient of each operand is summed over: where it is 1; none of equal shapes."""
    dtype = op.results[0].dtype.numpy
    if s0.tolist() == s1.tolist():
        return [np.zeros(0, dtype)] * 2
    rank = max(s0.size, s1.size)
    padded = [[1] * (rank - s.size) + s.tolist() for s in (s0, s1)]
    # A size that is not known may be 1.
    require(all(isinstance(size, int) for sizes in padded for size in sizes))
    require(all(a == b or 1 in (a, b) for a, b in zip(*padded)))
    return [np.array([axis for axis, size in enumerate(sizes) if size == 1], dtype) for sizes in padded]


@kernel("Fill")
def fill(op: Op, shape: np.ndarray, value: np.ndarray) -> np.ndarray:
    require(value.ndim == 0 and all(dim >= 0 for dim in shape.tolist()))
    return np.broadcast_to(value, shape.tolist())


@kernel("OneHot")
def one_hot(
    op: Op, indices: np.ndarray, depth: np.ndarray, on_value: np.ndarray, off_value: np.ndarray, *, axis: int = -1
) -> np.ndarray:
    along = _axis(axis, indices.ndim + 1)
    places = np.arange(int(depth)).reshape(-1, *(1,) * (indices.ndim - along))
    return np.where(np.expand_dims(indices, along) == places, on_value, off_value)


@kernel("Range")
def range_(op: Op, start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
    dtype = op.result.dtype.numpy
    first, last, step = start.reshape(()).item(), limit.reshape(()).item(), delta.reshape(()).item()
    require(step and np.isfinite([first, last, step]).all())
    require((last >= first) if step > 0 else (first >= last))
    if dtype.kind in "iu":
        return np.arange(first, last, step).astype(dtype)
    # TensorFlow adds up, in the type itself.
    count = float_range_size(start, limit, delta)
    require(count is not None)
    made = np.full(count, delta.reshape(()), dtype)  # type: ignore[arg-type]
    made[:1] = start.reshape(())
    return np.cumsum(made, dtype=dtype)


@kernel("LinSpace")
def lin_space(op: Op, start: np.ndarray, stop: np.ndarray, num: np.ndarray) -> np.ndarray:
    count = int(num)
    require(count > 0)
    made = np.empty(count, start.dtype)
    made[0] = start
    if count > 1:
        step = (stop - start) / start.dtype.type(count - 1)
        made[:] = start + step * np.arange(count).astype(start.dtype)
        made[-1] = stop
    return made


@kernel("ReverseV2")
def reverse_v2(op: Op, x: np.ndarray, axes: np.ndarray) -> np.ndarray:
    return np.flip(x, tuple(_axis(axis, x.ndim) for axis in axes.reshape(-1).tolist()))


@kernel("Roll")
def roll(op: Op, x: np.ndarray, shift: np.ndarray, axis: np.ndarray) -> np.ndarray:
    return np.roll(x, shift.reshape(-1).tolist(), [_axis(a, x.ndim) for a in axis.reshape(-1).tolist()])


@kernel("Bitcast")
def bitcast(op: Op, x: np.ndarray) -> np.ndarray:
    target = op.result.dtype.numpy
    require(target.kind != "b" and x.dtype.kind != "b")
    if target.itemsize < x.dtype.itemsize:
        return np.asarray(x, order="C")[..., np.newaxis].view(target)
    if target.itemsize > x.dtype.itemsize:
        require(x.ndim and x.shape[-1] * x.dtype.itemsize == target.itemsize)
        return np.ascontiguousarray(x).view(target)[..., 0]
    return x.view(target)


@kernel("SpaceToDepth")
def space_to_depth(op: Op, x: np.ndarray, *, block_size: int, data_format: str = "NHWC") -> np.ndarray:
    require(data_format == "NHWC" and x.shape[1] % block_size == 0 and x.shape[2] % block_size == 0)
    batch, height, width, depth = x.shape
    blocks = x.reshape(batch, height // block_size, block_size, width // block_size, block_size, depth)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height // block_size, width // block_size, -1)


@kernel("DepthToSpace")
def depth_to_space(op: Op, x: np.ndarray, *, block_size: int, data_format: str = "NHWC") -> np.ndarray:
    require(data_format == "NHWC" and x.shape[3] % block_size**2 == 0)
    batch, height, width, depth = x.shape
    blocks = x.reshape(batch, height, width, block_size, block_size, depth // block_size**2)
    return blocks.transpose(0, 1, 3, 2, 4, 5).reshape(batch, height * block_size, width * block_size, -1)
