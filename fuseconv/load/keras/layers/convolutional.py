"""Convolutions."""

from __future__ import annotations

from typing import Any

from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.activations import activate, added
from fuseconv.load.keras.layers.core import NO_LORA
from fuseconv.load.keras.layers.settings import (
    channels_first,
    padding_of,
    rank_of,
    sizes,
    to_channels_first,
    to_channels_last,
)
from fuseconv.load.keras.registry import builtin

_PLAIN = NO_LORA | {"quantization_config": None}


def _strided(numbers: list[int]) -> list[int]:
    """Return the strides or dilations of all dimensions, channels last."""
    return [1, *numbers, 1]


def _check(k: Call, strides: list[int], dilations: list[int]) -> None:
    if max(strides) > 1 and max(dilations) > 1:
        k.refuse("strides and dilation_rate are both more than 1")


def _biased(k: Call, x: Value, use_bias: bool, filters: int, first: bool) -> Value:
    """Add a bias along the channels; where Keras 3 takes the last dimension for these, along that."""
    if not use_bias:
        return x
    bias = k.weight("bias", [filters])
    if not first:
        return k.tf.BiasAdd(x, bias)
    return added(k, x, k.tf.reshaped(bias, [1, filters, *[1] * (len(k.shape(x)) - 2)]))


def convolve(k: Call, x: Value, kernel: Value, strides: list[int], dilations: list[int], padding: str) -> Value:
    """Convolve along one to three dimensions, channels last."""
    rank = len(strides)
    if rank == 1:
        made = k.tf.Conv2D(
            k.tf.ExpandDims(x, 1), k.tf.ExpandDims(kernel, 0), strides=[1, 1, *strides, 1],
            dilations=[1, 1, *dilations, 1], padding=padding,
        )  # fmt: skip
        return k.tf.Squeeze(made, squeeze_dims=[1])
    build = k.tf.Conv2D if rank == 2 else k.tf.Conv3D
    return build(x, kernel, strides=_strided(strides), dilations=_strided(dilations), padding=padding)


