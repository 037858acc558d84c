"""Data formats and padding: TFLite's kernels take the channels last, and pad as SAME or VALID."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.ir.dims import Dim, Shape, ceildiv, fresh
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, Unsupported, require
from fuseconv.lower.support.dynamic_shapes import dim_vector, shape_of

_FIRST = ("NCW", "NCHW", "NCDHW")
_LAST = ("NWC", "NHWC", "NDHWC")


def is_channels_first(data_format: str) -> bool:
    """Return whether the channels are dimension 1. Refuses the op if the format is neither NCHW nor NHWC, or their
    kin."""
    first = data_format in _FIRST
    if not first and data_format not in _LAST:
        raise Unsupported(f"data_format={data_format} is not supported")
    return first


def channels_last(tfl: Lowering, x: Value, data_format: str) -> Value:
    """Return x with its channels in the last dimension."""
    rank = len(shape_of(x, len(data_format)))
    return tfl.transpose(x, [0, *range(2, rank), 1]) if is_channels_first(data_format) else x


def to_data_format(tfl: Lowering, y: Value, data_format: str) -> Value:
    """Return a result with channels last, in the op's data format."""
    rank = len(data_format)
    return tfl.transpose(y, [0, rank - 1, *range(1, rank - 1)]) if is_channels_first(data_format) else y


def spatial_values(values: Sequence[Any], data_format: str) -> list[Any]:
    """Return the spatial values of an attribute such as strides, which has a value for each dimension. Refuses the op
    if the others are not 1."""
    first = is_channels_first(data_format)
    outer = (values[0], values[1] if first else values[-1])
    require(outer == (1, 1), "a stride, window or dilation over batch or channels is not supported")
    return list(values[2:] if first else values[1:-1])


def same_pads(size: Dim, kernel: int, stride: int, dilation: int = 1) -> tuple[int, int] | None:
    """Return the (before, after) padding that SAME gives a dimension; None if that depends on an unknown size."""
    reach = (kernel - 1) * dilation + 1
    if stride == 1:
        total = reach - 1
    elif isinstance(size, int):
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    else:
        return None
    return total // 2, total - total // 2


def explicit_pads(values: Sequence[int], data_format: str) -> list[tuple[int, int]]:
    """Return the attribute `explicit_paddings` as (before, after) for each spatial dimension."""
    pairs = [(int(before), int(after)) for before, after in zip(values[::2], values[1::2])]
    return pairs[2:] if is_channels_first(data_format) else pairs[1:-1]


def pad(tfl: Lowering, x: Value, pads: Sequence[tuple[int, int]], value: float | None = None) -> Value:
    """Pad the spatial dimensions of x, channels last, with zeros or with `value`."""
    if not any(map(any, pads)):
        return x
    paddings = np.array([(0, 0), *pads, (0, 0)], np.int32)
    if value is None:
        return tfl.pad(x, paddings)
    return tfl.padv2(x, paddings, np.array(value, x.dtype.numpy))


def padded_same(
    tfl: Lowering, x: Value, windows: Sequence[tuple[int, int, int]], value: float | None = None
) -> Value:
    """Return x, channels last, padded as SAME pads it, by as much as its run-time sizes ask for where they are not
    known.

    windows: kernel size, stride and dilation of each spatial dimension.
    """
    sizes = shape_of(x)[1:-1]
    known = [same_pads(size, *window) for size, window in zip(sizes, windows)]
    if None not in known:
        return pad(tfl, x, known, value)  # type: ignore[arg-type]
    none = tfl.ints([0])
    amounts, dims = [none, none], [shape_of(x)[0]]
    for size, (kernel, stride, dilation), pads in zip(sizes, windows, known):
        if pads is not None:
            amounts += [tfl.ints([each]) for each in pads]
            dims.append(size + sum(pads))
            continue
        more = (kernel - 1) * dilation + 1 - stride
        given = dim_vector(tfl, size, x)
        rounded = tfl.mul(tfl.floor_div(tfl.add(given, stride - 1), tfl.ints([stride])), tfl.ints([stride]))
        total = tfl.maximum(tfl.sub(tfl.add(rounded, more), given), none)
        before = tfl.floor_div(total, tfl.ints([2]))
        amounts += [before, tfl.sub(total, before)]
        dims.append(ceildiv(size, stride) * stride + more if more >= 0 else fresh("padded"))
    paddings = tfl.reshape(tfl.concatenation(*amounts, none, none, axis=0), [len(sizes) + 2, 2])
    y = tfl.pad(x, paddings) if value is None else tfl.padv2(x, paddings, np.array(value, x.dtype.numpy))
    y.shape = (*dims, shape_of(x)[-1])
    return y


def padded(
    tfl: Lowering,
    x: Value,
    padding: str,
    pads: Sequence[tuple[int, int]],
    windows: Sequence[tuple[int, int, int]],
    value: float | None = None,
) -> tuple[Value, str]:
    """Return x (channels last) and the padding for the kernel: EXPLICIT becomes SAME if it pads the same, else PAD and
    VALID.

    windows: kernel size, stride and dilation of each spatial dimension.
    """
    if padding != "EXPLICIT":
        return x, padding
    sizes: Shape = shape_of(x)[1:-1]
    if any(map(any, pads)) and [same_pads(size, *window) for size, window in zip(sizes, windows)] == list(pads):
        return x, "SAME"
    return pad(tfl, x, pads, value), "VALID"
