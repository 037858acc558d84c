"""Convolutions of any layout -> Conv2D, DepthwiseConv2dNative, Conv3D, Conv2DBackpropInput or
Conv3DBackpropInputV2."""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.ops.shapes import padded
from fuseconv.load.stablehlo.scope import Scope, axes, ints, number, refuse_unless, tensor_type

# float32 counts to this without a gap.
_LARGEST_FLOAT = 1 << 24
# Each is a convolution of its own.
_MOST_PARTS = 256


@dataclass
class Windows:
    """How the windows of a convolution lie over its spatial dimensions."""

    strides: list[int]
    pads: list[tuple[int, int]]
    spread: list[int]
    dilations: list[int]
    groups: int

    def with_first(self) -> Windows:
        """Return the windows over one more dimension in front, of size 1."""
        return Windows(
            [1, *self.strides], [(0, 0), *self.pads], [1, *self.spread], [1, *self.dilations], self.groups
        )


@imports
def convolution(tf: Scope, op: Operation, x: Value, kernel: Value) -> Value:
    """convolution(x, kernel) -> Conv2D(x, kernel), with Transposes where other dimensions are the channels."""
    return _any_layout(tf, op, x, kernel, ints(op.attribute("padding")))


@imports
def dynamic_conv(tf: Scope, op: Operation, x: Value, kernel: Value, padding: Value) -> Value:
    """A convolution whose paddings are an operand; PadV2 first, if they are computed."""
    if padding.is_const:
        return _any_layout(tf, op, x, kernel, ints(np.asarray(padding.data)))
    kind, (order, _, _) = tensor_type(op.operands[0]), conv_orders(op)
    spread = set(ints(op.attribute("lhs_dilation")))
    refuse_unless(spread == {1}, "what is padded by computed amounts has gaps between its elements")
    places = [order.index(axis) - 1 if 0 < order.index(axis) < kind.rank - 1 else -1 for axis in range(kind.rank)]
    count = kind.rank - 2
    amounts = tf.ConcatV2(tf.as_int32(padding), tf.const([[0, 0]]), 0)
    x = tf.PadV2(x, tf.GatherV2(amounts, [place % (count + 1) for place in places], 0), tf.same(0, x))
    return _any_layout(tf, op, x, kernel, [0] * 2 * count)


def _any_layout(tf: Scope, op: Operation, x: Value, kernel: Value, pads: list[int]) -> Value:
    """Make a convolution of any order of dimensions one of the order that TF has: transpose operands and result."""
    input_order, kernel_order, output_order = conv_orders(op)
    made, kind = tensor_type(op.results[0]).dtype, tensor_type(op.operands[0])
    windows = conv_windows(op, kind.rank - 2, pads)
    sizes = [kind.shape[axis] for axis in input_order]
    filter_sizes = [tensor_type(op.operands[1]).shape[axis] for axis in kernel_order]
    batches = number(op.attribute("batch_group_count"))
    grouped = windows.groups * batches > 1
    refuse_unless(None not in filter_sizes[: None if grouped else -2], "the shape of the filter is not known")
    if op.name == "dynamic_conv":  # what is padded has other sizes
        sizes = [sizes[0], *[None] * (kind.rank - 2), sizes[-1]]
    parts = _exact_parts(made, x, kernel, kernel_order, filter_sizes)
    if grouped and len(parts) > 1:
        parts = []
    computed = types.FLOAT32 if parts else made
    x, kernel = (value if value.dtype is computed else tf.Cast(value, dtype=computed) for value in (x, kernel))
    x, kernel = tf.transpose(x, input_order), tf.transpose(kernel, kernel_order)
    if op.has("window_reversal"):
        turned = [axis for axis, turn in enumerate(np.asarray(op.attribute("window_reversal")).reshape(-1)) if turn]
        kernel = tf.ReverseV2(kernel, turned) if turned else kernel
    if batches > 1:
        x, sizes = _batch_as_channels(tf, x, sizes, batches)
        windows.groups = batches
    spatial = kind.rank - 2
    refuse_unless(spatial <= 3, f"a convolution over {spatial} dimensions")
    added = list(range(1, 3 - spatial))
    for _ in added:
        x, kernel = tf.ExpandDims(x, 1), tf.ExpandDims(kernel, 0)
        windows, sizes, filter_sizes = windows.with_first(), [sizes[0], 1, *sizes[1:]], [1, *filter_sizes]
    of = functools.partial(_summed, parts=parts) if len(parts) > 1 else _convolved
    y = of(tf, x, kernel, windows, sizes, filter_sizes)
    if added:
        y = tf.Squeeze(y, squeeze_dims=added)
    y = y if y.dtype is made else tf.Cast(y, dtype=made)
    return tf.transpose(y, np.argsort(output_order).tolist())


