"""Poolings."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.settings import (
    channels_first,
    padding_of,
    rank_of,
    sizes,
    to_channels_first,
    to_channels_last,
)
from fuseconv.load.keras.registry import OWN, builtin


def pool(k: Call, x: Value, rank: int, maximum: bool, pool_size: Any, strides: Any, padding: str, form: Any) -> Value:
    """Take the maximum or the mean of windows of x over `rank` dimensions. strides: None for those of the windows."""
    first = channels_first(k, form)
    k.shape(x, rank + 2)
    window = sizes(k, pool_size, rank)
    steps = window if strides is None else sizes(k, strides, rank)
    x = to_channels_last(k, x) if first else x
    if rank == 1:
        made = k.tf.ExpandDims(x, 1)
        kind, window, steps = "2", [1, *window], [1, *steps]
    else:
        made, kind = x, str(rank)
    name = {"2": ("AvgPool", "MaxPool"), "3": ("AvgPool3D", "MaxPool3D")}[kind][maximum]
    attrs = {"ksize": [1, *window, 1], "strides": [1, *steps, 1], "padding": padding_of(k, padding)}
    made = k.tf.add(name, [made], attrs, x.dtype)
    if rank == 1:
        made = k.tf.Squeeze(made, squeeze_dims=[1])
    return to_channels_first(k, made) if first else made


@builtin("MaxPooling1D", "MaxPool1D", "MaxPooling2D", "MaxPool2D", "MaxPooling3D", "MaxPool3D", half=True)
def max_pooling(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                data_format: str | None = None) -> Value:  # fmt: skip
    return pool(k, x, rank_of(k), True, pool_size, strides, padding, data_format)


@builtin("AveragePooling1D", "AvgPool1D", "AveragePooling2D", "AvgPool2D", "AveragePooling3D", "AvgPool3D", half=True)
def average_pooling(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                    data_format: str | None = None) -> Value:  # fmt: skip
    return pool(k, x, rank_of(k), False, pool_size, strides, padding, data_format)


def _axes(k: Call, x: Value, data_format: Any) -> Value:
    rank = len(k.shape(x))
    return k.tf.ints(list(range(2, rank) if channels_first(k, data_format) else range(1, rank - 1)))


@builtin("GlobalAveragePooling1D", "GlobalAvgPool1D", masks=OWN, half=True)
def global_average_pooling1d(k: Call, x: Value, *, data_format: str | None = None, keepdims: bool = False) -> Value:
    tf, axes, mask = k.tf, _axes(k, x, data_format), k.given_mask(x)
    k.shape(x, 3)
    if mask is None:
        return _mean(k, x, axes, keepdims)
    if k.dtype is not types.FLOAT32:
        k.refuse(f"its input is masked, and it computes in {k.dtype}")
    wide = tf.ExpandDims(mask, 1 if channels_first(k, data_format) else 2)
    kept = tf.SelectV2(wide, x, tf.number(0, x.dtype), dtype=x.dtype)
    count = tf.Sum(tf.Cast(wide, dtype=x.dtype), axes, keep_dims=keepdims)
    return tf.RealDiv(tf.Sum(kept, axes, keep_dims=keepdims), count)


@builtin("GlobalAveragePooling2D", "GlobalAvgPool2D", "GlobalAveragePooling3D", "GlobalAvgPool3D", half=True)
def global_average_pooling(k: Call, x: Value, *, data_format: str | None = None, keepdims: bool = False) -> Value:
    k.shape(x, rank_of(k) + 2)
    return _mean(k, x, _axes(k, x, data_format), keepdims)


def _mean(k: Call, x: Value, axes: Value, keepdims: bool) -> Value:
    """Return a mean, which Keras 3 computes in 32 bits."""
    return k.computed(k.tf.Mean(k.single(x) if k.model.keras3 else x, axes, keep_dims=keepdims))


@builtin("GlobalMaxPooling1D", "GlobalMaxPool1D", "GlobalMaxPooling2D", "GlobalMaxPool2D", "GlobalMaxPooling3D",
       "GlobalMaxPool3D", half=True)  # fmt: skip
def global_max_pooling(k: Call, x: Value, *, data_format: str | None = None, keepdims: bool = False) -> Value:
    k.shape(x, rank_of(k) + 2)
    return k.tf.Max(x, _axes(k, x, data_format), keep_dims=keepdims)


def _windows(size: int, count: int) -> list[tuple[int, int]]:
    """Return the starts and ends of `count` windows that together see all of a dimension, as evenly as they can: in
    floats of 32 bits, as Keras computes them."""
    at, one = np.arange(count + 1).astype(np.float32), np.float32(count)
    edges = at * np.float32(size) / one
    starts = np.minimum(np.floor(edges[:-1]).astype(int), size - 1)
    lengths = np.minimum(np.ceil(edges[1:]).astype(int), size) - starts
    least = -(-size // count)
    return [(int(start), int(start) + least + int(n == least + 1)) for start, n in zip(starts, lengths)]


def _regular(windows: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the size of windows and the step between them; None where they differ."""
    lengths = {end - start for start, end in windows}
    steps = {after[0] - before[0] for before, after in itertools.pairwise(windows)} or {1}
    return (lengths.pop(), steps.pop()) if len(lengths) == len(steps) == 1 else None


