"""Shape functions of convolutions, pools, normalization and losses."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim, Shape, Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import (
    Contradiction,
    UnknownShape,
    agree,
    broadcast,
    content_of,
    elements,
    extents,
    ints,
    same,
    same_shape,
    shape_of,
    sizes,
    with_rank,
)
from fuseconv.tf.shape_functions.registry import Shapes, infers


@functools.cache
def layout(data_format: str, rank: int) -> tuple[int, Sequence[int]]:
    """Return the channel axis and the spatial axes of a data format such as NHWC or NCDHW. Raises UnknownShape."""
    if len(data_format) != rank or set(data_format) - set("NCDHW"):
        raise UnknownShape
    return data_format.index("C"), tuple(i for i, letter in enumerate(data_format) if letter in "DHW")


def window(dim: Dim, size: Dim, stride: int, dilation: int, padding: str, pads: Sequence[int]) -> Dim:
    """Return how many windows of `size` elements, `dilation` apart, fit into a dimension of `dim` elements."""
    if padding == "SAME":
        return dims.ceildiv(dim, stride)
    padded = dim + sum(pads) if padding == "EXPLICIT" else dim
    return dims.ceildiv(padded - (size - 1) * dilation, stride)


def windows(
    shape: Shape,
    kernel: Sequence[Dim],
    channels: Dim,
    data_format: str,
    padding: str,
    strides: Sequence[int],
    dilations: Sequence[int],
    explicit_paddings: Sequence[int],
) -> Shape:
    """Return the shape that windows of the spatial sizes `kernel` make of an image, with so many channels."""
    channel, spatial = layout(data_format, len(shape))
    steps = *strides, *dilations
    if min(steps, default=1) <= 0:
        raise Contradiction(f"its strides are {list(strides)} and its dilations {list(dilations)}")
    result = list(shape)
    result[channel] = channels
    for axis, size in zip(spatial, kernel):
        pads = explicit_paddings[2 * axis : 2 * axis + 2]
        result[axis] = window(shape[axis], size, strides[axis], dilations[axis], padding, pads)
    return tuple(result)


def _fit(channels: Dim, taken: Dim, made: Dim) -> None:
    """Raise Contradiction unless the channels of an image are one or several groups of those that a filter takes, and
    so many groups divide the channels that it makes."""
    if isinstance(channels, int) and isinstance(taken, int):
        if taken <= 0 or channels % taken:
            raise Contradiction(f"its input has {channels} channels, and its filter takes {taken}")
        groups = max(channels // taken, 1)
        if isinstance(made, int) and made % groups:
            raise Contradiction(f"it makes {made} channels in {groups} groups")


@infers("Conv2D", "DepthwiseConv2dNative")
def conv2d(
    op: Op, x: Value, filter: Value, *, strides: Sequence[int], padding: str, data_format: str = "NHWC",
    dilations: Sequence[int] = (1, 1, 1, 1), explicit_paddings: Sequence[int] = (),
) -> Shapes:  # fmt: skip
    kernel = with_rank(filter, 4)
    shape = with_rank(x, 4)
    channels, made = shape[layout(data_format, 4)[0]], kernel[3]
    if op.type == "Conv2D":
        _fit(channels, kernel[2], made)
    else:
        same(channels, kernel[2])
        made = kernel[2] * kernel[3]
    return windows(shape, kernel[:2], made, data_format, padding, strides, dilations, explicit_paddings)


@infers("Conv3D")
def conv3d(
    op: Op, x: Value, filter: Value, *, strides: Sequence[int], padding: str, data_format: str = "NDHWC",
    dilations: Sequence[int] = (1, 1, 1, 1, 1),
) -> Shapes:  # fmt: skip
    kernel = with_rank(filter, 5)
    shape = with_rank(x, 5)
    _fit(shape[layout(data_format, 5)[0]], kernel[3], kernel[4])
    return windows(shape, kernel[:3], kernel[4], data_format, padding, strides, dilations, ())


@infers("Conv")
def conv(
    op: Op, x: Value, filter: Value, *, strides: Sequence[int], padding: str, data_format: str = "CHANNELS_LAST",
    dilations: Sequence[int] = (), explicit_paddings: Sequence[int] = (), batch_dims: int = 1,
) -> Shapes:  # fmt: skip
    shape, kernel = shape_of(x), shape_of(filter)
    if batch_dims != 1 or len(shape) not in (4, 5):
        raise UnknownShape
    letters = {4: "HW", 5: "DHW"}[len(shape)]
    order = f"N{letters}C" if data_format == "CHANNELS_LAST" else f"NC{letters}"
    return windows(
        shape, kernel[:-2], kernel[-1], order, padding, strides, dilations or (1,) * len(shape), explicit_paddings
    )


@infers("Conv2DBackpropInput", "DepthwiseConv2dNativeBackpropInput", "Conv3DBackpropInputV2")
def conv_backprop_input(
    op: Op,
    input_sizes: Value,
    filter: Value,
    gradient: Value,
    *,
    strides: Sequence[int] = (),
    padding: str = "",
    data_format: str | None = None,
    dilations: Sequence[int] = (),
    explicit_paddings: Sequence[int] = (),
) -> Shapes:
    """Return `input_sizes`, which must be such that the convolution of them has the gradient's shape; if they are the
    spatial ones alone, the gradient's batch and the filter's channels go with them."""
    rank = 5 if op.type.startswith("Conv3D") else 4
    order = data_format or ("NDHWC" if rank == 5 else "NHWC")
    channel, spatial = layout(order, rank)
    shape = list(with_rank(gradient, rank))
    content = content_of(input_sizes)
    if filter.rank == rank:
        *_, multiplier, channels = filter.shape  # type: ignore[misc]
        same(shape[channel], multiplier * channels if op.type.startswith("Depthwise") else channels)
    count = input_sizes.shape[0] if input_sizes.rank == 1 else rank  # type: ignore[index]
    agree(isinstance(count, Sym) or count in (rank, rank - 2), f"its input_sizes are not {rank} or {rank - 2} numbers")
    if content is not None and content.size == rank:
        made = tuple(elements(input_sizes))
        kernel = filter.shape[: rank - 2] if filter.shape is not None and len(filter.shape) == rank else ()
        if strides and kernel:
            back = windows(made, kernel, shape[channel], order, padding, strides, dilations or (1,) * rank,
                            explicit_paddings)  # fmt: skip
            for dim, given in zip(back, shape):
                same(dim, given)
        return made
    # The op also takes the spatial sizes alone; the batch is then the gradient's, the channels are the filter's.
    for i, axis in enumerate(spatial):
        shape[axis] = dims.fresh() if content is None else content.reshape(-1)[i]
    shape[channel] = with_rank(filter, rank)[rank - 2]
    return tuple(shape)


@infers("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter")
def conv_backprop_filter(op: Op, x: Value, filter_sizes: Value, gradient: Value) -> Shapes:
    return tuple(sizes(filter_sizes))


@infers("AvgPoolGrad", "AvgPool3DGrad")
def avg_pool_grad(op: Op, image_sizes: Value, gradient: Value) -> Shapes:
    return tuple(extents(image_sizes))


@infers("MaxPoolGrad")
def max_pool_grad(op: Op, image: Value, pooled: Value, gradient: Value) -> Shapes:
    return with_rank(image, 4)


@infers("MaxPool3DGrad")
def max_pool_3d_grad(op: Op, image: Value, pooled: Value, gradient: Value) -> Shapes:
    return with_rank(image, 5)


@infers("Dilation2D")
def dilation2d(
    op: Op, x: Value, filter: Value, *, strides: Sequence[int], rates: Sequence[int], padding: str
) -> Shapes:
    shape = with_rank(x, 4)
    return windows(shape, with_rank(filter, 3)[:2], shape[3], "NHWC", padding, strides, rates, ())


@infers("MaxPool", "AvgPool")
def pool(
    op: Op,
    x: Value,
    *,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    explicit_paddings: Sequence[int] = (),
) -> Shapes:
    return _pool(with_rank(x, 4), ksize, strides, padding, data_format, explicit_paddings)


@infers("MaxPoolV2")
def max_pool_v2(
    op: Op, x: Value, ksize: Value, strides: Value, *, padding: str, data_format: str = "NHWC"
) -> Shapes:
    return _pool(with_rank(x, 4), ints(ksize), ints(strides), padding, data_format, ())


@infers("MaxPool3D", "AvgPool3D")
def pool3d(
    op: Op, x: Value, *, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str = "NDHWC"
) -> Shapes:
    return _pool(with_rank(x, 5), ksize, strides, padding, data_format, ())


@infers("MaxPoolWithArgmax")
def max_pool_with_argmax(op: Op, x: Value, *, ksize: Sequence[int], strides: Sequence[int], padding: str) -> Shapes:
    return [_pool(with_rank(x, 4), ksize, strides, padding, "NHWC", ())] * 2


@infers("FractionalAvgPool", "FractionalMaxPool")
def fractional_pool(op: Op, x: Value, *, pooling_ratio: Sequence[float]) -> Shapes:
    batch, *sizes, channels = with_rank(x, 4)
    agree(len(pooling_ratio) == 4 and all(ratio >= 1 for ratio in pooling_ratio), "a pooling ratio is less than 1")
    if pooling_ratio[0] != 1 or pooling_ratio[3] != 1:
        raise UnknownShape
    cells = [fractional_cells(size, ratio) for size, ratio in zip(sizes, pooling_ratio[1:3])]
    return [(batch, *cells, channels), *((count + 1,) for count in cells)]


def fractional_cells(size: Dim, ratio: float) -> Dim:
    """Return into how many cells a fractional pool divides so many rows; its kernel computes in float32."""
    return int(np.float32(size) / np.float32(ratio)) if isinstance(size, int) else dims.fresh("cells")


def _pool(
    shape: Shape, ksize: Sequence[int], strides: Sequence[int], padding: str, data_format: str, pads: Sequence[int]
) -> Shape:
    # A pool has a window over every dimension, the channels' too.
    if not len(ksize) == len(strides) == len(shape) or min(*ksize, *strides) <= 0 or max(*ksize, *strides) >= 1 << 31:
        raise Contradiction(f"its windows are {list(ksize)}, and its strides {list(strides)}")
    if len(pads) != (2 * len(shape) if padding == "EXPLICIT" else 0) or min(pads, default=0) < 0:
        raise Contradiction(f"its padding '{padding}' is {list(pads)}")
    if len(data_format) != len(shape) or set(data_format) - set("NCDHW"):
        raise UnknownShape
    return tuple(
        window(dim, ksize[axis], strides[axis], 1, padding, pads[2 * axis : 2 * axis + 2])
        for axis, dim in enumerate(shape)
    )


@infers("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm(
    op: Op,
    x: Value,
    scale: Value,
    offset: Value,
    mean: Value,
    variance: Value,
    *,
    data_format: str = "NHWC",
    is_training: bool = True,
) -> Shapes:
    shape = x.shape
    channels = with_rank(scale, 1)
    if shape is not None:
        channel, _ = layout(data_format, len(shape))
        channels = (same(channels[0], shape[channel]),)
        shape = tuple(channels[0] if axis == channel else dim for axis, dim in enumerate(shape))
    # V3's last result only carries data to the gradient: its size depends on the device.
    return [shape, channels, channels, channels, channels, (dims.fresh(),)][: len(op.results)]


@infers("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3")
def fused_batch_norm_grad(op: Op, gradient: Value, x: Value, scale: Value, *others: Value) -> Shapes:
    channels = with_rank(scale, 1)
    return [same_shape([gradient.shape, x.shape]), channels, channels, (), ()]


@infers("L2Loss")
def l2_loss(op: Op, x: Value) -> Shapes:
    return ()


@infers("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(op: Op, features: Value, labels: Value) -> Shapes:
    shape = broadcast(with_rank(features, 2), with_rank(labels, 2))
    return [shape[:1], shape]


@infers("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(op: Op, features: Value, labels: Value) -> Shapes:
    rows, classes = with_rank(features, 2)
    rows = same(rows, with_rank(labels, 1)[0])
    return [(rows,), (rows, classes)]


@infers("InTopK", "InTopKV2")
def in_top_k(op: Op, predictions: Value, targets: Value, *k: Value) -> Shapes:
    same_shape([with_rank(predictions, 2)[:1], targets.shape])
    return targets.shape


@infers("BiasAddGrad")
def bias_add_grad(op: Op, x: Value, *, data_format: str = "NHWC") -> Shapes:
    shape = shape_of(x)
    agree(len(shape) >= (3 if data_format == "NCHW" else 2), f"its gradient has {len(shape)} dimensions")
    return (shape[1 if data_format == "NCHW" else -1],)