def _exact_parts(
    made: DType, x: Value, kernel: Value, kernel_order: list[int], filter_sizes: list[int | None]
) -> list[int]:
    """Return how many input channels each part of a convolution of integers has; [] if there are no such parts. TFLite
    computes a part in float32, which is exact: its largest sum, of the largest numbers of x times the weights, is no
    larger than float32 counts to. The parts are added up as int32, which wraps around as it does in XLA."""
    if not all(dtype.is_integer for dtype in (made, x.dtype, kernel.dtype)) or None in filter_sizes:
        return []
    *window, channels, _ = (size or 0 for size in filter_sizes)
    limit = min(_LARGEST_FLOAT, _largest(made) - 1) // _largest(x.dtype)
    parts = [channels]
    if kernel.data is None:
        each = _largest(kernel.dtype) * math.prod(window)
        if each * channels > limit:
            most = limit // each
            rest = channels % most if most else 0
            parts = [*[most] * (channels // most), *[rest] * (rest > 0)] if 0 < channels <= _MOST_PARTS * most else []
    else:
        sums = np.abs(kernel.data.astype(np.float64)).transpose(kernel_order).sum(tuple(range(len(window))))
        parts = _divided(sums, limit)
    return parts if len(parts) == 1 or (made is types.INT32 and len(parts) <= _MOST_PARTS) else []


def _divided(sums: np.ndarray, limit: int) -> list[int]:
    """Return how many rows [rows, columns], from the first on, can be added up each time without going beyond a limit;
    [] if one row goes beyond it."""
    parts, total = [0], np.zeros(sums.shape[1])
    if sums.max(initial=0) > limit:
        return []
    for row in sums:
        total = total + row
        if total.max(initial=0) > limit:
            parts, total = [*parts, 0], row
        parts[-1] += 1
    return parts


def _summed(
    tf: Scope, x: Value, kernel: Value, windows: Windows, sizes: list[int | None], filter_sizes: list[int | None],
    parts: list[int],
) -> Value:  # fmt: skip
    """Convolve each part of the input channels by itself, and add the results up as int32."""
    made = []
    for end, count in zip(itertools.accumulate(parts), parts):
        begin, rank = end - count, len(sizes)
        own = tf.Slice(x, [0] * (rank - 1) + [begin], [-1] * (rank - 1) + [count])
        weights = tf.Slice(kernel, [0] * (rank - 2) + [begin, 0], [-1] * (rank - 2) + [count, -1])
        y = _convolved(tf, own, weights, windows, [*sizes[:-1], count], [*filter_sizes[:-2], count, filter_sizes[-1]])
        made.append(tf.Cast(y, dtype=types.INT32))
    return functools.reduce(tf.AddV2, made)


def _largest(dtype: DType) -> int:
    limits = np.iinfo(dtype.numpy)
    return max(-int(limits.min), int(limits.max))


def conv_orders(op: Operation) -> tuple[list[int], list[int], list[int]]:
    """Return the dimensions of input, kernel and output in the order of Conv2D: spatial ones before the channels."""
    found = []
    for side, first, last, var in (
        ("input", ["input_batch_dimension"], ["input_feature_dimension"], op.operands[0]),
        ("kernel", [], ["kernel_input_feature_dimension", "kernel_output_feature_dimension"], op.operands[1]),
        ("output", ["output_batch_dimension"], ["output_feature_dimension"], op.results[0]),
    ):
        spatial = ints(op.attribute(f"{side}_spatial_dimensions"))
        order = [*map(op.attribute, first), *spatial, *map(op.attribute, last)]
        rank = tensor_type(var).rank
        if len(order) != rank:
            raise DamagedError(f"a convolution orders {len(order)} dimensions of {rank}")
        found.append(axes(order, rank))
    return found[0], found[1], found[2]


def conv_windows(op: Operation, spatial: int, pads: list[int]) -> Windows:
    strides, spread, dilations = (ints(op.attribute(name)) for name in (
        "window_strides", "lhs_dilation", "rhs_dilation",
    ))  # fmt: skip
    if not len(strides) == len(spread) == len(dilations) == spatial == len(pads) // 2:
        raise DamagedError("a convolution has windows of another rank")
    if min([*strides, *spread, *dilations], default=1) < 1:
        raise DamagedError("a convolution has no stride")
    groups = number(op.attribute("feature_group_count"))
    return Windows(strides, list(zip(pads[::2], pads[1::2])), spread, dilations, groups)


def _batch_as_channels(
    tf: Scope, x: Value, sizes: list[int | None], groups: int
) -> tuple[Value, list[int | None]]:
    """Return x with each group of its batch as a group of channels: [G * N, ..., C] -> [N, ..., G * C]."""
    refuse_unless(None not in sizes, "a batch in groups has no known size")
    batch, *spatial, channels = (size or 0 for size in sizes)
    apart = tf.Reshape(x, [groups, batch // groups, *spatial, channels])
    rank = len(sizes)
    moved = tf.Transpose(apart, [*range(1, rank), 0, rank])
    made = [batch // groups, *spatial, groups * channels]
    return tf.Reshape(moved, made), list(made)


def _convolved(
    tf: Scope, x: Value, kernel: Value, windows: Windows, sizes: list[int | None], filter_sizes: list[int | None]
) -> Value:
    """Convolve x [N, spatial, C] with a kernel [spatial, C / groups, O]."""
    if set(windows.spread) != {1}:
        crops = _crops(windows, filter_sizes)
        dense = set(windows.strides) == {1} and windows.groups == 1
        fits = len(sizes) == 4 or set(windows.dilations) == {1}
        known = None not in (sizes[-1], *filter_sizes)
        if dense and fits and known:
            return _transposed(tf, x, kernel, windows, sizes, crops, filter_sizes[-1] or 0)
        gaps = [0, *(step - 1 for step in windows.spread), 0]
        x, sizes = padded(tf, x, tf.same(0, x), [0] * len(sizes), [0] * len(sizes), gaps, sizes)
    low, high = ([0, *(ends[side] for ends in windows.pads), 0] for side in (0, 1))
    options = {"strides": [1, *windows.strides, 1], "dilations": [1, *windows.dilations, 1]}
    if len(sizes) == 5 or min(*low, *high) < 0:
        x, sizes = padded(tf, x, tf.same(0, x), low, high, [0] * len(sizes), sizes)
        low, high = [0] * len(sizes), [0] * len(sizes)
    if options["dilations"] == [1] * len(sizes):
        del options["dilations"]
    attrs = {**options, "padding": "VALID"}
    if any(low) or any(high):
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [*itertools.chain(*zip(low, high))]}
    if len(sizes) == 5:
        return tf.add("Conv3D", [x, kernel], attrs, x.dtype)
    height, width, inputs, outputs = filter_sizes
    if windows.groups > 1 and inputs == 1 and outputs is not None and outputs % windows.groups == 0:
        kernel = tf.Reshape(kernel, [height or 0, width or 0, windows.groups, outputs // windows.groups])
        return tf.add("DepthwiseConv2dNative", [x, kernel], attrs, x.dtype)
    return tf.add("Conv2D", [x, kernel], attrs, x.dtype)


def _crops(windows: Windows, filter_sizes: list[int | None]) -> list[tuple[int, int]]:
    """Return how many rows of a whole transposed convolution are left out at each end."""
    reaches = [((size or 0) - 1) * dilation for size, dilation in zip(filter_sizes, windows.dilations)]
    return [(reach - before, reach - after) for reach, (before, after) in zip(reaches, windows.pads)]


def _transposed(
    tf: Scope, x: Value, kernel: Value, windows: Windows, sizes: list[int | None], crops: list[tuple[int, int]],
    outputs: int,
) -> Value:  # fmt: skip
    """Convolve a spread input: a transposed convolution with the filter turned around, and zeros beyond its reach. That
    of three dimensions has no crops of its own: a slice makes them."""
    spatial, rank = [*range(len(windows.spread))], len(sizes)
    turned = tf.Transpose(tf.ReverseV2(kernel, spatial), [*spatial, rank - 1, rank - 2])
    inside = [(max(low, 0), max(high, 0)) if rank == 4 else (0, 0) for low, high in crops]
    rows: list[int | Value] = []
    for axis, (step, ends, extent) in enumerate(zip(windows.spread, inside, _extents(windows, crops)), 1):
        size, more = sizes[axis], extent - step - sum(ends)
        rows.append(tf.AddV2(tf.Mul(tf.size(x, axis), step), more) if size is None else size * step + more)
    shape = tf.Pack(tf.size(x), *rows, outputs)
    attrs: dict[str, Any] = {"strides": [1, *windows.spread, 1], "padding": "VALID"}
    if rank == 4:
        attrs |= {"padding": "EXPLICIT", "explicit_paddings": [0, 0, *itertools.chain(*inside), 0, 0]}
    if set(windows.dilations) != {1}:
        attrs["dilations"] = [1, *windows.dilations, 1]
    y = tf.add("Conv3DBackpropInputV2" if rank == 5 else "Conv2DBackpropInput", [shape, turned, x], attrs, x.dtype)
    low, high = ([0, *(own[side] - of[side] for own, of in zip(inside, crops)), 0] for side in (0, 1))
    if not any([*low, *high]):
        return y
    made = [sizes[0], *(None if isinstance(row, Value) else row for row in rows), outputs]
    return padded(tf, y, tf.same(0, x), low, high, [0] * rank, made)[0]


def _extents(windows: Windows, crops: list[tuple[int, int]]) -> list[int]:
    """Return how many rows of the input a window reaches over."""
    return [crop + before + 1 for (crop, _), (before, _) in zip(crops, windows.pads)]
