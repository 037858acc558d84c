"""Gradients of convolutions and pooling, as signatures that train have them.

An image is padded as the op padded it; for each place (r, c) of a window, all windows together take one strided slice
of it, [n, oh, ow, channels]. Where SAME pads by the height and width, these must be known.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, Shape
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
from fuseconv.lower.support.type_promotion import cast, in_float32

# Each place of a window is a few ops of its own.
MOST_PLACES = 256
_Attrs = Sequence[int]


@dataclass(frozen=True)
class _Windows:
    """Windows over an image: for height and width, its size, the window's, and where the windows stand."""

    image: list[Dim]
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
        require(len(kernel) == 2 and kernel[0] * kernel[1] <= MOST_PLACES, f"a window of {list(kernel)} is too large")
        size = list(image[1:3])
        stride, dilation = spatial_values(strides, data_format), spatial_values(dilations, data_format)
        pads: list[tuple[int, int] | None] = [(0, 0), (0, 0)]
        if padding == "SAME":
            pads = [same_pads(*window) for window in zip(size, kernel, stride, dilation)]
        elif padding == "EXPLICIT":
            pads = [*explicit_pads(explicit_paddings, data_format)]
        known = [each for each in pads if each is not None]
        require(len(known) == 2, "height and width must be known when the model is converted, as SAME pads by them")
        return cls(size, list(kernel), stride, dilation, known)

    @property
    def padded(self) -> list[Dim]:
        return [size + sum(pads) for size, pads in zip(self.image, self.pads)]

    @property
    def reach(self) -> list[int]:
        return [(kernel - 1) * dilation + 1 for kernel, dilation in zip(self.kernel, self.dilation)]

    @property
    def rest(self) -> list[Dim]:
        """How much of the padded image lies behind the pixels where the first to the last window begin."""
        free = [size - reach for size, reach in zip(self.padded, self.reach)]
        return [room - room // step * step + reach - 1 for room, step, reach in zip(free, self.stride, self.reach)]

    def places(self) -> Iterator[list[int]]:
        for place in np.ndindex(*self.kernel):
            yield [at * dilation for at, dilation in zip(place, self.dilation)]

    def slices(self, tfl: Lowering, x: Value, outside: float | None = None) -> list[Value]:
        """Return for each place the elements of x [n,h,w,c] that stand there in the windows; `outside`: padding."""
        wide = pad(tfl, x, self.pads, outside)
        return [
            _inside(tfl, wide, place, [reach - 1 - at for reach, at in zip(self.reach, place)], self.stride)
            for place in self.places()
        ]

    def spread(self, tfl: Lowering, dy: Value) -> Value:
        """Return dy [n,oh,ow,c] with each element where its window begins, zeros between."""
        (n, height, width, c), (down, right) = shape_of(dy, 4), self.stride
        if self.stride == [1, 1]:
            return dy
        rows = _followed_by_zeros(tfl, reshape(tfl, dy, [n, height, 1, width * c], dy), down - 1)
        cells = reshape(tfl, rows, [n, height * down * width, 1, c], dy)
        whole = reshape(
            tfl, _followed_by_zeros(tfl, cells, right - 1), [n, height * down, width * right, c], dy
        )  # fmt: skip
        return _inside(tfl, whole, [0, 0], [down - 1, right - 1])

    def behind(self, tfl: Lowering, dy: Value, sizes: Value) -> list[int] | Value:
        """Return `rest`, int32 [2] where it is not known; dy: a number for each window [n,oh,ow,c], sizes: the image's
        height and width, int32 [2]."""
        rest = [each for each in self.rest if isinstance(each, int)]
        if len(rest) == 2:
            return rest
        begins = tfl.mul(tfl.slice_(tfl.shape_(dy), [1], [2]), self.stride)
        beyond = [sum(pads) + step - 1 for pads, step in zip(self.pads, self.stride)]
        return tfl.add(tfl.sub(sizes, begins), beyond)

    def around(self, tfl: Lowering, dy: Value, sizes: Value) -> Value:
        """Return the spread dy with as many zeros around it as make windows of stride 1 one for each pixel."""
        before = [reach - 1 - first for reach, (first, _) in zip(self.reach, self.pads)]
        fits = min(before) >= 0 and all(reach > last for reach, (_, last) in zip(self.reach, self.pads))
        require(fits, "it is padded by more than its window")
        after = [-last for _, last in self.pads]
        return _widened(tfl, self.spread(tfl, dy), before, self.behind(tfl, dy, sizes), after)


def _inside(
    tfl: Lowering, x: Value, before: Sequence[int], after: Sequence[int], steps: Sequence[int] = (1, 1)
) -> Value:
    """Return x [n,h,w,c] without so many pixels before and after, in height and width, and of the rest those in
    steps."""
    mask = 0b1001 | sum(0b10 << axis for axis, count in enumerate(after) if count == 0)
    ends = [0, *(-count for count in after), 0]
    return tfl.strided_slice(x, [0, *before, 0], ends, [1, *steps, 1], begin_mask=0b1001, end_mask=mask)


def _widened(
    tfl: Lowering, x: Value, before: Sequence[int], behind: Sequence[int] | Value, more: Sequence[int]
) -> Value:
    """Return x [n,h,w,c] with zeros before it in height and width, and with `behind` + `more` of them after it."""
    if not isinstance(behind, Value):
        return pad(tfl, x, [(first, last + rest) for first, last, rest in zip(before, more, behind)])
    after = tfl.pad(tfl.reshape(tfl.add(behind, more), [2, 1]), np.array([[1, 1], [1, 0]], np.int32))
    return tfl.pad(x, tfl.add(after, np.array([[0, 0], *([count, 0] for count in before), [0, 0]], np.int32)))


def _height_and_width(tfl: Lowering, sizes: Value, data_format: str) -> Value:
    """Return the spatial sizes of an operand that holds all sizes of an image, as int32 [2]."""
    return tfl.slice_(cast(tfl, sizes, types.INT32), [2 if is_channels_first(data_format) else 1], [2])


def _followed_by_zeros(tfl: Lowering, x: Value, count: int) -> Value:
    """Return x [a,b,1,d] as [a,b,1 + count,d]."""
    return tfl.pad(x, np.array([[0, 0], [0, 0], [0, count], [0, 0]], np.int32)) if count else x


@lowers
@in_float32
def Conv2DBackpropFilter(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=(),
    use_cudnn_on_gpu=True,
):  # fmt: skip
    """BATCH_MATMUL of what the windows took, transposed, and of the gradient; of each group of channels, if there are
    any."""
    height, width, inputs, outputs = static_dims(tfl.shape or (), "the shape of the filter")
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    windows = _Windows.of(
        shape_of(x, 4), (height, width), strides, padding, data_format, dilations, explicit_paddings
    )  # fmt: skip
    return filter_gradient(tfl, windows.slices(tfl, x), dy, [height, width, inputs, outputs])


def filter_gradient(tfl: Lowering, slices: Sequence[Value], dy: Value, shape: Sequence[int]) -> Value:
    """Return the gradient of a filter of `shape` [*window, in, out]. slices: for each place of the windows the elements
    that stand there, channels last; dy: the gradient of the results, of their shape, with the filters last."""
    *window, inputs, outputs = shape
    taken = tfl.concatenation(*slices, axis=len(window) + 1) if len(slices) > 1 else slices[0]
    (channels,) = static_dims(shape_of(slices[0])[-1:], "the channels")
    places, groups = math.prod(window), channels // inputs
    require(groups * inputs == channels and outputs % groups == 0, "its channels cannot be divided into groups")
    if groups == 1:
        flat = tfl.reshape(taken, [-1, places * inputs]), tfl.reshape(dy, [-1, outputs])
        return reshape(tfl, tfl.batch_matmul(*flat, adj_x=True), shape)
    rows = tfl.transpose(tfl.reshape(taken, [-1, places, groups, inputs]), [2, 0, 1, 3])
    rows = tfl.reshape(rows, [groups, -1, places * inputs])
    columns = tfl.transpose(tfl.reshape(dy, [-1, groups, outputs // groups]), [1, 0, 2])
    product = tfl.transpose(tfl.batch_matmul(rows, columns, adj_x=True), [1, 0, 2])
    return reshape(tfl, product, shape)


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
    wide = windows.around(tfl, dy, _height_and_width(tfl, input_sizes, data_format))
    turned = tfl.reverse_v2(tfl.reverse_v2(filter, [0]), [1])
    weights = tfl.reshape(turned, [1, height, width, channels * multiplier])
    y = tfl.depthwise_conv_2d(
        wide, weights, np.zeros(channels * multiplier, np.float32), depth_multiplier=1, padding="VALID", stride_h=1,
        stride_w=1, dilation_h_factor=windows.dilation[0], dilation_w_factor=windows.dilation[1],
    )  # fmt: skip
    y.shape = (*image[:3], channels * multiplier)
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
    scaled = dy
    if any(map(any, windows.pads)):
        share = (height * width / _pixels(windows))[None, :, :, None].astype(np.float32)
        scaled = dy if (share == 1).all() else tfl.mul(dy, share)
    wide = windows.around(tfl, scaled, _height_and_width(tfl, image_sizes, data_format))
    y = tfl.average_pool_2d(wide, padding="VALID", filter_height=height, filter_width=width, stride_h=1, stride_w=1)
    y.shape = image
    return to_data_format(tfl, y, data_format)


def _pixels(windows: _Windows) -> np.ndarray:
    """Return how many pixels of the image, rather than of its padding, each window has: [oh,ow]."""
    image = static_dims(windows.image, "height and width")
    budget.require_room(math.prod(image), 8, "AvgPoolGrad")
    counts = []
    for size, (before, after), kernel, step in zip(image, windows.pads, windows.kernel, windows.stride):
        begins = np.arange((size + before + after - kernel) // step + 1) * step - before
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
    behind = windows.behind(tfl, dy, tfl.slice_(tfl.shape_(x), [1], [2]))
    parts = [select(tfl, tfl.equal(which, place), dy, 0.0) for place in range(len(list(windows.places())))]
    down, right = windows.kernel
    if windows.stride == windows.kernel and down == right and not any(map(any, windows.pads)):
        whole = tfl.depth_to_space(tfl.concatenation(*parts, axis=3), block_size=down)
        dx = _widened(tfl, whole, [0, 0], behind, [1 - down] * 2)
    else:
        dx = _add_up(tfl, windows, parts, behind)
    dx.shape = shape
    return to_data_format(tfl, dx, data_format)


def _add_up(tfl: Lowering, windows: _Windows, parts: Sequence[Value], behind: Sequence[int] | Value) -> Value:
    """Return the sum [n,h,w,c] of what stands at each place of the windows: [n,oh,ow,c] for each."""
    wide = [
        _widened(tfl, windows.spread(tfl, part), place, behind, [-at for at in place])
        for place, part in zip(windows.places(), parts)
    ]
    before, after = zip(*windows.pads)
    total = functools.reduce(tfl.add, wide)
    return _inside(tfl, total, before, after) if any(before + after) else total


def _channels_last_shape(tfl: Lowering, data_format: str) -> Shape:
    """Return the result's shape [n,h,w,c]."""
    shape = tfl.shape or ()
    require(len(shape) == 4, "the shape of the result is not known")
    return (shape[0], *shape[2:], shape[1]) if is_channels_first(data_format) else shape
