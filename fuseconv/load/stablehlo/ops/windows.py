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
_DYNAMIC_OPERANDS = 7


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
    window, strides, spread, gaps, ends = windows
    neutral = start.is_const and is_identity(joined, start.data)
    touched = [axis for axis in range(len(shape)) if windows.touches(axis)]
    plain = neutral and set(spread) == set(gaps) == {1}
    running = _running(shape, windows)
    if neutral and running and joined in _CUMULATIVE and has_kernel(joined, x.dtype):
        axis, reverse = running
        return tf.add(_CUMULATIVE[joined], [x, tf.const(axis)], {"reverse": True} if reverse else {}, x.dtype)
    if neutral and running and joined in _COMPUTATIONS and x.dtype not in _NOT_RUNNING:
        return _as_windows(tf, x, start, _COMPUTATIONS[joined], windows)
    negative = any(amount < 0 for pair in ends for amount in pair)
    if plain and not negative and x.dtype is types.FLOAT32 and 0 < len(touched) <= 2 and joined in _COMPUTATIONS:
        return _pooled(tf, x, start, _COMPUTATIONS[joined], touched, window, strides, ends)
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


def dynamic_windows(tf: Scope, op: Operation, body: Region, *operands: Value) -> Value:
    """reduce_window of what is padded first, if the model computes how; XlaReduceWindow with windows that it computes:
    all that is before each element, for a cumulative sum."""
    if len(operands) != _DYNAMIC_OPERANDS:
        raise DamagedError(f"windows of computed sizes have {len(operands)} operands")
    x, start, *amounts, padding = operands
    if all(each.is_const for each in amounts):
        kind = tensor_type(op.operands[0])
        pads = ints(np.asarray(padding.data)) if padding.is_const else [0] * 2 * kind.rank
        windows = Windows.checked([*(ints(np.asarray(each.data)) for each in amounts), pads], kind.rank)
        shape = kind.shape
        if not padding.is_const:
            refuse_unless({*windows.spread} == {1}, "what is padded by computed amounts has gaps between its elements")
            x = tf.PadV2(x, tf.as_int32(padding), start)
            shape = tuple(None if windows.touches(axis) else size for axis, size in enumerate(shape))
        return _joined(tf, body, [x], [start], shape, windows)[0]
    kinds = reducers(body, 1)
    named = (_COMPUTATIONS | {"multiply": "Mul"}).get(kinds[0], "") if kinds else spelled_join(body)
    refuse_unless(
        named,
        "windows of a size that only a run tells are joined by no sum, product, maximum or minimum; export it with "
        "known sizes of these dimensions",
    )
    return tf.add("XlaReduceWindow", operands, {"computation": named}, operands[0].dtype)


def _pooled(
    tf: Scope, x: Value, start: Value, computation: str, touched: list[int], window: list[int], strides: list[int],
    ends: list[tuple[int, int]],
) -> Value:  # fmt: skip
    """Pool the touched dimensions as rows and columns of an image."""
    rank = len(window)
    order = list(range(rank))
    if not (rank == 4 and set(touched) <= {1, 2}):
        others = [axis for axis in order if axis not in touched]
        order = [*others[:-1], *touched, *others[-1:]]
    moved = x if order == list(range(rank)) else tf.Transpose(x, order)
    window, strides, ends = ([values[axis] for axis in order] for values in (window, strides, ends))  # type: ignore[assignment]
    shape: Value | None = None
    others_count = rank - len(touched)
    if not (rank == 4 and set(touched) <= {1, 2}):
        moved, shape, window, strides, ends = _as_image(tf, moved, len(touched), others_count, window, strides, ends)
    made = _as_windows(tf, moved, start, computation, Windows(window, strides, [1] * 4, [1] * 4, ends))
    if shape is not None:
        made = _of_image(tf, made, shape, len(touched), others_count)
    return made if order == list(range(rank)) else tf.Transpose(made, np.argsort(order).tolist())


def _as_image(
    tf: Scope, x: Value, touched: int, others: int, window: list[int], strides: list[int], ends: list[tuple[int, int]]
) -> tuple[Value, Value, list[int], list[int], list[tuple[int, int]]]:
    """Return x [others..., touched..., last] as [N, H, W, C], and its shape before."""
    shape = tf.shape(x)
    lead = max(others - 1, 0)
    sizes = [tf.const([-1])]
    if touched == 1:
        sizes.append(tf.const([1]))
    sizes.append(tf.StridedSlice(shape, [lead], [lead + touched], [1]))
    sizes.append(tf.StridedSlice(shape, [lead + touched], [lead + touched + 1], [1]) if others else tf.const([1]))
    middle = slice(lead, lead + touched)
    ones = [1] * (2 - touched)
    return (
        tf.Reshape(x, tf.ConcatV2(*sizes, 0)), shape, [1, *ones, *window[middle], 1], [1, *ones, *strides[middle], 1],
        [(0, 0), *[(0, 0)] * (2 - touched), *ends[middle], (0, 0)],
    )  # fmt: skip


def _of_image(tf: Scope, made: Value, shape: Value, touched: int, others: int) -> Value:
    """Return a pool's result [N, H, W, C] in the dimensions that x had before."""
    lead = max(others - 1, 0)
    image = tf.shape(made)
    parts = [tf.StridedSlice(shape, [0], [lead], [1])] if lead else []
    parts.append(tf.StridedSlice(image, [3 - touched], [3], [1]))
    if others:
        parts.append(tf.StridedSlice(image, [3], [4], [1]))
    return tf.Reshape(made, tf.ConcatV2(*parts, 0) if len(parts) > 1 else parts[0])
