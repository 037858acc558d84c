"""Pooling, in two and three dimensions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.data_format import (
    channels_last,
    explicit_pads,
    pad,
    padded,
    padded_same,
    spatial_values,
    to_data_format,
)
from fuseconv.lower.support.dynamic_shapes import dim_scalar, dim_vector, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import scalar
from fuseconv.lower.support.type_promotion import cast, in_float32, promote

Pool = Callable[..., Value]


@lowers
@in_float32
def AvgPool(tfl, x, *, ksize, strides, padding, data_format="NHWC"):
    """AVERAGE_POOL_2D."""
    x = channels_last(tfl, x, data_format)
    y = _pool(tfl.average_pool_2d, x, spatial_values(ksize, data_format), spatial_values(strides, data_format), padding)
    return to_data_format(tfl, y, data_format)


@lowers
def MaxPool(tfl, x, *, ksize, strides, padding, data_format="NHWC", explicit_paddings=()):
    """MAX_POOL_2D; a MAXIMUM of slices for wide integers, which it lacks."""
    x = channels_last(tfl, x, data_format)
    pads = explicit_pads(explicit_paddings, data_format)
    y = _max_pool(tfl, x, spatial_values(ksize, data_format), spatial_values(strides, data_format), padding, pads)
    return to_data_format(tfl, y, data_format)


@lowers
def MaxPoolV2(tfl, x, ksize, strides, *, padding, data_format="NHWC"):
    """MAX_POOL_2D, with the window and the strides as constant operands."""
    window, steps = constant_of(ksize, "the window").tolist(), constant_of(strides, "the strides").tolist()
    return MaxPool(tfl, x, ksize=window, strides=steps, padding=padding, data_format=data_format)


@lowers
@in_float32
def AvgPool3D(tfl, x, *, ksize, strides, padding, data_format="NDHWC"):
    """AVERAGE_POOL_2D over height and width, then over depth."""
    return _pool_3d(tfl, tfl.average_pool_2d, x, ksize, strides, padding, data_format)


@lowers
@in_float32
def MaxPool3D(tfl, x, *, ksize, strides, padding, data_format="NDHWC"):
    """MAX_POOL_2D over height and width, then over depth."""
    return _pool_3d(tfl, tfl.max_pool_2d, x, ksize, strides, padding, data_format)


@lowers
def MaxPoolWithArgmax(tfl, x, *, ksize, strides, padding, include_batch_in_index=False):
    """MAX_POOL_2D, and ARG_MAX of the elements of each window."""
    require(x.dtype is types.FLOAT32, "MAX_POOL_2D and ARG_MAX take float32")
    kernel, stride = spatial_values(ksize, "NHWC"), spatial_values(strides, "NHWC")
    batch, height, width, channels = shape_of(x, 4)
    static_dims([channels], "the number of channels")
    wide = padded_same(tfl, x, [(*window, 1) for window in zip(kernel, stride)], -np.inf) if padding == "SAME" else x
    windows = _windows(tfl, wide, kernel, stride)
    # The first of equal elements is the maximum, in TensorFlow and in ARG_MAX.
    which = tfl.arg_max(tfl.pack(*windows, axis=4), np.array(4, np.int32), output_type="INT32")
    static = all(isinstance(size, int) for size in (height, width))
    places = _known_places if static else _computed_places
    corner, offset = places(tfl, x, wide, windows[0], kernel, stride)
    index = tfl.add(tfl.gather(offset, which), corner)
    if include_batch_in_index:
        index = tfl.add(index, _first_indices(tfl, batch, height * width * channels, x))
    return [_pool(tfl.max_pool_2d, x, kernel, stride, padding), cast(tfl, index, tfl.source.results[1].dtype)]


def _known_places(
    tfl: Lowering, x: Value, wide: Value, window: Value, kernel: Sequence[int], stride: Sequence[int]
) -> tuple[Value, Value]:
    """Return the flat index in x [n,h,w,c] of the first element of each window of `wide`, which is x padded, [h,w,c],
    and what is added to it for each element of a window. window: what one place in all windows covers."""
    height, width, channels = static_dims(shape_of(x)[1:], "height, width and channels")
    count = static_dims(shape_of(window)[1:3], "the number of windows")
    budget.require_room(math.prod(count) * channels, 8, tfl.name)
    padded = static_dims(shape_of(wide)[1:3], "the padded size")
    pads = [(after - before) // 2 for before, after in zip((height, width), padded)]
    rows, columns = (np.arange(n) * s - before for n, s, before in zip(count, stride, pads))
    corner = np.add.outer(rows * width, columns)[..., None] * channels + np.arange(channels)
    offset = np.add.outer(np.arange(kernel[0]) * width, np.arange(kernel[1])).reshape(-1) * channels
    return tfl.const(corner.astype(np.int32)), tfl.const(offset.astype(np.int32))


def _computed_places(
    tfl: Lowering, x: Value, wide: Value, window: Value, kernel: Sequence[int], stride: Sequence[int]
) -> tuple[Value, Value]:
    """Do as `_known_places`, where the height or the width is not known."""
    *_, width, channels = shape_of(x)
    across, (depth,) = dim_scalar(tfl, width, x), static_dims([channels], "the number of channels")

    def starts(axis: int) -> Value:
        size, padded, count = (dim_scalar(tfl, shape_of(each)[axis], each) for each in (x, wide, window))
        every = tfl.mul(tfl.range(scalar(0, types.INT32), count, scalar(1, types.INT32)), stride[axis - 1])
        return tfl.sub(every, tfl.floor_div(tfl.sub(padded, size), 2))

    down, right = (each.reshape(-1).astype(np.int32) for each in np.indices(kernel))
    offset = tfl.mul(tfl.add(tfl.mul(tfl.const(down), across), right), depth)
    rows, columns = tfl.reshape(starts(1), [-1, 1, 1]), tfl.reshape(starts(2), [-1, 1])
    corner = tfl.mul(tfl.add(tfl.mul(rows, across), columns), depth)
    return tfl.add(corner, np.arange(depth, dtype=np.int32)), offset


def _first_indices(tfl: Lowering, batch: Dim, elements: Dim, x: Value) -> Value:
    """Return the flat index of the first element of each image of x: [batch,1,1,1]."""
    count = tfl.reshape(dim_vector(tfl, batch, x), tfl.ints([]))
    images = tfl.range_(np.array(0, np.int32), count, np.array(1, np.int32))
    return tfl.mul(tfl.reshape(images, [-1, 1, 1, 1]), dim_scalar(tfl, elements, x))


def _pool(pool: Pool, x: Value, kernel: Sequence[int], stride: Sequence[int], padding: str) -> Value:
    return pool(
        x, padding=padding, filter_height=kernel[0], filter_width=kernel[1], stride_h=stride[0], stride_w=stride[1]
    )  # fmt: skip


def _max_pool(
    tfl: Lowering, x: Value, kernel: list[int], stride: list[int], padding: str, pads: list[tuple[int, int]]
) -> Value:
    """Return the maximum of each window of x [n,h,w,c]; wide integers, which the kernel lacks, by MAXIMUMs of
    slices."""
    if x.dtype in (types.INT32, types.INT64):
        lowest = int(np.iinfo(x.dtype.numpy).min)
        if not pads and padding == "SAME":
            x = padded_same(tfl, x, [(k, s, 1) for k, s in zip(kernel, stride)], lowest)
        else:
            x = pad(tfl, x, pads or [(0, 0), (0, 0)], lowest)
        return functools.reduce(tfl.maximum, _windows(tfl, x, kernel, stride))
    wide = promote(tfl, x, (types.FLOAT32,))
    wide, padding = padded(tfl, wide, padding, pads, [(k, s, 1) for k, s in zip(kernel, stride)], -np.inf)
    return cast(tfl, _pool(tfl.max_pool_2d, wide, kernel, stride, padding), x.dtype)


def _pool_3d(
    tfl: Lowering, pool: Pool, x: Value, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str
) -> Value:
    """Return pools x over height and width, then over depth: a mean of means of equally many, a maximum of maxima."""
    kernel, stride = spatial_values(ksize, data_format), spatial_values(strides, data_format)
    x = channels_last(tfl, x, data_format)
    n, d, h, w, c = shape_of(x, 5)
    rows = _pool(pool, reshape(tfl, x, [n * d, h, w, c]), kernel[1:], stride[1:], padding)
    _, h, w, _ = shape_of(rows)
    columns = _pool(pool, reshape(tfl, rows, [n, d, h * w, c], x), [kernel[0], 1], [stride[0], 1], padding)
    return to_data_format(tfl, reshape(tfl, columns, [n, shape_of(columns)[1], h, w, c], x, rows), data_format)


def _windows(tfl: Lowering, x: Value, kernel: Sequence[int], stride: Sequence[int]) -> list[Value]:
    """Return for each position in the window, in order, the strided slice of x [n,h,w,c] that the windows cover
    there."""
    slices = []
    for row, column in np.ndindex(*kernel):
        ends = [row - kernel[0] + 1, column - kernel[1] + 1]
        # An end of 0 would be the first element, not the one after the last.
        mask = 0b1001 | (ends[0] == 0) << 1 | (ends[1] == 0) << 2
        slices.append(
            tfl.strided_slice(x, [0, row, column, 0], [0, *ends, 0], [1, *stride, 1], begin_mask=0b1001, end_mask=mask)
        )
    return slices
