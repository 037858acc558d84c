"""Gradients of convolutions and pooling in three dimensions, as signatures that train have them.

Depth, height and width must be known. A volume is padded as the op padded it; for each place of a window, all windows
together take one strided slice of it, [n,od,oh,ow,channels].
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fuseconv.ir.dims import Dim, Shape, product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.nn.window_gradients import MOST_PLACES, filter_gradient
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.data_format import (
    channels_last,
    is_channels_first,
    pad,
    same_pads,
    spatial_values,
    to_data_format,
)
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, select
from fuseconv.lower.support.type_promotion import in_float32

_Attrs = Sequence[int]


@dataclass(frozen=True)
class _Axis:
    """Windows along one dimension of `size` elements: how many, of which reach, and what is padded."""

    size: int
    kernel: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def padded(self) -> int:
        return self.before + self.size + self.after

    @property
    def count(self) -> int:
        return (self.padded - (self.kernel - 1) * self.dilation - 1) // self.stride + 1

    @property
    def span(self) -> int:
        """How many elements there are from the first window's begin to the last one's."""
        return (self.count - 1) * self.stride + 1

    @property
    def is_apart(self) -> bool:
        """Whether the windows stand side by side."""
        return self.kernel == self.stride and not self.before and not self.after


def _axes(
    volume: Shape, kernel: _Attrs, strides: _Attrs, padding: str, data_format: str, dilations: _Attrs = (1,) * 5
) -> list[_Axis]:  # fmt: skip
    """Read the attributes of an op on a volume [n,d,h,w,c]; kernel: the window's sizes."""
    require(math.prod(kernel) <= MOST_PLACES, f"a window of {list(kernel)} is too large")
    axes = []
    steps, spaces = spatial_values(strides, data_format), spatial_values(dilations, data_format)
    sizes = static_dims(volume[1:4], "depth, height and width")
    for size, width, step, space in zip(sizes, kernel, steps, spaces):
        pads = same_pads(size, width, step, space) if padding == "SAME" else None
        axes.append(_Axis(size, width, step, space, *(pads or (0, 0))))
    return axes


def _slices(tfl: Lowering, x: Value, axes: Sequence[_Axis], outside: float | None = None) -> list[Value]:
    """Return for each place of the windows the elements of x [n,d,h,w,c] that stand there; `outside`: padding."""
    wide = pad(tfl, x, [(axis.before, axis.after) for axis in axes], outside)
    steps = [1, *(axis.stride for axis in axes), 1]
    return [
        tfl.strided_slice(
            wide, [0, *place, 0], [0, *(at + axis.span for at, axis in zip(place, axes)), 0], steps,
            begin_mask=0b10001, end_mask=0b10001,
        )
        for place in _places(axes)
    ]  # fmt: skip


def _places(axes: Sequence[_Axis]) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(0, axis.kernel * axis.dilation, axis.dilation) for axis in axes)))


def _stretched(tfl: Lowering, x: Value, axes: Sequence[_Axis], repeat: bool) -> Value:
    """Return x [n,od,oh,ow,c] with each element as often as the stride says in each dimension, or once with zeros
    behind."""
    dims: list[Dim] = list(shape_of(x, 5))
    for at, axis in enumerate(axes, 1):
        if axis.stride > 1:
            flat = reshape(tfl, x, (product(dims[: at + 1]), 1, product(dims[at + 1 :])), x)
            zeros = np.array([[0, 0], [0, axis.stride - 1], [0, 0]], np.int32)
            more = tfl.tile(flat, tfl.ints([1, axis.stride, 1])) if repeat else tfl.pad(flat, zeros)
            dims[at] = dims[at] * axis.stride
            x = reshape(tfl, more, dims, x)
    return x


def _added_up(tfl: Lowering, parts: Sequence[Value], axes: Sequence[_Axis]) -> Value:
    """Return the sum [n,d,h,w,c] of what stands at each place of the windows: [n,od,oh,ow,c] for each."""
    made: list[Value] = []
    spread: dict[Value, Value] = {}
    for place, part in zip(_places(axes), parts):
        if part not in spread:
            whole = _stretched(tfl, part, axes, repeat=False)
            spread[part] = tfl.slice_(whole, [0] * 5, [-1, *(axis.span for axis in axes), -1])
        pads = [(at, axis.padded - at - axis.span) for at, axis in zip(place, axes)]
        made.append(pad(tfl, spread[part], pads))
    total = functools.reduce(tfl.add, made)
    if any(axis.before or axis.after for axis in axes):
        total = tfl.slice_(total, [0, *(axis.before for axis in axes), 0], [-1, *(axis.size for axis in axes), -1])
    return total


