"""Ops that move elements: shapes, broadcasts, slices, pads, concatenations, iota, constants."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.bits import as_bits, narrowed
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import (
    Scope,
    axes,
    ints,
    number,
    refuse_unless,
    static_shape,
    tensor_type,
)


@imports("constant")
def constant_value(tf: Scope, op: Operation) -> Value:
    data, kind = op.attribute("value"), tensor_type(op.results[0])
    if not isinstance(data, np.ndarray):
        raise DamagedError(f"a constant has no elements, but {getattr(data, 'name', data)}")
    if (data.shape, data.dtype) != (kind.shape, kind.dtype.numpy):
        raise DamagedError("a constant is of another shape or type than its result")
    return tf.const(data, kind.dtype)


@imports
def iota(tf: Scope, op: Operation) -> Value:
    """The numbers 0, 1, 2, ... along a dimension, a constant."""
    shape, dtype = static_shape(op.results[0]), tensor_type(op.results[0]).dtype
    axis = number(op.attribute("iota_dimension"), len(shape))
    budget.require_elements(tuple(shape), dtype.numpy, tf.op.name)
    numbers = np.arange(shape[axis]).astype(dtype.numpy)
    lined = numbers.reshape([-1 if index == axis else 1 for index in range(len(shape))])
    return tf.const(np.ascontiguousarray(np.broadcast_to(lined, shape)), dtype)


@imports
def dynamic_iota(tf: Scope, op: Operation, shape: Value) -> Value:
    """Range(size) along a dimension, broadcast to the shape."""
    kind = tensor_type(op.results[0])
    axis = number(op.attribute("iota_dimension"), kind.rank)
    size = tf.as_int32(tf.StridedSlice(shape, [axis], [axis + 1], [1], shrink_axis_mask=1))
    numbers = tf.Range(tf.const(0), size, tf.const(1), dtype=types.INT32)
    if kind.dtype is not types.INT32:
        numbers = tf.Cast(numbers, dtype=types.INT64 if kind.dtype is types.UINT64 else kind.dtype)
    if kind.rank > 1:
        numbers = tf.BroadcastTo(_spread(tf, numbers, [axis], kind.rank), shape)
    return as_bits(tf, numbers, kind.dtype)


@imports
def reshape(tf: Scope, op: Operation, x: Value) -> Value:
    shape = static_shape(op.results[0])
    if tensor_type(op.operands[0]).shape == tuple(shape):
        return x
    return tf.Reshape(x, shape) if x.data is None else tf.const(x.data.reshape(shape), x.dtype)


@imports
def dynamic_reshape(tf: Scope, op: Operation, x: Value, shape: Value) -> Value:
    kind = tensor_type(op.results[0])
    return tf.Reshape(x, shape if kind.shape.count(None) else kind.sizes)


@imports
def transpose(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.Transpose(x, axes(op.attribute("permutation"), tensor_type(op.operands[0]).rank))


@imports
def broadcast_in_dim(tf: Scope, op: Operation, x: Value) -> Value:
    """broadcast_in_dim(x) -> BroadcastTo(Reshape(x)), with dimensions of size 1 where x has none."""
    shape, kind = static_shape(op.results[0]), tensor_type(op.operands[0])
    places = _places(op, kind.rank, len(shape))
    if kind.shape == tuple(shape) and places == sorted(places):
        return x
    if kind.is_static and math.prod(kind.sizes) == math.prod(shape):
        order = sorted(range(len(places)), key=places.__getitem__)
        return tf.Reshape(x if places == sorted(places) else tf.Transpose(x, order), shape)
    return tf.broadcast(_spread(tf, x, places, len(shape), kind.shape), shape)


@imports
def dynamic_broadcast_in_dim(tf: Scope, op: Operation, x: Value, shape: Value) -> Value:
    kind = tensor_type(op.operands[0])
    rank = tensor_type(op.results[0]).rank
    spread = _spread(tf, narrowed(tf, x), _places(op, kind.rank, rank), rank, kind.shape)
    return as_bits(tf, tf.broadcast(spread, shape), x.dtype)


@imports("broadcast")
def leading_broadcast(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.BroadcastTo(x, static_shape(op.results[0]))


@imports
def concatenate(tf: Scope, op: Operation, *operands: Value) -> Value:
    """concatenate(x, y) -> ConcatV2(x, y); amounts and sizes that are all constants are one, which tells what they are
    for."""
    made = tensor_type(op.results[0])
    axis = number(op.attribute("dimension"), made.rank)
    if len(operands) == 1:
        return operands[0]
    if made.shape == (len(operands),) and all(x.is_const for x in operands):
        return tf.const(np.concatenate([x.data for x in operands]), made.dtype)  # type: ignore[misc]
    return tf.ConcatV2(*operands, axis)


@imports
def reverse(tf: Scope, op: Operation, x: Value) -> Value:
    return tf.ReverseV2(x, axes(op.attribute("dimensions"), tensor_type(op.operands[0]).rank))


@imports("slice")
def static_slice(tf: Scope, op: Operation, x: Value) -> Value:
    bounds = [ints(op.attribute(name)) for name in ("start_indices", "limit_indices", "strides")]
    if {len(part) for part in bounds} != {tensor_type(op.operands[0]).rank} or min(bounds[2], default=1) < 1:
        raise DamagedError("a slice has bounds of another rank, or no stride")
    sizes = tensor_type(op.operands[0]).shape
    ends = {"begin_mask": 0, "end_mask": 0}
    for axis, (begin, end, size) in enumerate(zip(*bounds[:2], sizes)):
        # Open bounds, so that a dimension is known to be whole whatever its size becomes.
        ends["begin_mask"] |= int(begin == 0) << axis
        ends["end_mask"] |= int(end == size) << axis
    return tf.StridedSlice(x, *bounds, **{name: mask for name, mask in ends.items() if mask})


@imports
def real_dynamic_slice(tf: Scope, op: Operation, x: Value, start: Value, limit: Value, strides: Value) -> Value:
    return tf.StridedSlice(x, start, limit, strides)


@imports
def dynamic_slice(tf: Scope, op: Operation, x: Value, *starts: Value) -> Value:
    """XlaDynamicSlice, whose starts are one vector."""
    sizes = ints(op.attribute("slice_sizes"))
    return tf.XlaDynamicSlice(x, _packed(tf, starts), sizes) if sizes else tf.Identity(x)


@imports
def dynamic_update_slice(tf: Scope, op: Operation, x: Value, update: Value, *starts: Value) -> Value:
    return tf.XlaDynamicUpdateSlice(x, update, _packed(tf, starts)) if starts else tf.Identity(update)


@imports
def pad(tf: Scope, op: Operation, x: Value, filling: Value) -> Value:
    """PadV2; XlaPad where elements are cut off; with elements between, a pad of each and a Reshape first."""
    low, high, inner = (ints(op.attribute(f"{name}")) for name in (
        "edge_padding_low", "edge_padding_high", "interior_padding",
    ))  # fmt: skip
    return _padded_by(tf, op, x, filling, low, high, inner)


def _padded_by(
    tf: Scope, op: Operation, x: Value, filling: Value, low: list[int], high: list[int], inner: list[int]
) -> Value:
    rank = tensor_type(op.operands[0]).rank
    if not len(low) == len(high) == len(inner) == rank or min(inner, default=0) < 0:
        raise DamagedError("a pad has amounts of another rank, or less than none between elements")
    return padded(tf, x, filling, low, high, inner, list(tensor_type(op.operands[0]).shape))[0]


def padded(
    tf: Scope, x: Value, filling: Value, low: list[int], high: list[int], inner: list[int], sizes: list[int | None]
) -> tuple[Value, list[int | None]]:
    """Return x with so many elements before, after and between those of each dimension, and its new sizes.

    sizes: those of x, None where they are not known."""
    low, high = list(low), list(high)
    for axis, gap in enumerate(inner):
        size = sizes[axis]
        if not gap or size == 1:
            continue
        # What stands behind the last element (or before the first one) need not be cut off to be padded again.
        behind = bool(size) and high[axis] >= gap
        before = bool(size) and not behind and low[axis] >= gap
        high[axis] -= gap * behind
        low[axis] -= gap * before
        cut = not (behind or before)
        x = _with_gaps(tf, x, filling, axis, gap, sizes, before, cut)
        longer = None if size is None else max(size * (gap + 1) - gap * cut, 0)
        sizes = [*sizes[:axis], longer, *sizes[axis + 1 :]]
    made = [None if size is None else size + sum(ends) for size, ends in zip(sizes, zip(low, high))]
    if min([*low, *high], default=0) < 0:
        return tf.XlaPad(x, filling, low, high, [0] * len(sizes)), made
    if not any([*low, *high]):
        return tf.Identity(x), made
    return tf.PadV2(x, tf.const([list(ends) for ends in zip(low, high)]), filling), made


@imports
def dynamic_pad(tf: Scope, op: Operation, x: Value, filling: Value, low: Value, high: Value, inner: Value) -> Value:
    """pad, if all amounts are constants; else PadV2, by amounts that are not negative, of what is between them."""
    refuse_unless(inner.is_const, "amounts between elements are not known")
    gaps = ints(np.asarray(inner.data))
    if low.is_const and high.is_const:
        before, behind = (ints(np.asarray(each.data)) for each in (low, high))
        return _padded_by(tf, op, x, filling, before, behind, gaps)
    x = _padded_by(tf, op, x, filling, [0] * len(gaps), [0] * len(gaps), gaps)
    return tf.PadV2(x, tf.Pack(low, high, axis=1), filling)


@imports
def get_dimension_size(tf: Scope, op: Operation, x: Value) -> Value:
    kind = tensor_type(op.operands[0])
    axis = number(op.attribute("dimension"), kind.rank)
    size = kind.shape[axis]
    return tf.size(x, axis) if size is None else tf.const(size)


def _places(op: Operation, rank: int, made: int) -> list[int]:
    places = axes(op.attribute("broadcast_dimensions"), made)
    if len(places) != rank:
        raise DamagedError(f"a broadcast of {rank} dimensions places {len(places)}")
    return places


def _spread(
    tf: Scope, x: Value, places: Sequence[int], rank: int, shape: Sequence[int | None] = (None,)
) -> Value:
    """Return x with its dimensions at these places of `rank`, and dimensions of size 1 between and behind them.

    shape: what is known of that of x."""
    if list(places) != sorted(places):
        order = sorted(range(len(places)), key=places.__getitem__)
        x = tf.Transpose(x, order)
        shape = [shape[axis] for axis in order]
    missing = [axis for axis in range(rank) if axis not in places]
    if not missing or (missing == list(range(len(missing))) and not places):
        return x
    if None not in shape:
        sizes = dict(zip(sorted(places), shape))
        return tf.Reshape(x, [sizes.get(axis) or (0 if axis in sizes else 1) for axis in range(rank)])
    for axis in missing:
        x = tf.ExpandDims(x, axis)
    return x


def _with_gaps(
    tf: Scope, x: Value, filling: Value, axis: int, gap: int, sizes: list[int | None], before: bool, cut: bool
) -> Value:
    """Return x with so many elements behind (or before) each along an axis; cut: but the last."""
    own: Value | int = tf.size(x, axis) if sizes[axis] is None else sizes[axis]  # type: ignore[assignment]
    longer = times_longer(tf, x, axis, gap + 1, sizes)
    x = tf.ExpandDims(x, axis + 1)
    amounts = np.zeros((len(sizes) + 1, 2), np.int32)
    amounts[axis + 1, 0 if before else 1] = gap
    x = tf.Reshape(tf.PadV2(x, tf.const(amounts), filling), longer)
    if not cut:
        return x
    kept = [0] * len(sizes)
    kept[axis] = max(own * (gap + 1) - gap, 0) if isinstance(own, int) else -gap
    ends = (1 << len(kept)) - 1
    return tf.StridedSlice(x, [0] * len(kept), kept, [1] * len(kept), begin_mask=ends, end_mask=ends & ~(1 << axis))


def times_longer(tf: Scope, x: Value, axis: int, times: int, sizes: Sequence[int | None]) -> Value:
    """Return the sizes of x, that of one dimension multiplied, as a vector. sizes: None where they are not known."""
    longer: list[Value | int] = [tf.size(x, at) if size is None else size for at, size in enumerate(sizes)]
    if sizes.count(None) == 1 and sizes[axis] is not None and 0 not in sizes:
        longer[sizes.index(None)] = -1
    own = longer[axis]
    longer[axis] = own * times if isinstance(own, int) else tf.Mul(own, times)
    known = [size for size in longer if isinstance(size, int)]
    return tf.ints(known) if len(known) == len(longer) else tf.Pack(*longer)


def _packed(tf: Scope, scalars: Sequence[Value]) -> Value:
    """Return scalars as one vector of int32, which they are cut to; int64 ones are first held to its range."""
    if all(value.is_const for value in scalars):
        return tf.const([int(np.clip(int(value.data), -(2**31), 2**31 - 1)) for value in scalars])  # type: ignore[arg-type]
    return tf.Pack(*[tf.as_int32(value) for value in scalars])