@builtin("AdaptiveAveragePooling1D", "AdaptiveAveragePooling2D", "AdaptiveAveragePooling3D", "AdaptiveMaxPooling1D",
         "AdaptiveMaxPooling2D", "AdaptiveMaxPooling3D", half=True)  # fmt: skip
def adaptive_pooling(k: Call, x: Value, *, output_size: int | list[int], data_format: str | None = None) -> Value:
    """Pool to given sizes: by one pooling along the dimensions whose windows are regular, then along each of the
    others."""
    first, rank, maximum = channels_first(k, data_format), rank_of(k), "Max" in k.owner.class_name
    k.shape(x, rank + 2)
    x = to_channels_last(k, x) if first else x
    counts, given = sizes(k, output_size, rank), [k.known(x, at + 1) for at in range(rank)]
    if any(not 0 < count <= size for count, size in zip(counts, given)):
        k.refuse(f"output_size={output_size!r} of {given}")
    budget.require_elements((sum(counts), 8), np.dtype(np.int64), f"{k.tf.scope}/windows")
    windows = [_windows(size, count) for size, count in zip(given, counts)]
    regular = [_regular(each) for each in windows]
    if any(each not in (None, (1, 1)) for each in regular):
        found = [each or (1, 1) for each in regular]
        size, steps = [each[0] for each in found], [each[1] for each in found]
        x = pool(k, x, rank, maximum, size, steps, "valid", None)
    for at, each in enumerate(windows):
        x = x if regular[at] else _pool_irregular(k, x, rank, maximum, at, each)
    return to_channels_first(k, x) if first else x


def _pool_irregular(k: Call, x: Value, rank: int, maximum: bool, at: int, windows: list[tuple[int, int]]) -> Value:
    """Pool along a spatial dimension with all windows of each size that is there, and take those that are wanted."""
    first: dict[int, int] = {}  # where the windows of a size begin
    pooled: list[Value] = []
    count = 0
    for length in sorted({end - start for start, end in windows}):
        size = [length if axis == at else 1 for axis in range(rank)]
        pooled.append(pool(k, x, rank, maximum, size, 1, "valid", None))
        first[length], count = count, count + k.known(pooled[-1], at + 1)
    tf, axis = k.tf, k.tf.ints(at + 1)
    every = tf.ConcatV2(*pooled, axis, dtype=x.dtype) if len(pooled) > 1 else pooled[0]
    return tf.GatherV2(every, tf.ints([first[end - start] + start for start, end in windows]), axis, dtype=x.dtype)
