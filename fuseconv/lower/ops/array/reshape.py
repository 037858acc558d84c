"""Shapes: ops that change them, tell them, or make a tensor of one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.ir.terms import operand_of
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.legalize_operands import (
    broadcast_runs,
    broadcast_to,
    build_legalized,
    check_rank,
    elementwise,
    merge_runs,
    scalar,
)
from fuseconv.lower.support.type_promotion import cast
from fuseconv.tf.traits import RESHAPES
from fuseconv.tfl.kernel_limits import RANK

# Whole numbers up to here are all float32 numbers.
_COUNTABLE = 1 << 24


@lowers
def Reshape(tfl, x, shape):
    """RESHAPE to a constant where at most one dimension is unknown, else to the shape that is computed."""
    return _reshape_to_result(tfl, x) or tfl.reshape(x, cast(tfl, shape, types.INT32))


@lowers
def Squeeze(tfl, x, *, squeeze_dims=()):
    """RESHAPE to a constant; SQUEEZE where more than one dimension is unknown."""
    dims = [int(dim) if x.shape is None else int(dim) % len(x.shape) for dim in squeeze_dims]
    return _reshape_to_result(tfl, x) or tfl.squeeze(x, squeeze_dims=tuple(dims) if dims else None)


@lowers
def ExpandDims(tfl, x, axis):
    """RESHAPE to a constant; EXPAND_DIMS where more than one dimension is unknown."""
    return _reshape_to_result(tfl, x) or tfl.expand_dims(x, cast(tfl, axis, types.INT32))


@lowers
def Shape(tfl, x, *, out_type=None):
    """SHAPE; a constant where the shape is known."""
    return _shape(tfl, x, tfl.dtype)


@lowers
def ShapeN(tfl, *inputs, out_type=None):
    """SHAPE of each; constants where the shapes are known."""
    return [_shape(tfl, x, tfl.dtype) for x in inputs]


@lowers
def Size(tfl, x, *, out_type=None):
    """REDUCE_PROD of SHAPE; a constant where the shape is known."""
    if x.is_static:
        return scalar(product(x.shape), tfl.dtype)
    return tfl.reduce_prod(_shape(tfl, x, tfl.dtype), [0])


@lowers
def Rank(tfl, x):
    """A constant; RANK where it is not known."""
    return tfl.rank(x) if x.shape is None else scalar(len(x.shape), types.INT32)


@lowers
def Fill(tfl, dims, value):
    """FILL."""
    shape = tfl.ints(tfl.shape) if tfl.source.result.is_static else cast(tfl, dims, types.INT32)
    return build_legalized(tfl, "FILL", lambda wide: tfl.fill(shape, wide), value)


@lowers
def Empty(tfl, shape, *, init=False):
    """FILL with 0, whether or not the op asks for it."""
    return Fill(tfl, shape, scalar(0, tfl.dtype))


@lowers
def Range(tfl, start, limit, delta):
    """RANGE."""
    return build_legalized(tfl, "RANGE", tfl.range, start, limit, delta)


@lowers
def LinSpace(tfl, start, stop, num):
    """start and equal steps of RANGE, then stop itself."""
    require(start.dtype.is_float, f"steps of {start.dtype} are not supported")
    (count,) = np.asarray(constant_of(num, "the number of steps")).reshape(-1)
    require(count <= _COUNTABLE, f"float32 does not count {count} steps")
    first = reshape(tfl, start, (1,))
    if count == 1:
        return first
    step = elementwise(tfl, "DIV", elementwise(tfl, "SUB", stop, start), float(count - 1))
    inner = elementwise(tfl, "MUL", tfl.const(np.arange(count - 1, dtype=step.dtype.numpy)), step)
    parts = elementwise(tfl, "ADD", inner, start), reshape(tfl, stop, (1,))
    return build_legalized(tfl, "CONCATENATION", lambda a, b: tfl.concatenation(a, b, axis=0), *parts)


@lowers
def BroadcastTo(tfl, x, shape):
    """BROADCAST_TO; of dimensions that are repeated alike as one, if there are more than it takes."""
    if x.shape is not None and x.shape == tfl.shape:
        return x
    if x.shape is not None and tfl.shape is not None and len(tfl.shape) > RANK["BROADCAST_TO"]:
        return _broadcast_runs(tfl, x, cast(tfl, shape, types.INT32))
    if tfl.source.result.is_static:
        return broadcast_to(tfl, x, tfl.shape)
    return build_legalized(tfl, "BROADCAST_TO", lambda wide: tfl.broadcast_to(wide, shape), x)


def _broadcast_runs(tfl: Lowering, x: Value, shape: Value) -> Value:
    """Broadcast x with the dimensions as one that are repeated alike; refuse what the kernel does not take then."""
    shapes = shape_of(x), shape_of(tfl.source.result)
    runs = broadcast_runs(shapes, shapes[1]) or []
    if not 0 < len(runs) <= RANK["BROADCAST_TO"]:
        check_rank("BROADCAST_TO", tfl.source.result)
    merged, made = (merge_runs(each, runs, len(shapes[1])) for each in shapes)
    narrow = reshape(tfl, x, merged, x)
    if all(isinstance(size, int) or size in merged for size in made):
        return reshape(tfl, broadcast_to(tfl, narrow, made, narrow), shapes[1], x)
    sizes = tfl.pack(*(_size_of_run(tfl, shape, run) for run in runs))
    wide = build_legalized(tfl, "BROADCAST_TO", lambda each: tfl.broadcast_to(each, sizes), narrow)
    return _reshape_to_result(tfl, wide) or tfl.reshape(wide, shape)


def _size_of_run(tfl: Lowering, shape: Value, run: Sequence[int]) -> Value:
    """Return how many elements adjacent dimensions have."""
    return tfl.reduce_prod(tfl.slice_(shape, [run[0]], [len(run)]), [0])


@lowers
def BroadcastArgs(tfl, s0, s1):
    """BROADCAST_ARGS."""
    return tfl.broadcast_args(s0, s1)


@lowers
def BroadcastGradientArgs(tfl, s0, s1):
    """WHERE the dimensions of each shape, padded to the rank of both, are 1; nothing if the shapes are equal."""
    shapes = [s if s.rank == 1 else tfl.reshape(s, [-1]) for s in (s0, s1)]
    ranks = [_shape(tfl, s, types.INT32) for s in shapes]
    rank = tfl.maximum(*ranks)
    padded = []
    for s, own in zip(shapes, ranks):
        padding = tfl.reshape(tfl.concatenation(tfl.sub(rank, own), tfl.ints([0]), axis=0), [1, 2])
        padded.append(tfl.padv2(s, padding, scalar(1, s.dtype)))
    sizes_differ = tfl.reduce_any(tfl.not_equal(*padded), [0], keep_dims=True)
    differ = tfl.logical_or(sizes_differ, tfl.not_equal(*ranks))
    axes = [tfl.where(tfl.logical_and(tfl.equal(s, 1), differ)) for s in padded]
    return [cast(tfl, tfl.reshape(at, [-1]), s0.dtype) for at in axes]


def _reshape_to_result(tfl: Lowering, x: Value) -> Value | None:
    """Return x in the op's shape, if that has at most one unknown dimension; what has the shape already, of x and what
    x was reshaped from."""
    target = tfl.shape
    for value in (x, operand_of(x, RESHAPES)):
        if target is not None and value is not None and value.shape == target:
            return value
    static = tfl.static_shape(target)
    return None if static is None else tfl.reshape(x, static)


def _shape(tfl: Lowering, x: Value, dtype: types.DType) -> Value:
    require(dtype in (types.INT32, types.INT64), f"a shape of {dtype} is not supported")
    if x.is_static:
        return tfl.const(np.array(x.shape, dtype.numpy), dtype)
    return tfl.shape_(x, out_type=dtype.name.upper())
