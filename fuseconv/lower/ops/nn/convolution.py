"""Convolutions and their transposes, in two and three dimensions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, ceildiv
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.data_format import (
    channels_last,
    explicit_pads,
    is_channels_first,
    pad,
    padded,
    padded_same,
    spatial_values,
    to_data_format,
)
from fuseconv.lower.support.dynamic_shapes import dim_vector, reshape, shape_of, static_dims
from fuseconv.lower.support.type_promotion import cast, in_float32
from fuseconv.tf.operands import content_of

# Each is a convolution of its own.
_MOST_GROUPS = 256
_NO_GROUPS = "its channels cannot be divided into groups, or too many"


@lowers
@in_float32
def Conv2D(
    tfl, x, filter, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    """CONV_2D with the filter as [out,h,w,in]; one with fewer input channels than x has is a grouped convolution."""
    (outputs,) = static_dims(shape_of(filter, 4)[3:], "the number of filters")
    x, options = _options_2d(tfl, x, filter, strides, dilations, padding, explicit_paddings, data_format)
    y = tfl.conv_2d(x, tfl.transpose(filter, [3, 0, 1, 2]), np.zeros(outputs, np.float32), **options)
    return to_data_format(tfl, y, data_format)


@lowers
@in_float32
def DepthwiseConv2dNative(
    tfl, x, filter, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    """DEPTHWISE_CONV_2D with the filter [h,w,c,m] as [1,h,w,c*m]."""
    height, width, channels, multiplier = static_dims(shape_of(filter, 4), "the shape of the filter")
    x, options = _options_2d(tfl, x, filter, strides, dilations, padding, explicit_paddings, data_format)
    weights = tfl.reshape(filter, [1, height, width, channels * multiplier])
    bias = np.zeros(channels * multiplier, np.float32)
    return to_data_format(
        tfl, tfl.depthwise_conv_2d(x, weights, bias, depth_multiplier=multiplier, **options), data_format
    )


@lowers
@in_float32
def Conv2DBackpropInput(
    tfl, input_sizes, filter, x, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    """TRANSPOSE_CONV with the filter as [out,h,w,in], for each group of channels one; explicit crops are a SLICE of the
    uncropped result, if they are not those of SAME."""
    filter = _dilated(tfl, filter, spatial_values(dilations, data_format))
    stride = spatial_values(strides, data_format)
    x = channels_last(tfl, x, data_format)
    shape = _output_shape(tfl, input_sizes, x, filter, data_format)
    pads = explicit_pads(explicit_paddings, data_format) or [(0, 0), (0, 0)]
    if padding == "EXPLICIT" and _crops_as_same(shape, x, filter, stride, pads):
        padding, pads = "SAME", [(0, 0), (0, 0)]
    whole = tfl.add(shape, [0, *map(sum, pads), 0]) if any(map(any, pads)) else shape
    options = {"padding": "SAME" if padding == "SAME" else "VALID", "stride_h": stride[0], "stride_w": stride[1]}
    y = _by_groups(
        tfl, whole, filter, x, data_format,
        lambda size, part, of: tfl.transpose_conv(size, tfl.transpose(part, [2, 0, 1, 3]), of, **options),
    )  # fmt: skip
    if whole is not shape:
        y = tfl.slice_(y, [0, *[before for before, _ in pads], 0], shape)
    return to_data_format(tfl, y, data_format)


def _crops_as_same(
    shape: Value, x: Value, filter: Value, strides: Sequence[int], pads: Sequence[tuple[int, int]]
) -> bool:
    """Return whether a transposed convolution to this shape crops as SAME does: all that is too much, the half of it,
    rounded down, at the start."""
    made, sizes, reaches = content_of(shape), shape_of(x, 4)[1:3], shape_of(filter, 4)[:2]
    if made is None or not all(isinstance(reach, int) for reach in reaches):
        return False
    return all(
        ceildiv(size, stride) == rows and (rows - 1) * stride + reach - size == sum(ends) and ends[0] == sum(ends) // 2
        for size, rows, reach, stride, ends in zip(made[1:3], sizes, reaches, strides, pads)
    )


def _by_groups(
    tfl: Lowering, shape: Value, filter: Value, x: Value, data_format: str,
    transposed: Callable[[Value, Value, Value], Value],
) -> Value:  # fmt: skip
    """Apply a transposed convolution (shape [4], filter [h,w,out,in], x) to each group of channels."""
    channels = (tfl.shape or (None,) * 4)[1 if is_channels_first(data_format) else 3]
    inputs = shape_of(filter, 4)[2]
    if channels is None or channels == inputs:
        return transposed(shape, filter, x)
    channels, inputs, outputs = static_dims((channels, inputs, shape_of(filter)[3]), "the number of channels")
    groups = channels // inputs if inputs else 0
    require(0 < groups <= _MOST_GROUPS and groups * inputs == channels and outputs % groups == 0, _NO_GROUPS)
    own = tfl.concatenation(tfl.slice_(shape, [0], [3]), tfl.ints([inputs]), axis=0)
    axis = np.array(3, np.int32)
    parts = zip(tfl.split(axis, filter, num_splits=groups), tfl.split(axis, x, num_splits=groups))
    return tfl.concatenation(*(transposed(own, *part) for part in parts), axis=3)


@lowers
@in_float32
def Conv3D(tfl, x, filter, *, strides, padding, data_format="NDHWC", dilations=(1, 1, 1, 1, 1)):
    """CONV_3D; for each group of channels one, and the CONCATENATION of their results. Where each channel is a group,
    the sum of DEPTHWISE_CONV_2Ds."""
    x = channels_last(tfl, x, data_format)
    deep = _depthwise_3d(tfl, x, filter, spatial_values(strides, data_format), padding, dilations, data_format)
    if deep is not None:
        return to_data_format(tfl, deep, data_format)
    window = _options_3d(strides, dilations, data_format)
    parts, filters = _groups_3d(tfl, x, filter)
    made = [tfl.conv_3d(part, own, padding=padding, **window) for part, own in zip(parts, filters)]
    y = made[0] if len(made) == 1 else tfl.concatenation(*made, axis=4)
    return to_data_format(tfl, y, data_format)


def _depthwise_3d(
    tfl: Lowering, x: Value, filter: Value, strides: Sequence[int], padding: str, dilations: Sequence[int],
    data_format: str,
) -> Value | None:  # fmt: skip
    """Return a convolution of each channel of x [n,d,h,w,c] by a filter [k,kh,kw,1,c*m] of its own: for each i < k, the
    frames i, i + stride, ... by filter[i] as DEPTHWISE_CONV_2D, summed. None if x has one channel, or filters have
    more."""
    (batch, _, _, _, channels), inputs = shape_of(x, 5), shape_of(filter, 5)[3]
    (stride, *steps), (dilation, *spread) = strides, spatial_values(dilations, data_format)
    if inputs != 1 or channels == 1:
        return None
    reach, height, width, _, outputs = static_dims(shape_of(filter), "the shape of the filter")
    (channels,) = static_dims([channels], "the number of channels")
    if outputs % channels:
        return None
    if padding != "VALID":
        x = padded_same(tfl, x, [(reach, stride, dilation), (1, 1, 1), (1, 1, 1)])
    options = dict(zip(("stride_h", "stride_w", "dilation_h_factor", "dilation_w_factor"), (*steps, *spread)))
    options |= {"depth_multiplier": outputs // channels, "padding": padding}
    products = []
    for i in range(reach):
        end = (i - reach + 1) * dilation
        mask = 0b11111 if end == 0 else 0b11101
        part = tfl.strided_slice(
            x, [0, i * dilation, 0, 0, 0], [0, end, 0, 0, 0], [1, stride, 1, 1, 1], begin_mask=0b11101, end_mask=mask
        )
        count, *area = shape_of(part)[1:]
        weights = tfl.reshape(tfl.slice_(filter, [i, 0, 0, 0, 0], [1, -1, -1, -1, -1]), [1, height, width, outputs])
        images = reshape(tfl, part, (batch * count, *area), part)
        products.append(tfl.depthwise_conv_2d(images, weights, np.zeros(outputs, np.float32), **options))
    y = functools.reduce(tfl.add, products)
    return reshape(tfl, y, (batch, count, *shape_of(y)[1:]), part, y)


@lowers
@in_float32
def Conv3DBackpropInputV2(
    tfl, input_sizes, filter, x, *, strides, padding, data_format="NDHWC", dilations=(1, 1, 1, 1, 1)
):  # fmt: skip
    """CONV_3D_TRANSPOSE; without padding, and with a SLICE of the result, where the kernel would pad wrongly."""
    x = channels_last(tfl, x, data_format)
    shape = _output_shape(tfl, input_sizes, x, filter, data_format)
    window = _options_3d(strides, dilations, data_format)
    crop = padding == "SAME" and _crop_3d(tfl, x, filter, shape, spatial_values(strides, data_format), data_format)
    if not crop:
        y = tfl.conv_3d_transpose(shape, filter, x, padding=padding, **window)
        return to_data_format(tfl, y, data_format)
    whole, begin = crop
    y = tfl.slice_(tfl.conv_3d_transpose(whole, filter, x, padding="VALID", **window), begin, shape)
    return to_data_format(tfl, y, data_format)


def _groups_3d(tfl: Lowering, x: Value, filter: Value) -> tuple[list[Value], list[Value]]:
    """Return the parts of x and of the filter [d,h,w,in,out] that belong together."""
    channels, inputs, outputs = static_dims((shape_of(x, 5)[4], *shape_of(filter, 5)[3:]), "the number of channels")
    if channels == inputs:
        return [x], [filter]
    groups = channels // inputs if inputs else 0
    fits = groups and channels == groups * inputs and outputs % groups == 0
    require(bool(fits), f"{channels} channels and {outputs} filters are no groups of filters for {inputs}")
    require(groups <= _MOST_GROUPS, f"CONV_3D has no groups, and {groups} of their own would be too many")
    width = outputs // groups
    filters = [tfl.slice_(filter, [0] * 4 + [group * width], [-1] * 4 + [width]) for group in range(groups)]
    return tfl.split(np.array(4, np.int32), x, num_splits=groups), filters


def _crop_3d(
    tfl: Lowering, x: Value, filter: Value, shape: Value, strides: Sequence[int], data_format: str
) -> tuple[Value, Value] | None:
    """Return the shape of a transposed convolution without padding, and where the result of SAME padding [shape] begins
    in it; None where the kernel pads as it should.

    TensorFlow 2.21's kernel is wrong if there is padding in front of the depth and none in front of the height: in 103
    of 172 such configurations of random sizes, and in none of 328 others. LiteRT's own is right. Padding is what the
    windows reach beyond the result, (n - 1) * stride + window - size in all, half of it in front."""
    windows = static_dims(shape_of(filter, 5)[:3], "the size of the window")
    inputs, outputs = shape_of(x, 5)[1:4], (tfl.shape or (None,) * 5)[2 if is_channels_first(data_format) else 1 :][:3]
    (_, depth), (height, _), _ = map(_pads_in_front, inputs, outputs, windows, strides)
    if depth == 0 or height > 0:
        return None
    if all(isinstance(n, int) for n in (*inputs, *outputs)):
        data, sizes = tfl.ints(inputs), tfl.ints(outputs)  # type: ignore[arg-type]
    else:
        data, sizes = (tfl.slice_(each, [1], [3]) for each in (tfl.shape_(x), shape))
    reach = tfl.add(tfl.mul(tfl.sub(data, 1), strides), windows)
    beyond = tfl.maximum(tfl.sub(reach, sizes), 0)
    zero = tfl.ints([0])
    whole = tfl.add(shape, tfl.concatenation(zero, beyond, zero, axis=0))
    return whole, tfl.concatenation(zero, tfl.floor_div(beyond, 2), zero, axis=0)


def _pads_in_front(inputs: Dim, outputs: Dim | None, window: int, stride: int) -> tuple[int, int]:
    """Return the least and the most padding that SAME puts in front of a dimension: the same, if sizes are known."""
    if isinstance(inputs, int) and isinstance(outputs, int):
        total = max((inputs - 1) * stride + window - outputs, 0)
        return total // 2, total // 2
    return max(window - stride, 0) // 2, (window - 1) // 2


def _options_2d(
    tfl: Lowering, x: Value, filter: Value, strides: Sequence[int], dilations: Sequence[int], padding: str,
    explicit_paddings: Sequence[int], data_format: str,
) -> tuple[Value, dict[str, Any]]:  # fmt: skip
    """Return x with its channels last, padded where the kernel cannot, and the kernel's options."""
    height, width = spatial_values(strides, data_format)
    rows, columns = spatial_values(dilations, data_format)
    kernel = static_dims(shape_of(filter, 4)[:2], "the size of the window")
    windows = list(zip(kernel, (height, width), (rows, columns)))
    pads = explicit_pads(explicit_paddings, data_format)
    x, padding = padded(tfl, channels_last(tfl, x, data_format), padding, pads, windows)
    options = {"stride_h": height, "stride_w": width, "dilation_h_factor": rows, "dilation_w_factor": columns}
    return x, {**options, "padding": padding}


