"""Gradients of convolutions and pooling, as signatures that train have them.

Heights and widths must be known. An image is padded as the op padded it; for each place (r, c) of a window, all windows
together take one strided slice of it, [n, oh, ow, channels].
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fuseconv.ir import budget
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.data_format import (
    channels_last,
    explicit_pads,
    is_channels_first,
    pad,
    same_pads,
    spatial_values,
    to_data_format,
)
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import select
from fuseconv.lower.support.type_promotion import in_float32

# Each place of a window is a few ops of its own.
_MOST_PLACES = 256
_Attrs = Sequence[int]


@dataclass(frozen=True)
class _Windows:
    """Windows over an image: for height and width, its size, the window's, and where the windows stand."""

    image: list[int]
    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    pads: list[tuple[int, int]]

    @classmethod
    def of(
        cls, image: Shape, kernel: _Attrs, strides: _Attrs, padding: str, data_format: str,
        dilations: _Attrs = (1, 1, 1, 1), explicit_paddings: _Attrs = (),
    ) -> _Windows:  # fmt: skip
        """Read the attributes of an op on an image [n,h,w,c]; kernel: the window's height and width."""
        size = static_dims(image[1:3], "height and width")
        stride, dilation = spatial_values(strides, data_format), spatial_values(dilations, data_format)
        same = [same_pads(*window) for window in zip(size, kernel, stride, dilation)]
        pads = [each if each and padding == "SAME" else (0, 0) for each in same]
        if padding == "EXPLICIT":
            pads = explicit_pads(explicit_paddings, data_format)
        require(len(kernel) == 2 and kernel[0] * kernel[1] <= _MOST_PLACES, f"a window of {list(kernel)} is too large")
        return cls(size, list(kernel), stride, dilation, pads)

    @property
    def padded(self) -> list[int]:
        return [size + sum(pads) for size, pads in zip(self.image, self.pads)]

    @property
    def reach(self) -> list[int]:
        return [(kernel - 1) * dilation + 1 for kernel, dilation in zip(self.kernel, self.dilation)]

    @property
    def count(self) -> list[int]:
        return [(size - reach) // step + 1 for size, reach, step in zip(self.padded, self.reach, self.stride)]

    @property
    def span(self) -> list[int]:
        """How far apart the first and the last window begin, plus one."""
        return [(count - 1) * step + 1 for count, step in zip(self.count, self.stride)]

    def places(self) -> Iterator[list[int]]:
        for place in np.ndindex(*self.kernel):
            yield [at * dilation for at, dilation in zip(place, self.dilation)]

    def slices(self, tfl: Lowering, x: Value, outside: float | None = None) -> list[Value]:
        """Return for each place the elements of x [n,h,w,c] that stand there in the windows; `outside`: padding."""
        wide = pad(tfl, x, self.pads, outside)
        made = []
        for rows, columns in self.places():
            ends = [0, rows + self.span[0], columns + self.span[1], 0]
            begins = [0, rows, columns, 0]
            made.append(tfl.strided_slice(wide, begins, ends, [1, *self.stride, 1], begin_mask=0b1001, end_mask=0b1001))
        return made

    def spread(self, tfl: Lowering, dy: Value) -> Value:
        """Return dy [n,oh,ow,c] with each element where its window begins, zeros between: [n,*span,c]."""
        (n, height, width, c), (down, right) = shape_of(dy, 4), self.stride
        if self.stride == [1, 1]:
            return dy
        rows = _followed_by_zeros(tfl, reshape(tfl, dy, [n, height, 1, width * c]), down - 1)
        cells = reshape(tfl, rows, [n, height * down * width, 1, c], dy)
        whole = reshape(
            tfl, _followed_by_zeros(tfl, cells, right - 1), [n, height * down, width * right, c], dy
        )  # fmt: skip
        ends = [0, *self.span, 0]
        return tfl.strided_slice(whole, [0] * 4, ends, [1] * 4, begin_mask=0b1001, end_mask=0b1001)

    def around(self, tfl: Lowering, dy: Value) -> Value:
        """Return the spread dy with as many zeros around it as make windows of stride 1 one for each pixel."""
        pads = [
            (reach - 1 - before, size + before - span)
            for reach, (before, _), size, span in zip(self.reach, self.pads, self.image, self.span)
        ]
        wide, crops = self.spread(tfl, dy), [(max(-a, 0), max(-b, 0)) for a, b in pads]
        require(not any(map(any, crops)), "it is padded by more than its window")
        return pad(tfl, wide, pads)


def _followed_by_zeros(tfl: Lowering, x: Value, count: int) -> Value:
    """Return x [a,b,1,d] as [a,b,1 + count,d]."""
    return tfl.pad(x, np.array([[0, 0], [0, 0], [0, count], [0, 0]], np.int32)) if count else x


@lowers
@in_float32
def Conv2DBackpropFilter(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=(),
    use_cudnn_on_gpu=True,
):  # fmt: skip
    """BATCH_MATMUL of what the windows took, transposed, and of the gradient."""
    height, width, inputs, outputs = static_dims(tfl.shape or (), "the shape of the filter")
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    windows = _Windows.of(
        shape_of(x, 4), (height, width), strides, padding, data_format, dilations, explicit_paddings
    )  # fmt: skip
    require(shape_of(x)[3] == inputs, "the gradient of a grouped convolution's filter is not supported")
    slices = windows.slices(tfl, x)
    taken = tfl.concatenation(*slices, axis=3) if len(slices) > 1 else slices[0]
    rows = shape_of(dy, 4)[0] * windows.count[0] * windows.count[1]
    columns = height * width * inputs
    flat = reshape(tfl, taken, [rows, columns], taken), reshape(tfl, dy, [rows, outputs], dy)
    return reshape(tfl, tfl.batch_matmul(*flat, adj_x=True), [height, width, inputs, outputs])


@lowers
@in_float32
def DepthwiseConv2dNativeBackpropFilter(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    """The SUM of the gradient times what stood at each place of the windows."""
    height, width, channels, multiplier = static_dims(tfl.shape or (), "the shape of the filter")
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    windows = _Windows.of(
        shape_of(x, 4), (height, width), strides, padding, data_format, dilations, explicit_paddings
    )  # fmt: skip
    if multiplier > 1:
        x = tfl.gather(x, np.repeat(np.arange(channels, dtype=np.int32), multiplier), axis=3)
    sums = [tfl.sum(tfl.mul(taken, dy), [0, 1, 2]) for taken in windows.slices(tfl, x)]
    return reshape(tfl, tfl.pack(*sums, axis=0), [height, width, channels, multiplier])


@lowers
@in_float32
def DepthwiseConv2dNativeBackpropInput(
    tfl, input_sizes, filter, dy, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    """DEPTHWISE_CONV_2D of the gradient, with zeros between and around it, and the filter turned around."""
    height, width, channels, multiplier = static_dims(shape_of(filter, 4), "the shape of the filter")
    dy = channels_last(tfl, dy, data_format)
    image = _channels_last_shape(tfl, data_format)
    windows = _Windows.of(image, (height, width), strides, padding, data_format, dilations, explicit_paddings)
    wide = windows.around(tfl, dy)
    turned = tfl.reverse_v2(tfl.reverse_v2(filter, [0]), [1])
    weights = tfl.reshape(turned, [1, height, width, channels * multiplier])
    y = tfl.depthwise_conv_2d(
        wide, weights, np.zeros(channels * multiplier, np.float32), depth_multiplier=1, padding="VALID", stride_h=1,
        stride_w=1, dilation_h_factor=windows.dilation[0], dilation_w_factor=windows.dilation[1],
    )  # fmt: skip
    if multiplier > 1:
        y = tfl.sum(reshape(tfl, y, [*image[:3], channels, multiplier], y), [4])
    y.shape = image
    return to_data_format(tfl, y, data_format)


@lowers
@in_float32
def AvgPoolGrad(tfl, image_sizes, dy, *, ksize, strides, padding, data_format="NHWC"):
    """AVERAGE_POOL_2D of the gradient, divided by the pixels of each window, with zeros between and around it."""
    dy = channels_last(tfl, dy, data_format)
    image = _channels_last_shape(tfl, data_format)
    windows = _Windows.of(image, spatial_values(ksize, data_format), strides, padding, data_format)
    height, width = windows.kernel
    share = (height * width / _pixels(windows))[None, :, :, None].astype(np.float32)
    scaled = dy if (share == 1).all() else tfl.mul(dy, share)
    y = tfl.average_pool_2d(
        windows.around(tfl, scaled), padding="VALID", filter_height=height, filter_width=width, stride_h=1, stride_w=1
    )  # fmt: skip
    y.shape = image
    return to_data_format(tfl, y, data_format)


def _pixels(windows: _Windows) -> np.ndarray:
    """Return how many pixels of the image, rather than of its padding, each window has: [oh,ow]."""
    budget.require_room(windows.padded[0] * windows.padded[1], 8, "AvgPoolGrad")
    counts = []
    for size, (before, _), kernel, step, count in zip(
        windows.image, windows.pads, windows.kernel, windows.stride, windows.count
    ):
        begins = np.arange(count) * step - before
        counts.append(np.minimum(begins + kernel, size) - np.maximum(begins, 0))
    return np.outer(*counts)


@lowers
@in_float32
def MaxPoolGrad(tfl, x, y, dy, *, ksize, strides, padding, data_format="NHWC", explicit_paddings=()):
    """The gradient where ARG_MAX finds each window's maximum, the first of several: DEPTH_TO_SPACE puts windows that do
    not overlap side by side, others are an ADD of what each place of the windows gives."""
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    shape = shape_of(x, 4)
    windows = _Windows.of(
        shape, spatial_values(ksize, data_format), strides, padding, data_format, (1, 1, 1, 1), explicit_paddings
    )  # fmt: skip
    which = tfl.arg_max(
        tfl.pack(*windows.slices(tfl, x, -np.inf), axis=4), np.array(4, np.int32), output_type="INT32"
    )  # fmt: skip
    parts = [select(tfl, tfl.equal(which, place), dy, 0.0) for place in range(len(list(windows.places())))]
    down, right = windows.kernel
    if windows.stride == windows.kernel and down == right and not any(map(any, windows.pads)):
        whole = tfl.depth_to_space(tfl.concatenation(*parts, axis=3), block_size=down)
        rest = [(0, size - count * down) for size, count in zip(windows.image, windows.count)]
        dx = pad(tfl, whole, rest)
    else:
        dx = _add_up(tfl, windows, parts)
    dx.shape = shape
    return to_data_format(tfl, dx, data_format)


def _add_up(tfl: Lowering, windows: _Windows, parts: Sequence[Value]) -> Value:
    """Return the sum [n,h,w,c] of what stands at each place of the windows: [n,oh,ow,c] for each."""
    wide = []
    for begins, part in zip(windows.places(), parts):
        ends = [size - begin - span for size, begin, span in zip(windows.padded, begins, windows.span)]
        wide.append(pad(tfl, windows.spread(tfl, part), list(zip(begins, ends))))
    total = functools.reduce(tfl.add, wide)
    if not any(map(any, windows.pads)):
        return total
    begins = [0, *(before for before, _ in windows.pads), 0]
    return tfl.slice_(total, begins, [-1, *windows.image, -1])


def _channels_last_shape(tfl: Lowering, data_format: str) -> Shape:
    """Return the result's shape [n,h,w,c]."""
    shape = tfl.shape or ()
    require(len(shape) == 4, "the shape of the result is not known")
    return (shape[0], *shape[2:], shape[1]) if is_channels_first(data_format) else shape
