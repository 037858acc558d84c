"""Convolutions and their transposes, in two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import cast, in_float32
from fuseconv.lower.layout import channels_last, explicit_pads, is_channels_first, padded, restored, spatial
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.shapes import known, shape_of, size


@lowers
@in_float32
def Conv2D(
    tfl, x, filter, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    # A filter with fewer input channels than x has is a grouped convolution, in TFLite as in TensorFlow.
    kernel, outputs = _filter(filter, 4, slice(0, 2), slice(3, 4))
    stride, dilation = spatial(strides, data_format), spatial(dilations, data_format)
    x = channels_last(tfl, x, data_format)
    pads = explicit_pads(explicit_paddings, data_format)
    x, padding = padded(tfl, x, padding, pads, list(zip(kernel, stride, dilation)))
    y = tfl.conv_2d(
        x, tfl.transpose(filter, [3, 0, 1, 2]), _no_bias(*outputs), padding=padding, stride_h=stride[0],
        stride_w=stride[1], dilation_h_factor=dilation[0], dilation_w_factor=dilation[1],
    )  # fmt: skip
    return restored(tfl, y, data_format)


@lowers
@in_float32
def DepthwiseConv2dNative(
    tfl, x, filter, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    kernel, (channels, multiplier) = _filter(filter, 4, slice(0, 2), slice(2, 4))
    stride, dilation = spatial(strides, data_format), spatial(dilations, data_format)
    x = channels_last(tfl, x, data_format)
    pads = explicit_pads(explicit_paddings, data_format)
    x, padding = padded(tfl, x, padding, pads, list(zip(kernel, stride, dilation)))
    y = tfl.depthwise_conv_2d(
        x, tfl.reshape(filter, [1, *kernel, channels * multiplier]), _no_bias(channels * multiplier), padding=padding,
        stride_h=stride[0], stride_w=stride[1], depth_multiplier=multiplier,
        dilation_h_factor=dilation[0], dilation_w_factor=dilation[1],
    )  # fmt: skip
    return restored(tfl, y, data_format)


@lowers
@in_float32
def Conv2DBackpropInput(
    tfl, input_sizes, filter, x, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    require(set(spatial(dilations, data_format)) == {1}, "TRANSPOSE_CONV has no dilations")
    stride = spatial(strides, data_format)
    x = channels_last(tfl, x, data_format)
    shape = _output_shape(tfl, input_sizes, x, filter, data_format)
    # TFLite crops as SAME or VALID; explicit crops are those of VALID, done by a slice.
    pads = explicit_pads(explicit_paddings, data_format) or [(0, 0), (0, 0)]
    whole = tfl.add(shape, [0, *map(sum, pads), 0]) if any(map(any, pads)) else shape
    y = tfl.transpose_conv(
        whole, tfl.transpose(filter, [2, 0, 1, 3]), x, padding="SAME" if padding == "SAME" else "VALID",
        stride_h=stride[0], stride_w=stride[1],
    )  # fmt: skip
    if whole is not shape:
        y = tfl.slice_(y, [0, *[before for before, _ in pads], 0], shape)
    return restored(tfl, y, data_format)


@lowers
@in_float32
def Conv3D(tfl, x, filter, *, strides, padding, data_format="NDHWC", dilations=(1, 1, 1, 1, 1)):
    x = channels_last(tfl, x, data_format)
    channels, inputs = shape_of(x, 5)[4], shape_of(filter, 5)[3]
    require(channels == inputs, "CONV_3D has no groups")
    window = _options_3d(strides, dilations, data_format)
    return restored(tfl, tfl.conv_3d(x, filter, padding=padding, **window), data_format)


@lowers
@in_float32
def Conv3DBackpropInputV2(
    tfl, input_sizes, filter, x, *, strides, padding, data_format="NDHWC", dilations=(1, 1, 1, 1, 1)
):  # fmt: skip
    x = channels_last(tfl, x, data_format)
    shape = _output_shape(tfl, input_sizes, x, filter, data_format)
    window = _options_3d(strides, dilations, data_format)
    return restored(tfl, tfl.conv_3d_transpose(shape, filter, x, padding=padding, **window), data_format)


def _filter(filter: Value, rank: int, kernel: slice, channels: slice) -> tuple[list[int], list[int]]:
    """The window's sizes, and the numbers of channels that the bias needs, of a filter."""
    shape = shape_of(filter, rank)
    return known(shape[kernel], "the size of the window"), known(shape[channels], "the number of filters")


def _no_bias(outputs: int) -> np.ndarray:
    """The bias that CONV_2D and DEPTHWISE_CONV_2D must have."""
    return np.zeros(outputs, np.float32)


def _options_3d(strides: Sequence[int], dilations: Sequence[int], data_format: str) -> dict[str, int]:
    depth, height, width = spatial(strides, data_format)
    options = {"stride_d": depth, "stride_h": height, "stride_w": width}
    depth, height, width = spatial(dilations, data_format)
    return options | {"dilation_d_factor": depth, "dilation_h_factor": height, "dilation_w_factor": width}


def _output_shape(tfl: Lowering, input_sizes: Value, x: Value, filter: Value, data_format: str) -> Value:
    """The result's shape, channels last, as int32; `input_sizes` may hold all of it, or its spatial sizes only."""
    first = is_channels_first(data_format)
    rank = len(data_format)
    shape: Shape = tfl.shape or ()
    if len(shape) == rank and all(isinstance(dim, int) for dim in shape):
        return tfl.ints([shape[0], *shape[2:], shape[1]] if first else shape)
    sizes = cast(tfl, input_sizes, types.INT32)
    (length,) = known(shape_of(sizes, 1), "the number of sizes")
    if length == rank:
        return tfl.gather(sizes, [0, *range(2, rank), 1]) if first else sizes
    return tfl.concatenation(size(tfl, shape_of(x)[0], x), sizes, size(tfl, shape_of(filter)[-2], filter), axis=0)
