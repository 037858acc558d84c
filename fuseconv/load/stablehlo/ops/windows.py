"""Reductions of windows -> XlaReduceWindow where a pool or a cumulative sum does it, else joins of strided slices."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.folds import Windows, folded, parts
from fuseconv.load.stablehlo.ops.reductions import has_kernel, is_identity, reducers
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, ints, refuse_unless, tensor_type
from fuseconv.load.stablehlo.spelled_out import spelled_join

_COMPUTATIONS = {"add": "Add", "maximum": "Max", "minimum": "Min"}
_PAIRWISE = {"add": "AddV2", "multiply": "Mul", "maximum": "Maximum", "minimum": "Minimum"}
_CUMULATIVE = {"add": "Cumsum", "multiply": "Cumprod"}
# What XlaReduceWindow has no running maximum of.
_NOT_RUNNING = (types.UINT64,)
# x, the start, and the windows' sizes, strides, two dilations and padding.
_AMOUNTS = 5  # operands of windows of computed sizes, behind the arrays and what each starts from


@imports
def reduce_window(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """reduce_window(x, start), maximum -> XlaReduceWindow(x), a pool; else its body, of each element of a window in
    turn."""
    count, kind = len(operands) // 2, tensor_type(op.operands[0])
    if not count or len(operands) % 2:
        raise DamagedError(f"windows are reduced of {len(operands)} operands")
    windows = Windows.of(op, kind.rank)
    return _joined(tf, op.regions[0], operands[:count], operands[count:], kind.shape, windows)


def _joined(
    tf: Scope, body: Region, xs: Sequence[Value], starts: Sequence[Value], shape: tuple[int | None, ...],
    windows: Windows,
) -> list[Value]:  # fmt: skip
    kinds = reducers(body, len(xs))
    if kinds and _PAIRWISE.keys() >= {*kinds} and all(x.dtype is not types.BOOL for x in xs):
        return [_reduced(tf, *each, shape, windows) for each in zip(xs, starts, kinds)]
    named, (start, *_) = spelled_join(body), starts
    if named and start.is_const and np.all(np.asarray(start.data) == -np.inf) and _running(shape, windows):
        return [_as_windows(tf, xs[0], start, named, windows)]
    return folded(tf, body, xs, starts, shape, windows)


def _reduced(
    tf: Scope, x: Value, start: Value, joined: str, shape: tuple[int | None, ...], windows: Windows
) -> Value:
    spread, gaps, ends = windows[2:]
    neutral = start.is_const and is_identity(joined, start.data)
    touched = [axis for axis in range(len(shape)) if windows.touches(axis)]
    plain = neutral and set(spread) == set(gaps) == {1} and min(map(min, ends), default=0) >= 0
    running = _running(shape, windows)
    if neutral and running and joined in _CUMULATIVE and has_kernel(joined, x.dtype):
        axis, reverse = running
        return tf.add(_CUMULATIVE[joined], [x, tf.const(axis)], {"reverse": True} if reverse else {}, x.dtype)
    if neutral and running and joined in _COMPUTATIONS and x.dtype not in _NOT_RUNNING:
        return _as_windows(tf, x, start, _COMPUTATIONS[joined], windows)
    pools = x.dtype is types.FLOAT32 or (x.dtype is types.FLOAT64 and joined != "add")  # which may become float32
    if plain and pools and touched and joined in _COMPUTATIONS:
        for end in range(len(touched), 0, -2):  # two dimensions at a time, as an image has them
            x = _pooled(tf, x, start, _COMPUTATIONS[joined], touched[max(end - 2, 0) : end], windows)
        return x
    first, *others = parts(tf, x, start, shape, windows)
    made = functools.reduce(lambda made, part: tf.add(_PAIRWISE[joined], [made, part], {}, x.dtype), others, first)
    return made if neutral else tf.add(_PAIRWISE[joined], [made, start], {}, x.dtype)


def _running(shape: tuple[int | None, ...], windows: Windows) -> tuple[int, bool] | None:
    """Return the dimension along which windows hold all elements before each, or all behind it (True); None if they
    hold others."""
    touched = [axis for axis in range(len(shape)) if windows.touches(axis)]
    if len(touched) != 1 or {*windows.strides, *windows.spread, *windows.gaps} != {1}:
        return None
    (axis,) = touched
    size = windows.sizes[axis]
    whole = {(size - 1, 0): False, (0, size - 1): True}
    return (axis, whole[windows.ends[axis]]) if shape[axis] == size and windows.ends[axis] in whole else None


def _as_windows(tf: Scope, x: Value, start: Value, computation: str, windows: Windows) -> Value:
    *amounts, ends = windows
    padding = tf.const([list(pair) for pair in ends])
    operands = [x, start, *map(tf.ints, amounts), padding]
    return tf.add("XlaReduceWindow", operands, {"computation": computation}, x.dtype)


def dynamic_windows(tf: Scope, op: Operation, body: Region, *operands: Value) -> list[Value]:
    """reduce_window of what is padded first, if the model computes how; XlaReduceWindow with windows that it computes:
    all that is before each element, for a cumulative sum. Of several arrays, each has one."""
    count, odd = divmod(len(operands) - _AMOUNTS, 2)
    if odd or count < 1:
        raise DamagedError(f"windows of computed sizes have {len(operands)} operands")
    xs, starts, (*amounts, padding) = operands[:count], operands[count : 2 * count], operands[2 * count :]
    if all(each.is_const for each in amounts):
        kind = tensor_type(op.operands[0])
        pads = ints(np.asarray(padding.data)) if padding.is_const else [0] * 2 * kind.rank
        windows = Windows.checked([*(ints(np.asarray(each.data)) for each in amounts), pads], kind.rank)
        shape = kind.shape
        if not padding.is_const:
            refuse_unless({*windows.spread} == {1}, "what is padded by computed amounts has gaps between its elements")
            xs = tuple(tf.PadV2(x, tf.as_int32(padding), start) for x, start in zip(xs, starts))
            shape = tuple(None if windows.touches(axis) else size for axis, size in enumerate(shape))
        return _joined(tf, body, xs, starts, shape, windows)
    kinds = reducers(body, count)
    named = [(_COMPUTATIONS | {"multiply": "Mul"}).get(each, "") for each in kinds or ()]
    if not kinds and count == 1:
        named = [spelled_join(body) or ""]
    refuse_unless(
        named and all(named),
        "windows of a size that only a run tells are joined by no sum, product, maximum or minimum; export it with "
        "known sizes of these dimensions",
    )
    return [
        tf.add("XlaReduceWindow", [x, start, *amounts, padding], {"computation": each}, x.dtype)
        for x, start, each in zip(xs, starts, named)
    ]


def _pooled(tf: Scope, x: Value, start: Value, computation: str, touched: list[int], windows: Windows) -> Value:
    """Pool one dimension or two as the rows and columns of an image. Its batch are the dimensions before them, its
    channels those behind. Where none is behind, or one between, x is transposed."""
    rank, (first, *_, last) = len(windows.sizes), [touched[0], *touched]
    if rank == 4 and first >= 1 and last <= 2:
        return _as_windows(tf, x, start, computation, windows.along(touched, 4, touched))
    order = list(range(rank))
    if last == rank - 1 or last - first >= len(touched):
        others = [axis for axis in order if axis not in touched]
        order = [*others[:-1], *touched, *others[-1:]]
    moved = x if order == list(range(rank)) else tf.Transpose(x, order)
    begin = order.index(first)
    end = begin + len(touched)
    shape = tf.shape(moved)
    columns = [tf.const([1])] * (2 - len(touched))
    channels = tf.const([1])
    if end < rank:
        channels = tf.StridedSlice(shape, [end], [rank], [1])
    if end < rank - 1:
        channels = tf.Prod(channels, tf.const([0]), keep_dims=True)
    rows = tf.StridedSlice(shape, [begin], [end], [1])
    image = tf.Reshape(moved, tf.ConcatV2(tf.const([-1]), rows, *columns, channels, 0))
    made = _as_windows(tf, image, start, computation, windows.along(touched, 4, (1, 2)))
    sizes = [tf.StridedSlice(tf.shape(made), [1], [1 + len(touched)], [1])]
    if begin:
        sizes.insert(0, tf.StridedSlice(shape, [0], [begin], [1]))
    if end < rank:
        sizes.append(tf.StridedSlice(shape, [end], [rank], [1]))
    made = tf.Reshape(made, tf.ConcatV2(*sizes, 0) if len(sizes) > 1 else sizes[0])
    return made if moved is x else tf.Transpose(made, np.argsort(order).tolist())
