"""Layers that move, repeat or cut elements."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.core import sizes_of
from fuseconv.load.keras.layers.settings import channels_first, to_channels_last
from fuseconv.load.keras.registry import ANY, builtin


@builtin("Flatten", takes=ANY, half=True)
def flatten(k: Call, x: Value, *, data_format: str | None = None) -> Value:
    shape = k.shape(x)
    if channels_first(k, data_format) and len(shape) > 1:
        x = to_channels_last(k, x)
    rest = shape[1:]
    known = [dim for dim in rest if isinstance(dim, int)]
    return k.tf.reshaped(x, ["0", math.prod(known) if len(known) == len(rest) else -1])


@builtin("Reshape", takes=ANY, half=True)
def reshape(k: Call, x: Value, *, target_shape: list[int]) -> Value:
    known = [dim for dim in k.shape(x)[1:] if isinstance(dim, int)]
    target = list(target_shape)
    if any(dim < -1 for dim in target) or target.count(-1) > 1:
        k.refuse(f"target_shape={target_shape}")
    if -1 in target and len(known) == len(k.shape(x)) - 1:
        rest = math.prod(dim for dim in target if dim != -1)
        target[target.index(-1)] = math.prod(known) // rest
    return k.tf.reshaped(x, ["0", *target])


@builtin("Permute", takes=ANY, half=True)
def permute(k: Call, x: Value, *, dims: list[int]) -> Value:
    if sorted(dims) != list(range(1, len(k.shape(x)))):
        k.refuse(f"dims={dims}")
    return k.tf.Transpose(x, [0, *dims])


@builtin("RepeatVector", takes=ANY, half=True)
def repeat_vector(k: Call, x: Value, *, n: int) -> Value:
    k.shape(x, 2)
    if not 0 < n < 1 << 31:
        k.refuse(f"n={n}")
    return k.tf.Tile(k.tf.ExpandDims(x, 1), [1, n, 1])


def _pairs(k: Call, value: Any, count: int) -> list[list[int]]:
    """Return a number, one for each dimension, or one for each end, as pairs."""
    listed = [value] * count if type(value) is int else value
    pairs: list[Any] = [[item, item] if type(item) is int else item for item in listed]
    if len(pairs) != count or not all(len(p) == 2 and all(type(n) is int and 0 <= n < 1 << 31 for n in p)
                                      for p in pairs):  # fmt: skip
        k.refuse(f"{value!r} are no two numbers for each of {count} dimensions")
    return pairs


def _padded(k: Call, x: Value, padding: Any, count: int, first: bool) -> Value:
    k.shape(x, count + 2)
    pairs = _pairs(k, [padding] if count == 1 and isinstance(padding, list) else padding, count)
    every = [[0, 0], [0, 0], *pairs] if first else [[0, 0], *pairs, [0, 0]]
    return k.tf.Pad(x, k.tf.ints(every))


@builtin("ZeroPadding1D", half=True)
def zero_padding1d(k: Call, x: Value, *, padding: Any = 1, data_format: str | None = None) -> Value:
    return _padded(k, x, padding, 1, channels_first(k, data_format))


@builtin("ZeroPadding2D", half=True)
def zero_padding2d(k: Call, x: Value, *, padding: Any = 1, data_format: str | None = None) -> Value:
    return _padded(k, x, padding, 2, channels_first(k, data_format))


@builtin("ZeroPadding3D", half=True)
def zero_padding3d(k: Call, x: Value, *, padding: Any = 1, data_format: str | None = None) -> Value:
    return _padded(k, x, padding, 3, channels_first(k, data_format))


def _cropped(k: Call, x: Value, cropping: Any, count: int, first: bool) -> Value:
    """Cut elements off both ends: x[:, a:-b, ...]."""
    shape = k.shape(x, count + 2)
    pairs = _pairs(k, [cropping] if count == 1 and isinstance(cropping, list) else cropping, count)
    every = [[0, 0], [0, 0], *pairs] if first else [[0, 0], *pairs, [0, 0]]
    for (before, after), size in zip(every, shape):
        if isinstance(size, int) and before + after >= size:
            k.refuse(f"cropping={cropping!r} of {size} elements")
    begin_mask = sum(1 << at for at, (before, _) in enumerate(every) if not before)
    end_mask = sum(1 << at for at, (_, after) in enumerate(every) if not after)
    return k.tf.StridedSlice(
        x, [before for before, _ in every], [-after for _, after in every], [1] * len(every),
        begin_mask=begin_mask, end_mask=end_mask,
    )  # fmt: skip


@builtin("Cropping1D", takes=ANY, half=True)
def cropping1d(k: Call, x: Value, *, cropping: Any = 1) -> Value:
    return _cropped(k, x, cropping, 1, False)


@builtin("Cropping2D", takes=ANY, half=True)
def cropping2d(k: Call, x: Value, *, cropping: Any = 0, data_format: str | None = None) -> Value:
    return _cropped(k, x, cropping, 2, channels_first(k, data_format))


@builtin("Cropping3D", takes=ANY, half=True)
def cropping3d(k: Call, x: Value, *, cropping: Any = 1, data_format: str | None = None) -> Value:
    return _cropped(k, x, cropping, 3, channels_first(k, data_format))


# How many elements are taken one by one, from a list of them.
_MOST_TAKEN = 1 << 12


def repeated(k: Call, x: Value, count: int, axis: int) -> Value:
    """Repeat each element along an axis: [a, b] -> [a, a, b, b]."""
    if count == 1:
        return x
    rank, size = len(k.shape(x)), k.shape(x)[axis]
    if isinstance(size, int) and size * count <= _MOST_TAKEN:
        rows = k.tf.array(np.repeat(np.arange(size), count), types.INT32)
        return k.tf.GatherV2(x, rows, k.tf.ints(axis), dtype=x.dtype)
    wide = k.tf.Tile(k.tf.ExpandDims(x, axis + 1), [count if at == axis + 1 else 1 for at in range(rank + 1)])
    dims = [str(at) for at in range(rank)]
    if isinstance(size, int):
        return k.tf.Reshape(wide, sizes_of(k, x, [*dims[:axis], size * count, *dims[axis + 1 :]]))
    made = [k.tf.dim(x, at) for at in range(rank)]
    made[axis] = k.tf.Mul(made[axis], k.tf.ints(count))
    return k.tf.Reshape(wide, k.tf.Pack(*made))
