"""Poolings."""

from __future__ import annotations

from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.settings import (
    channels_first,
    padding_of,
    sizes,
    to_channels_first,
    to_channels_last,
)
from fuseconv.load.keras.registry import OWN, builtin


def _pool(k: Call, x: Value, rank: int, maximum: bool, pool_size: Any, strides: Any, padding: str, form: Any) -> Value:
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


@builtin("MaxPooling1D", "MaxPool1D", half=True)
def max_pooling1d(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                  data_format: str | None = None) -> Value:  # fmt: skip
    return _pool(k, x, 1, True, pool_size, strides, padding, data_format)


@builtin("MaxPooling2D", "MaxPool2D", half=True)
def max_pooling2d(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                  data_format: str | None = None) -> Value:  # fmt: skip
    return _pool(k, x, 2, True, pool_size, strides, padding, data_format)


@builtin("MaxPooling3D", "MaxPool3D", half=True)
def max_pooling3d(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                  data_format: str | None = None) -> Value:  # fmt: skip
    return _pool(k, x, 3, True, pool_size, strides, padding, data_format)


@builtin("AveragePooling1D", "AvgPool1D", half=True)
def average_pooling1d(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                      data_format: str | None = None) -> Value:  # fmt: skip
    return _pool(k, x, 1, False, pool_size, strides, padding, data_format)


@builtin("AveragePooling2D", "AvgPool2D", half=True)
def average_pooling2d(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                      data_format: str | None = None) -> Value:  # fmt: skip
    return _pool(k, x, 2, False, pool_size, strides, padding, data_format)


@builtin("AveragePooling3D", "AvgPool3D", half=True)
def average_pooling3d(k: Call, x: Value, *, pool_size: Any = 2, strides: Any = None, padding: str = "valid",
                      data_format: str | None = None) -> Value:  # fmt: skip
    return _pool(k, x, 3, False, pool_size, strides, padding, data_format)


def _axes(k: Call, x: Value, data_format: Any) -> Value:
    rank = len(k.shape(x))
    return k.tf.ints(list(range(2, rank) if channels_first(k, data_format) else range(1, rank - 1)))


def _require_rank(k: Call, x: Value) -> None:
    k.shape(x, int(k.owner.class_name[-2]) + 2)


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
    _require_rank(k, x)
    return _mean(k, x, _axes(k, x, data_format), keepdims)


def _mean(k: Call, x: Value, axes: Value, keepdims: bool) -> Value:
    """Return a mean, which Keras 3 computes in 32 bits."""
    return k.computed(k.tf.Mean(k.single(x) if k.model.keras3 else x, axes, keep_dims=keepdims))


@builtin("GlobalMaxPooling1D", "GlobalMaxPool1D", "GlobalMaxPooling2D", "GlobalMaxPool2D", "GlobalMaxPooling3D",
       "GlobalMaxPool3D", half=True)  # fmt: skip
def global_max_pooling(k: Call, x: Value, *, data_format: str | None = None, keepdims: bool = False) -> Value:
    _require_rank(k, x)
    return k.tf.Max(x, _axes(k, x, data_format), keep_dims=keepdims)


