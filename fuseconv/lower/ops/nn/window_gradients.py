"""Gradients of convolutions and pooling in two and three dimensions, as signatures that train have them.

An image [n,h,w,c], or a volume [n,d,h,w,c], is padded as the op padded it; for each place in a window, all windows
together take one strided slice of it, [n,oh,ow,c]. Where SAME pads by sizes that are not known, the padded image is
computed first, and has the op's windows without padding.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, Shape, fresh, product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.data_format import (
    channels_last,
    explicit_pads,
    is_channels_first,
    pad,
    padded_same,
    same_pads,
    spatial_values,
    to_data_format,
)
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, select
from fuseconv.lower.support.type_promotion import cast, in_float32

# Each place of a window is a few ops of its own.
_MOST_PLACES = 256
_SIZES = {2: "height and width", 3: "depth, height and width"}
_Attrs = Sequence[int]


class _Windows(NamedTuple):
    """Windows over an image or a volume: for each spatial dimension its size, the window's, and where windows stand."""

    image: list[Dim]
    kernel: list[int]
    stride: list[int]
    dilation: list[int]
    pads: list[tuple[int, int]]

    @classmethod
    def of(
        cls, image: Shape, kernel: _Attrs, strides: _Attrs, padding: str, data_format: str,
        dilations: _Attrs | None = None, explicit_paddings: _Attrs = (),
    ) -> _Windows:  # fmt: skip
        """Read the attributes of an op on an image, channels last; kernel: the window's spatial sizes."""
        require(math.prod(kernel) <= _MOST_PLACES, f"a window of {list(kernel)} is too large")
        size, stride = list(image[1:-1]), spatial_values(strides, data_format)
        dilation = spatial_values(dilations or [1] * len(image), data_format)
        pads: list[tuple[int, int] | None] = [(0, 0)] * len(size)
        if padding == "SAME":
            pads = [same_pads(*window) for window in zip(size, kernel, stride, dilation)]
        elif padding == "EXPLICIT":
            pads = [*explicit_pads(explicit_paddings, data_format)]
        known = [each for each in pads if each is not None]
        sizes = _SIZES[len(size)]
        require(len(known) == len(size), f"{sizes} must be known when the model is converted, as SAME pads by them")
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

    @property
    def are_padded(self) -> bool:
        return any(map(any, self.pads))

    @property
    def stand_side_by_side(self) -> bool:
        """Whether each pixel is in one window at most, and windows leave no gaps."""
        return self.kernel == self.stride and not self.are_padded

    def places(self) -> Iterator[list[int]]:
        for place in np.ndindex(*self.kernel):
            yield [at * dilation for at, dilation in zip(place, self.dilation)]

    def slices(self, tfl: Lowering, x: Value, outside: float | None = None) -> list[Value]:
        """Return for each place the elements of x that stand there in the windows; `outside`: what x is padded with."""
        wide = pad(tfl, x, self.pads, outside)
        return [
            _inside(tfl, wide, place, [reach - 1 - at for reach, at in zip(self.reach, place)], self.stride)
            for place in self.places()
        ]

    def spread(self, tfl: Lowering, dy: Value) -> Value:
        """Return dy [n,oh,ow,c] with each element where its window begins, zeros between."""
        behind_last = [step - 1 for step in self.stride]
        if not any(behind_last):
            return dy
        return _inside(tfl, _stretched(tfl, dy, self.stride), [0] * len(behind_last), behind_last)

    def behind(self, tfl: Lowering, dy: Value, sizes: Value) -> list[int] | Value:
        """Return `rest`, an int32 vector where it is not known; dy: a number for each window, sizes: the image's
        spatial sizes, an int32 vector."""
        rest = [each for each in self.rest if isinstance(each, int)]
        if len(rest) == len(self.image):
            return rest
        begins = tfl.mul(tfl.slice_(tfl.shape_(dy), [1], [len(self.image)]), self.stride)
        beyond = [sum(pads) + step - 1 for pads, step in zip(self.pads, self.stride)]
        return tfl.add(tfl.sub(sizes, begins), beyond)

    def around(self, tfl: Lowering, dy: Value, sizes: Value) -> Value:
        """Return the spread dy with as many zeros around it as make windows of stride 1 one for each pixel."""
        before = [reach - 1 - first for reach, (first, _) in zip(self.reach, self.pads)]
        fits = min(before) >= 0 and all(reach > last for reach, (_, last) in zip(self.reach, self.pads))
        require(fits, "it is padded by more than its window")
        after = [-last for _, last in self.pads]
        return _widened(tfl, self.spread(tfl, dy), before, self.behind(tfl, dy, sizes), after)

    def pixels(self, name: str) -> np.ndarray:
        """Return how many pixels of the image, rather than of its padding, each window has: [oh,ow].

        name: of the op that asks. Refuses it if the sizes are not known."""
        image = static_dims(self.image, _SIZES[len(self.image)])
        budget.require_room(math.prod(image), 8, name)
        counts = []
        for size, (before, after), kernel, step in zip(image, self.pads, self.kernel, self.stride):
            begins = np.arange((size + before + after - kernel) // step + 1) * step - before
            counts.append(np.minimum(begins + kernel, size) - np.maximum(begins, 0))
        return functools.reduce(np.multiply.outer, counts)


def _padded_at_run_time(
    tfl: Lowering, x: Value, kernel: _Attrs, strides: _Attrs, padding: str, data_format: str,
    dilations: _Attrs | None = None, value: float | None = None,
) -> tuple[Value, str]:  # fmt: skip
    """Return x [n,h,w,c] and its padding; where SAME pads by sizes that are not known, x padded, and VALID."""
    shape = shape_of(x)
    stride, dilation = spatial_values(strides, data_format), spatial_values(dilations or [1] * len(shape), data_format)
    if not _depends_on_run(shape, kernel, stride, padding, dilation):
        return x, padding
    return padded_same(tfl, x, [*zip(kernel, stride, dilation)], value), "VALID"


def _depends_on_run(image: Shape, kernel: _Attrs, strides: _Attrs, padding: str, dilation: _Attrs) -> bool:
    """Return whether SAME pads an image [n,h,w,c] by sizes that are not known."""
    return padding == "SAME" and None in map(same_pads, image[1:-1], kernel, strides, dilation)


def _padded_sizes(tfl: Lowering, sizes: Value, kernel: _Attrs, strides: _Attrs, dilation: _Attrs) -> Value:
    """Return the spatial sizes of an image that SAME pads, an int32 vector."""
    steps = tfl.ints([*strides])
    whole = tfl.mul(tfl.floor_div(tfl.add(sizes, [step - 1 for step in strides]), steps), steps)
    more = [(size - 1) * rate + 1 - step for size, step, rate in zip(kernel, strides, dilation)]
    return tfl.maximum(tfl.add(whole, more), sizes)


def _without_padding(tfl: Lowering, wide: Value, sizes: Value) -> Value:
    """Return of a padded image [n,h,w,c] what has these spatial sizes: SAME pads by half, rounded down, in front."""
    count = len(shape_of(wide)) - 2
    more = tfl.sub(tfl.slice_(tfl.shape_(wide), [1], [count]), sizes)
    begin = tfl.concatenation(tfl.ints([0]), tfl.floor_div(more, tfl.ints([2])), tfl.ints([0]), axis=0)
    return tfl.slice_(wide, begin, tfl.concatenation(tfl.ints([-1]), sizes, tfl.ints([-1]), axis=0))


def _stretched(tfl: Lowering, dy: Value, stride: Sequence[int], repeat: bool = False) -> Value:
    """Return dy [n,oh,ow,c] with each element as often as the stride says in each dimension, or once with zeros
    behind: [n,oh * stride,ow * stride,c]."""
    dims: list[Dim] = list(shape_of(dy))
    x = dy
    for at, step in enumerate(stride, 1):
        if step > 1:
            flat = reshape(tfl, x, [dims[0], product(dims[1 : at + 1]), 1, product(dims[at + 1 :])], dy)
            zeros = np.array([[0, 0], [0, 0], [0, step - 1], [0, 0]], np.int32)
            x = tfl.tile(flat, tfl.ints([1, 1, step, 1])) if repeat else tfl.pad(flat, zeros)
            dims[at] = dims[at] * step
    return reshape(tfl, x, dims, dy)


def _inside(
    tfl: Lowering, x: Value, before: Sequence[int], after: Sequence[int], steps: Sequence[int] = ()
) -> Value:  # fmt: skip
    """Return x [n,h,w,c] without so many pixels before and after, in height and width, and of the rest those in
    steps."""
    outer = 1 | 1 << len(before) + 1
    mask = outer | sum(1 << axis for axis, count in enumerate(after, 1) if count == 0)
    ends = [0, *(-count for count in after), 0]
    steps = [1, *(steps or [1] * len(before)), 1]
    return tfl.strided_slice(x, [0, *before, 0], ends, steps, begin_mask=outer, end_mask=mask)


def _widened(
    tfl: Lowering, x: Value, before: Sequence[int], behind: Sequence[int] | Value, more: Sequence[int]
) -> Value:
    """Return x [n,h,w,c] with zeros before it in height and width, and with `behind` + `more` of them after it."""
    if not isinstance(behind, Value):
        return pad(tfl, x, [(first, last + rest) for first, last, rest in zip(before, more, behind)])
    after = tfl.pad(tfl.reshape(tfl.add(behind, more), [len(more), 1]), np.array([[1, 1], [1, 0]], np.int32))
    return tfl.pad(x, tfl.add(after, np.array([[0, 0], *([count, 0] for count in before), [0, 0]], np.int32)))


def _spatial_sizes(tfl: Lowering, sizes: Value, data_format: str) -> Value:
    """Return the spatial sizes of an operand that holds all sizes of an image, as an int32 vector."""
    first = 2 if is_channels_first(data_format) else 1
    return tfl.slice_(cast(tfl, sizes, types.INT32), [first], [len(data_format) - 2])


@lowers
@in_float32
def Conv2DBackpropFilter(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=(),
    use_cudnn_on_gpu=True,
):  # fmt: skip
    """BATCH_MATMUL of what the windows took, transposed, and of the gradient; of each group of channels, if there are
    any."""
    return _filter_gradient(tfl, x, dy, strides, padding, data_format, dilations, explicit_paddings)


@lowers
@in_float32
def Conv3DBackpropFilterV2(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NDHWC", dilations=(1, 1, 1, 1, 1)
):  # fmt: skip
    """As Conv2DBackpropFilter, in three dimensions."""
    return _filter_gradient(tfl, x, dy, strides, padding, data_format, dilations)


def _filter_gradient(
    tfl: Lowering, x: Value, dy: Value, strides: _Attrs, padding: str, data_format: str, dilations: _Attrs,
    explicit_paddings: _Attrs = (),
) -> Value:  # fmt: skip
    """Return the gradient of a filter [*window, in, out]."""
    *window, inputs, outputs = shape = static_dims(tfl.shape or (), "the shape of the filter")
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    x, padding = _padded_at_run_time(tfl, x, window, strides, padding, data_format, dilations)
    image = shape_of(x, len(shape))
    windows = _Windows.of(image, window, strides, padding, data_format, dilations, explicit_paddings)
    slices = windows.slices(tfl, x)
    taken = tfl.concatenation(*slices, axis=len(window) + 1) if len(slices) > 1 else slices[0]
    (channels,) = static_dims(image[-1:], "the channels")
    places, groups = math.prod(window), channels // inputs
    require(groups * inputs == channels and outputs % groups == 0, "its channels cannot be divided into groups")
    if groups == 1:
        flat = tfl.reshape(taken, [-1, places * inputs]), tfl.reshape(dy, [-1, outputs])
        return reshape(tfl, tfl.batch_matmul(*flat, adj_x=True), shape)
    rows = tfl.transpose(tfl.reshape(taken, [-1, places, groups, inputs]), [2, 0, 1, 3])
    rows = tfl.reshape(rows, [groups, -1, places * inputs])
    columns = tfl.transpose(tfl.reshape(dy, [-1, groups, outputs // groups]), [1, 0, 2])
    by_group = tfl.transpose(tfl.batch_matmul(rows, columns, adj_x=True), [1, 0, 2])
    return reshape(tfl, by_group, shape)


@lowers
@in_float32
def DepthwiseConv2dNativeBackpropFilter(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NHWC", dilations=(1, 1, 1, 1), explicit_paddings=()
):  # fmt: skip
    """The SUM of the gradient times what stood at each place of the windows."""
    height, width, channels, multiplier = static_dims(tfl.shape or (), "the shape of the filter")
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    x, padding = _padded_at_run_time(tfl, x, (height, width), strides, padding, data_format, dilations)
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
    dy, sizes = channels_last(tfl, dy, data_format), _spatial_sizes(tfl, input_sizes, data_format)
    shape = image = _channels_last_shape(tfl, data_format)
    given = sizes
    window = (height, width), spatial_values(strides, data_format)
    if _depends_on_run(shape, *window, padding, spatial_values(dilations, data_format)):
        given = _padded_sizes(tfl, sizes, *window, spatial_values(dilations, data_format))
        image, padding = (shape[0], fresh("padded"), fresh("padded"), shape[3]), "VALID"
    windows = _Windows.of(image, (height, width), strides, padding, data_format, dilations, explicit_paddings)
    wide = windows.around(tfl, dy, given)
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
    if given is not sizes:
        y = _without_padding(tfl, y, sizes)
        y.shape = shape
    return to_data_format(tfl, y, data_format)


@lowers
@in_float32
def AvgPoolGrad(tfl, image_sizes, dy, *, ksize, strides, padding, data_format="NHWC"):
    """AVERAGE_POOL_2D of the gradient, divided by the pixels of each window, with zeros between and around it."""
    dy, sizes = channels_last(tfl, dy, data_format), _spatial_sizes(tfl, image_sizes, data_format)
    shape = image = _channels_last_shape(tfl, data_format)
    (height, width), steps = spatial_values(ksize, data_format), spatial_values(strides, data_format)
    scaled, given = dy, sizes
    if padding == "SAME" and not all(isinstance(size, int) for size in shape[1:3]):
        # The average of ones, zeros around them, is how much of a window is image.
        given = _padded_sizes(tfl, sizes, (height, width), steps, (1, 1))
        ones = tfl.fill(tfl.concatenation(tfl.ints([1]), sizes, tfl.ints([1]), axis=0), np.array(1, np.float32))
        ones.shape = (1, fresh("height"), fresh("width"), 1)
        ones = padded_same(tfl, ones, [(height, steps[0], 1), (width, steps[1], 1)])
        part = tfl.average_pool_2d(
            ones, padding="VALID", filter_height=height, filter_width=width, stride_h=steps[0], stride_w=steps[1]
        )
        scaled = tfl.div(dy, part)
        scaled.shape = dy.shape
        image, padding = (shape[0], fresh("padded"), fresh("padded"), shape[3]), "VALID"
    windows = _Windows.of(image, (height, width), strides, padding, data_format)
    if windows.are_padded:
        share = (height * width / windows.pixels(tfl.name))[None, :, :, None].astype(np.float32)
        scaled = dy if (share == 1).all() else tfl.mul(dy, share)
    wide = windows.around(tfl, scaled, given)
    y = tfl.average_pool_2d(wide, padding="VALID", filter_height=height, filter_width=width, stride_h=1, stride_w=1)
    y.shape = image
    if given is not sizes:
        y = _without_padding(tfl, y, sizes)
        y.shape = shape
    return to_data_format(tfl, y, data_format)


@lowers
@in_float32
def AvgPool3DGrad(tfl, image_sizes, dy, *, ksize, strides, padding, data_format="NDHWC"):
    """The gradient, divided by the elements of each window: a TILE of it where windows stand side by side, else an ADD
    of it at each place of the windows."""
    dy = channels_last(tfl, dy, data_format)
    volume = _channels_last_shape(tfl, data_format)
    windows = _Windows.of(volume, spatial_values(ksize, data_format), strides, padding, data_format)
    elements = windows.pixels(tfl.name)[None, ..., None] if windows.are_padded else np.array(math.prod(windows.kernel))
    share = tfl.mul(dy, (1 / elements).astype(np.float32))
    behind = windows.behind(tfl, dy, _spatial_sizes(tfl, image_sizes, data_format))
    if windows.stand_side_by_side:
        dx = _before_rest(tfl, windows, _stretched(tfl, share, windows.stride, repeat=True), behind)
    else:
        dx = _added_up(tfl, windows, [share] * math.prod(windows.kernel), behind)
    dx.shape = volume
    return to_data_format(tfl, dx, data_format)


@lowers
@in_float32
def MaxPoolGrad(tfl, x, y, dy, *, ksize, strides, padding, data_format="NHWC", explicit_paddings=()):
    """The gradient where ARG_MAX finds each window's maximum, the first of several: DEPTH_TO_SPACE puts windows that
    stand side by side together, others are an ADD of what each place of the windows gives."""
    return _max_gradient(tfl, x, dy, ksize, strides, padding, data_format, explicit_paddings)


@lowers
@in_float32
def MaxPool3DGrad(tfl, x, y, dy, *, ksize, strides, padding, data_format="NDHWC", TInput=None):
    """As MaxPoolGrad; PACK puts windows that stand side by side together.

    So do TensorFlow's oneDNN kernel and MaxPoolGrad; its other CPU kernel gives the gradient to all of several."""
    return _max_gradient(tfl, x, dy, ksize, strides, padding, data_format)


def _max_gradient(
    tfl: Lowering, x: Value, dy: Value, ksize: _Attrs, strides: _Attrs, padding: str, data_format: str,
    explicit_paddings: _Attrs = (),
) -> Value:  # fmt: skip
    """Return the gradient of x, of which each window's first maximum gets that of the window: dy [n,oh,ow,c]."""
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    rank = len(data_format)
    shape, kernel = shape_of(x, rank), spatial_values(ksize, data_format)
    wide, padding = _padded_at_run_time(tfl, x, kernel, strides, padding, data_format, value=-np.inf)
    image = shape_of(wide, rank)
    windows = _Windows.of(image, kernel, strides, padding, data_format, None, explicit_paddings)
    slices = windows.slices(tfl, wide, -np.inf)
    which = tfl.arg_max(tfl.pack(*slices, axis=rank), np.array(rank, np.int32), output_type="INT32")
    behind = windows.behind(tfl, dy, tfl.slice_(tfl.shape_(wide), [1], [rank - 2]))
    parts = [select(tfl, elementwise(tfl, "EQUAL", which, place), dy, 0.0) for place in range(len(slices))]
    if windows.stand_side_by_side:
        dx = _before_rest(tfl, windows, _side_by_side(tfl, parts, windows.kernel), behind)
    else:
        dx = _added_up(tfl, windows, parts, behind)
    dx.shape = image
    if wide is not x:
        dx = _without_padding(tfl, dx, tfl.slice_(tfl.shape_(x), [1], [rank - 2]))
        dx.shape = shape
    return to_data_format(tfl, dx, data_format)


def _side_by_side(tfl: Lowering, parts: list[Value], kernel: Sequence[int]) -> Value:
    """Return what stands at each place of windows [n,oh,ow,c] as one image, without what has no window."""
    if len(kernel) == 2 and kernel[0] == kernel[1]:
        return tfl.depth_to_space(tfl.concatenation(*parts, axis=3), block_size=kernel[0])
    dims: list[Dim] = list(shape_of(parts[0]))
    for at, size in reversed([*enumerate(kernel, 1)]):
        if size > 1:
            dims[at] = dims[at] * size
            groups = (parts[first : first + size] for first in range(0, len(parts), size))
            parts = [reshape(tfl, tfl.pack(*group, axis=at + 1), dims, group[0]) for group in groups]
    return parts[0]


def _added_up(tfl: Lowering, windows: _Windows, parts: Sequence[Value], behind: Sequence[int] | Value) -> Value:
    """Return the sum [n,h,w,c] of what stands at each place of the windows: [n,oh,ow,c] for each."""
    spread = {part: windows.spread(tfl, part) for part in dict.fromkeys(parts)}
    wide = [
        _widened(tfl, spread[part], place, behind, [-at for at in place])
        for place, part in zip(windows.places(), parts)
    ]
    total = functools.reduce(tfl.add, wide)
    return _inside(tfl, total, *zip(*windows.pads)) if windows.are_padded else total


def _before_rest(tfl: Lowering, windows: _Windows, x: Value, behind: Sequence[int] | Value) -> Value:
    """Return what stands in windows side by side, with zeros where the image has no window any more."""
    return _widened(tfl, x, [0] * len(windows.kernel), behind, [1 - size for size in windows.kernel])


def _channels_last_shape(tfl: Lowering, data_format: str) -> Shape:
    """Return the result's shape, channels last."""
    shape = tfl.shape or ()
    require(len(shape) == len(data_format), "the shape of the result is not known")
    return (shape[0], *shape[2:], shape[1]) if is_channels_first(data_format) else shape