def _with_rest(tfl: Lowering, x: Value, axes: Sequence[_Axis]) -> Value:
    """Return what stands in windows side by side, with zeros where the volume has no window any more."""
    return pad(tfl, x, [(0, axis.size - axis.count * axis.stride) for axis in axes])


@lowers
@in_float32
def Conv3DBackpropFilterV2(
    tfl, x, filter_sizes, dy, *, strides, padding, data_format="NDHWC", dilations=(1, 1, 1, 1, 1)
):  # fmt: skip
    """BATCH_MATMUL of what the windows took, transposed, and of the gradient; of each group of channels, if there are
    any."""
    shape = static_dims(tfl.shape or (), "the shape of the filter")
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    axes = _axes(shape_of(x, 5), shape[:3], strides, padding, data_format, dilations)
    return filter_gradient(tfl, _slices(tfl, x, axes), dy, shape)


@lowers
@in_float32
def AvgPool3DGrad(tfl, image_sizes, dy, *, ksize, strides, padding, data_format="NDHWC"):
    """The gradient, divided by the elements of each window: a TILE of it where windows stand side by side, else an ADD
    of it at each place of the windows."""
    dy = channels_last(tfl, dy, data_format)
    volume = _channels_last_shape(tfl, data_format)
    axes = _axes(volume, spatial_values(ksize, data_format), strides, padding, data_format)
    share = tfl.mul(dy, _shares(axes))
    if all(axis.is_apart for axis in axes):
        dx = _with_rest(tfl, _stretched(tfl, share, axes, repeat=True), axes)
    else:
        dx = _added_up(tfl, [share] * len(_places(axes)), axes)
    dx.shape = volume
    return to_data_format(tfl, dx, data_format)


def _shares(axes: Sequence[_Axis]) -> np.ndarray:
    """Return 1 over how many elements of the volume, rather than of its padding, each window has: [1,od,oh,ow,1], or
    a scalar."""
    if not any(axis.before or axis.after for axis in axes):
        return np.array(1 / math.prod(axis.kernel for axis in axes), np.float32)
    counts = []
    for axis in axes:
        begins = np.arange(axis.count) * axis.stride - axis.before
        counts.append(np.minimum(begins + axis.kernel, axis.size) - np.maximum(begins, 0))
    return (1 / functools.reduce(np.multiply.outer, counts))[None, ..., None].astype(np.float32)


@lowers
@in_float32
def MaxPool3DGrad(tfl, x, y, dy, *, ksize, strides, padding, data_format="NDHWC", TInput=None):
    """The gradient where ARG_MAX finds each window's maximum, the first of several: PACK puts windows that stand side
    by side together, others are an ADD of what each place of the windows gives.

    So do TensorFlow's oneDNN kernel and MaxPoolGrad; its other CPU kernel gives the gradient to all of several."""
    x, dy = channels_last(tfl, x, data_format), channels_last(tfl, dy, data_format)
    volume = shape_of(x, 5)
    axes = _axes(volume, spatial_values(ksize, data_format), strides, padding, data_format)
    slices = _slices(tfl, x, axes, -np.inf)
    which = tfl.arg_max(tfl.pack(*slices, axis=5), np.array(5, np.int32), output_type="INT32")
    parts = [select(tfl, elementwise(tfl, "EQUAL", which, place), dy, 0.0) for place in range(len(slices))]
    if all(axis.is_apart for axis in axes):
        dx = _with_rest(tfl, _side_by_side(tfl, parts, axes), axes)
    else:
        dx = _added_up(tfl, parts, axes)
    dx.shape = volume
    return to_data_format(tfl, dx, data_format)


def _side_by_side(tfl: Lowering, parts: list[Value], axes: Sequence[_Axis]) -> Value:
    """Return what stands at each place of windows [n,od,oh,ow,c] as one volume, without what has no window."""
    dims: list[Dim] = list(shape_of(parts[0], 5))
    for at, axis in reversed([*enumerate(axes, 1)]):
        if axis.kernel > 1:
            dims[at] = axis.count * axis.kernel
            groups = (parts[first : first + axis.kernel] for first in range(0, len(parts), axis.kernel))
            parts = [reshape(tfl, tfl.pack(*group, axis=at + 1), dims, group[0]) for group in groups]
    return parts[0]


def _channels_last_shape(tfl: Lowering, data_format: str) -> Shape:
    """Return the result's shape [n,d,h,w,c]."""
    shape = tfl.shape or ()
    require(len(shape) == 5, "the shape of the result is not known")
    return (shape[0], *shape[2:], shape[1]) if is_channels_first(data_format) else shape