def _dilated(tfl: Lowering, filter: Value, dilations: Sequence[int]) -> Value:
    """Return a filter [h,w,a,b] with zeros between its elements, for a kernel that has no dilations."""
    if set(dilations) == {1}:
        return filter
    height, width, *channels = static_dims(shape_of(filter, 4), "the shape of the filter")
    rows, columns = dilations
    apart = tfl.reshape(filter, [height, 1, width, 1, math.prod(channels)])
    spread = pad(tfl, apart, [(0, rows - 1), (0, 0), (0, columns - 1)])
    behind_last = tfl.reshape(spread, [height * rows, width * columns, *channels])
    return tfl.slice_(behind_last, [0] * 4, [(height - 1) * rows + 1, (width - 1) * columns + 1, *channels])


def _options_3d(strides: Sequence[int], dilations: Sequence[int], data_format: str) -> dict[str, int]:
    depth, height, width = spatial_values(strides, data_format)
    options = {"stride_d": depth, "stride_h": height, "stride_w": width}
    depth, height, width = spatial_values(dilations, data_format)
    return options | {"dilation_d_factor": depth, "dilation_h_factor": height, "dilation_w_factor": width}


def _output_shape(tfl: Lowering, input_sizes: Value, x: Value, filter: Value, data_format: str) -> Value:
    """Return the result's shape, channels last, as int32; `input_sizes` may hold all of it, or its spatial sizes
    only."""
    first = is_channels_first(data_format)
    rank = len(data_format)
    shape: Shape = tfl.shape or ()
    if len(shape) == rank and all(isinstance(dim, int) for dim in shape):
        return tfl.ints([shape[0], *shape[2:], shape[1]] if first else shape)
    sizes = cast(tfl, input_sizes, types.INT32)
    (length,) = static_dims(shape_of(sizes, 1), "the number of sizes")
    if length == rank:
        return tfl.gather(sizes, [0, *range(2, rank), 1]) if first else sizes
    return tfl.concatenation(
        dim_vector(tfl, shape_of(x)[0], x), sizes, dim_vector(tfl, shape_of(filter)[-2], filter), axis=0
    )