@builtin("Conv1D", "Convolution1D", "Conv2D", "Convolution2D", "Conv3D", "Convolution3D", half=True, **_PLAIN)
def conv(k: Call, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
         data_format: str | None = None, dilation_rate: Any = 1, groups: int = 1,
         activation: str | dict | None = None, use_bias: bool = True) -> Value:  # fmt: skip
    """Convolve along one to three dimensions. Channels that come first are moved last around it; a causal window sees
    only what came before, as the input is padded in front."""
    first, rank = channels_first(k, data_format), rank_of(k)
    k.shape(x, rank + 2)
    channels = k.known(x, 1 if first else -1)
    if groups < 1 or channels % groups:
        k.refuse(f"groups={groups} of {channels} channels")
    window, steps, spread = sizes(k, kernel_size, rank), sizes(k, strides, rank), sizes(k, dilation_rate, rank)
    _check(k, steps, spread)
    kernel = k.weight("kernel", [*window, channels // groups, filters])
    if padding.lower() == "causal" and rank == 1:
        before = spread[0] * (window[0] - 1)
        x = k.tf.Pad(x, k.tf.ints([[0, 0], [0, 0], [before, 0]] if first else [[0, 0], [before, 0], [0, 0]]))
        padding = "valid"
    x = to_channels_last(k, x) if first else x
    made = convolve(k, x, kernel, steps, spread, padding_of(k, padding))
    made = to_channels_first(k, made) if first else made
    return activate(k, _biased(k, made, use_bias, filters, first), activation)


def _depthwise(k: Call, x: Value, kernel: Value, strides: list[int], dilations: list[int], padding: str) -> Value:
    """Convolve each channel along one or two dimensions, channels last."""
    if len(strides) == 1:
        made = k.tf.DepthwiseConv2dNative(
            k.tf.ExpandDims(x, 1), k.tf.ExpandDims(kernel, 0), strides=[1, *strides * 2, 1],
            dilations=[1, 1, *dilations, 1], padding=padding,
        )  # fmt: skip
        return k.tf.Squeeze(made, squeeze_dims=[1])
    if strides[0] != strides[1]:
        k.refuse(f"strides={strides}")
    return k.tf.DepthwiseConv2dNative(
        x, kernel, strides=_strided(strides), dilations=_strided(dilations), padding=padding
    )


@builtin("DepthwiseConv1D", "DepthwiseConv2D", half=True, **_PLAIN, filters=None, groups=1)
def depthwise_conv(
    k: Call, x: Value, *, kernel_size: Any, strides: Any = 1, padding: str = "valid", depth_multiplier: int = 1,
    data_format: str | None = None, dilation_rate: Any = 1, activation: str | dict | None = None,
    use_bias: bool = True,
) -> Value:  # fmt: skip
    first, rank = channels_first(k, data_format), rank_of(k)
    k.shape(x, rank + 2)
    channels = k.known(x, 1 if first else -1)
    steps, spread = sizes(k, strides, rank), sizes(k, dilation_rate, rank)
    _check(k, steps, spread)
    name = "kernel" if k.model.keras3 else "depthwise_kernel"
    kernel = k.weight(name, [*sizes(k, kernel_size, rank), channels, depth_multiplier])
    made = _depthwise(k, to_channels_last(k, x) if first else x, kernel, steps, spread, padding_of(k, padding))
    made = to_channels_first(k, made) if first else made
    return activate(k, _biased(k, made, use_bias, channels * depth_multiplier, first), activation)


@builtin("SeparableConv1D", "SeparableConvolution1D", "SeparableConv2D", "SeparableConvolution2D", groups=1,
         half=True, **_PLAIN)  # fmt: skip
def separable_conv(
    k: Call, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    data_format: str | None = None, depth_multiplier: int = 1, dilation_rate: Any = 1,
    activation: str | dict | None = None, use_bias: bool = True,
) -> Value:  # fmt: skip
    """Convolve each channel, then mix the channels by a window of one. One dimension is done as a picture of one
    row."""
    first, rank = channels_first(k, data_format), rank_of(k)
    k.shape(x, rank + 2)
    channels = k.known(x, 1 if first else -1)
    window, steps, spread = sizes(k, kernel_size, rank), sizes(k, strides, rank), sizes(k, dilation_rate, rank)
    _check(k, steps, spread)
    depthwise = k.weight("depthwise_kernel", [*window, channels, depth_multiplier])
    pointwise = k.weight("pointwise_kernel", [*[1] * rank, channels * depth_multiplier, filters])
    if padding.lower() == "causal" and rank == 1 and not first:
        x = k.tf.Pad(x, k.tf.ints([[0, 0], [spread[0] * (window[0] - 1), 0], [0, 0]]))
        padding = "valid"
    x = to_channels_last(k, x) if first else x
    if rank == 1:  # as a picture of one row, until both are done
        x, steps, spread = k.tf.ExpandDims(x, 1), steps * 2, [1, *spread]
        depthwise, pointwise = k.tf.ExpandDims(depthwise, 0), k.tf.ExpandDims(pointwise, 0)
    made = _depthwise(k, x, depthwise, steps, spread, padding_of(k, padding))
    made = convolve(k, made, pointwise, [1, 1], [1, 1], "VALID")
    made = k.tf.Squeeze(made, squeeze_dims=[1]) if rank == 1 else made
    made = to_channels_first(k, made) if first else made
    return activate(k, _biased(k, made, use_bias, filters, first), activation)


@builtin(
    "Conv1DTranspose", "Convolution1DTranspose", "Conv2DTranspose", "Convolution2DTranspose", "Conv3DTranspose",
    "Convolution3DTranspose", groups=1, **_PLAIN, half=True,
)  # fmt: skip
def conv_transpose(
    k: Call, x: Value, *, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    output_padding: Any = None, data_format: str | None = None, dilation_rate: Any = 1,
    activation: str | dict | None = None, use_bias: bool = True,
) -> Value:  # fmt: skip
    first, rank = channels_first(k, data_format), rank_of(k)
    k.shape(x, rank + 2)
    window, steps = sizes(k, kernel_size, rank), sizes(k, strides, rank)
    more = [output_padding] * rank if not isinstance(output_padding, list) else output_padding
    spread = sizes(k, dilation_rate, rank)
    _check(k, steps, spread)
    kernel = k.weight("kernel", [*window, filters, k.known(x, 1 if first else -1)])
    x = to_channels_last(k, x) if first else x
    reach = [(size - 1) * each + 1 for size, each in zip(window, spread)]
    each = enumerate(zip(reach, steps, more, strict=True), 1)
    out = [_transposed_size(k, x, at, *numbers, padding) for at, numbers in each]
    made = _convolve_back(k, x, kernel, out, steps, spread, padding_of(k, padding))
    made = to_channels_first(k, made) if first else made
    return activate(k, _biased(k, made, use_bias, filters, first), activation)


def _convolve_back(
    k: Call, x: Value, kernel: Value, out: list[Value], strides: list[int], dilations: list[int], padding: str
) -> Value:
    """Convolve transposed along one to three dimensions, channels last, to sizes."""
    tf, rank = k.tf, len(out)
    if rank == 1:
        x, kernel, out = tf.ExpandDims(x, 1), tf.ExpandDims(kernel, 0), [tf.ints(1), *out]
        strides, dilations = [1, *strides], [1, *dilations]
    shape = tf.Pack(tf.dim(x, 0), *out, tf.ints(k.known(kernel, -2)))
    build = tf.Conv3DBackpropInputV2 if rank == 3 else tf.Conv2DBackpropInput
    made = build(shape, kernel, x, strides=_strided(strides), dilations=_strided(dilations),
                 padding=padding, dtype=x.dtype)  # fmt: skip
    return tf.Squeeze(made, squeeze_dims=[1]) if rank == 1 else made


def _transposed_size(k: Call, x: Value, axis: int, window: int, step: int, more: Any, padding: str) -> Value:
    """Return the size that a transposed convolution makes of one: step times it, and what a window overlaps.

    more: what an output_padding adds to the least size; None for the size that a convolution is most likely of."""
    valid = padding.lower() == "valid"
    least = (window if valid else window % 2) - step
    rest = least + more if more is not None else max(least, 0) if valid else 0
    if type(rest) is not int or not -step < (rest - window + 1 if valid else rest) <= 0:
        k.refuse(f"output_padding={more}, which no convolution leads to")
    size = k.shape(x)[axis]
    if isinstance(size, int):
        return k.tf.ints(size * step + rest)
    made = k.tf.Mul(k.tf.dim(x, axis), k.tf.ints(step))
    return k.tf.AddV2(made, k.tf.ints(rest)) if rest else made
