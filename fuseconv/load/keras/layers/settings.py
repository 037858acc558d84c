"""Settings that layers of several families have: sizes along spatial dimensions, and the order of dimensions."""

from __future__ import annotations

from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call


def rank_of(k: Call) -> int:
    """Return the number of spatial dimensions that is in the name of a layer's class: 2 of Conv2D."""
    return int(next(filter(str.isdigit, k.owner.class_name)))


def sizes(k: Call, value: Any, count: int) -> list[int]:
    """Return a number, or a list of them, as `count` positive numbers."""
    listed = [value] * count if type(value) is int else value
    if len(listed) != count or not all(type(size) is int and 0 < size < 1 << 31 for size in listed):
        k.refuse(f"{value!r} is no size along {count} dimensions")
    return list(listed)


def channels_first(k: Call, data_format: Any) -> bool:
    """Return whether the channels are the second dimension. The default is channels_last, as a Keras without a
    configuration file has it."""
    if data_format not in (None, "channels_last", "channels_first"):
        k.refuse(f"data_format={data_format!r}")
    return data_format == "channels_first"


def to_channels_last(k: Call, x: Value) -> Value:
    rank = len(k.shape(x))
    return k.tf.transpose(x, [0, *range(2, rank), 1])


def to_channels_first(k: Call, x: Value) -> Value:
    rank = len(k.shape(x))
    return k.tf.transpose(x, [0, rank - 1, *range(1, rank - 1)])


def padding_of(k: Call, padding: str) -> str:
    """Return a padding in TensorFlow's spelling."""
    if padding.lower() not in ("valid", "same"):
        k.refuse(f"padding={padding!r}")
    return padding.upper()


def axes_of(k: Call, axis: Any, rank: int) -> list[int]:
    """Return one axis or several as sorted non-negative numbers."""
    listed = [axis] if type(axis) is int else list(axis)
    if not listed or not all(type(item) is int and -rank <= item < rank for item in listed):
        k.refuse(f"axis={axis!r}")
    if k.model.at_once and any(item % rank == 0 for item in listed):
        k.refuse(f"axis={axis!r} is that of the batch, in TimeDistributed")
    return sorted({item % rank for item in listed})
