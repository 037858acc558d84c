"""Operations of XLA, as JAX's models hold them: products, convolutions, windows, gathers and pads of any layout."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Value
from fuseconv.ir.slice_spec import Take
from fuseconv.lower.ops.array.concat_and_split import PadV2
from fuseconv.lower.ops.array.gather_scatter import GatherNd
from fuseconv.lower.ops.array.slice import XlaDynamicSlice, slice_dims
from fuseconv.lower.ops.math.einsum import Einsum
from fuseconv.lower.ops.math.reduction import Cumsum, CumulativeLogsumexp, running
from fuseconv.lower.ops.nn.convolution import Conv2D, Conv2DBackpropInput, DepthwiseConv2dNative
from fuseconv.lower.ops.nn.pooling import AvgPool, MaxPool
from fuseconv.lower.rules import Lowering, constant_of, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise
from fuseconv.lower.support.type_promotion import cast
from fuseconv.tf.operands import content_of
from fuseconv.tf.xla_dimension_numbers import Convolution, Dot, Gather

_RUNNING = {"Max": "MAXIMUM", "Min": "MINIMUM", "Mul": "MUL"}
_RUNNING_ALONE = ("Mul", "LogAddExp")


@lowers
def XlaOptimizationBarrier(tfl, *inputs):
    """Nothing: it only keeps XLA from moving operations."""
    return list(inputs)


@lowers("XlaDot", "XlaDotV2")
def XlaDot(tfl, lhs, rhs, *, dimension_numbers, precision_config=""):
    """FULLY_CONNECTED, BATCH_MATMUL or MUL, as of an Einsum."""
    require(lhs.dtype is rhs.dtype is tfl.dtype, f"the product of {lhs.dtype} and {rhs.dtype} is {tfl.dtype}")
    numbers = Dot.parse(dimension_numbers)
    letters = iter(string.ascii_letters)
    left = [next(letters) for _ in shape_of(lhs)]
    right = [next(letters) for _ in shape_of(rhs)]
    for a, b in zip(numbers.lhs_contracting + numbers.lhs_batch, numbers.rhs_contracting + numbers.rhs_batch):
        right[b] = left[a]
    made = [left[axis] for axis in (*numbers.lhs_batch, *numbers.free(len(left), False))]
    made += [right[axis] for axis in numbers.free(len(right), True)]
    return Einsum(tfl, lhs, rhs, equation=f"{''.join(left)},{''.join(right)}->{''.join(made)}")


@lowers("XlaConv", "XlaConvV2")
def XlaConv(
    tfl, lhs, rhs, window_strides, padding, lhs_dilation, rhs_dilation, feature_group_count, *, dimension_numbers,
    precision_config="", batch_group_count=1,
):  # fmt: skip
    """CONV_2D, DEPTHWISE_CONV_2D where each feature is a group, or TRANSPOSE_CONV where the input is spread."""
    numbers = Convolution.parse(dimension_numbers)
    rank = len(shape_of(lhs))
    require(rank in (3, 4), "TFLite has no such convolution of three dimensions")
    require(batch_group_count == 1, "the batch is in groups")
    (groups,) = _ints(feature_group_count)
    strides, spread, dilations = (_ints(value) for value in (window_strides, lhs_dilation, rhs_dilation))
    pads = _pairs(padding)
    x = tfl.transpose(lhs, list(numbers.input))
    filter = tfl.transpose(rhs, list(numbers.kernel))
    if rank == 3:
        x, filter = tfl.expand_dims(x, tfl.ints(1)), tfl.expand_dims(filter, tfl.ints(0))
        strides, spread, dilations, pads = [1, *strides], [1, *spread], [1, *dilations], [(0, 0), *pads]
    if set(spread) == {1}:
        y = _convolved(tfl, x, filter, strides, pads, dilations, groups)
    else:
        require(set(strides) == {1}, "the input is spread, and the windows have strides")
        require(groups == 1, "the input is spread, and the features are in groups")
        y = _spread(tfl, x, filter, spread, pads, dilations)
    if rank == 3:
        y = tfl.squeeze(y, squeeze_dims=[1])
    return tfl.transpose(y, np.argsort(numbers.output).tolist())


@lowers
def XlaReduceWindow(
    tfl, x, init_value, window_dimensions, window_strides, base_dilations, window_dilations, padding, *, computation
):  # fmt: skip
    """MAX_POOL_2D; AVERAGE_POOL_2D and MUL for a sum. Where the windows are all that is before an element CUMSUM, or
    what Cumprod and CumulativeLogsumexp are made of."""
    require(isinstance(computation, str), "the function that reduces the windows is not a sum, maximum or minimum")
    strides, shape = _ints(window_strides), shape_of(x)
    spread = {*_ints(base_dilations), *_ints(window_dilations)}
    require(spread == {1}, "windows with gaps are not supported")
    start = constant_of(init_value, "what the windows start from")
    cumulative = _cumulative(shape, window_dimensions, padding) if set(strides) == {1} else None
    if cumulative is not None and _is_identity(computation, start, x.dtype):
        axis, reverse = cumulative
        if computation == "Add":
            return Cumsum(tfl, x, tfl.ints(axis), reverse=reverse)
        if computation == "LogAddExp":
            return CumulativeLogsumexp(tfl, x, tfl.ints(axis), reverse=reverse)
        return running(tfl, _RUNNING[computation], x, tfl.ints(axis), start.item(), reverse=reverse)
    require(computation not in _RUNNING_ALONE, "windows of products and logarithms hold all before an element only")
    window, pads = _ints(window_dimensions), _pairs(padding)
    touched = [axis for axis, (size, ends) in enumerate(zip(window, pads)) if size != 1 or any(ends)]
    touched += [axis for axis, stride in enumerate(strides) if stride != 1 and axis not in touched]
    if computation == "Add":
        require(not start.any(), "the sum does not start from 0")
    least = computation == "Add" or _is_identity(computation, start, x.dtype)
    require(least, "the windows do not start from the least number there is")
    require(len(shape) == 4 and set(touched) <= {1, 2}, "windows go over the rows and columns of images only")
    require(computation != "Min" or x.dtype.is_float, "TFLite has pools of floats only")
    return _pooled(tfl, x, computation, window[1:3], strides[1:3], pads[1:3])


def _cumulative(shape: Shape, window_dimensions: Value, padding: Value) -> tuple[int, bool] | None:
    """Return the axis along which windows hold all elements before each, or all behind it (True); None if they hold
    others. Sizes may be symbolic."""
    window, pads = content_of(window_dimensions), content_of(padding)
    if window is None or pads is None:
        return None
    ends = [tuple(row) for row in np.reshape(pads, [-1, 2])]
    touched = [axis for axis, size in enumerate(window) if size != 1 or ends[axis] != (0, 0)]
    if len(touched) != 1 or window[touched[0]] != shape[touched[0]]:
        return None
    (axis,) = touched
    whole = {(window[axis] - 1, 0): False, (0, window[axis] - 1): True}
    return (axis, whole[ends[axis]]) if ends[axis] in whole else None


@lowers
def XlaPad(tfl, x, padding_value, padding_low, padding_high, padding_interior):
    """PADV2; where an amount is negative, STRIDED_SLICE."""
    low, high = _ints(padding_low), _ints(padding_high)
    require(not any(_ints(padding_interior)), "padding between the elements is not supported")
    cuts = [Take(max(-before, 0), min(after, 0) or None) for before, after in zip(low, high)]
    x = slice_dims(tfl, x, cuts)
    amounts = np.maximum(np.array([low, high], np.int32).T, 0)
    return PadV2(tfl, x, tfl.const(amounts), padding_value) if amounts.any() else x


@lowers
def XlaGather(tfl, operand, start_indices, slice_sizes, *, dimension_numbers, indices_are_sorted=False):
    """GATHER_ND of slices at indices that MAXIMUM and MINIMUM clamp into the operand; SLICE for one index."""
    numbers = Gather.parse(dimension_numbers)
    require(not numbers.operand_batching, "dimensions of the operand and of the indices that go together")
    shape, indices, held = shape_of(operand), shape_of(start_indices), content_of(slice_sizes)
    require(held is not None, "the size of a slice is not known")
    sizes = list(held)
    if numbers.index_vector == len(indices):
        start_indices, indices = tfl.expand_dims(start_indices, tfl.ints(len(indices))), (*indices, 1)
    else:
        order = [axis for axis in range(len(indices)) if axis != numbers.index_vector]
        start_indices = tfl.transpose(start_indices, [*order, numbers.index_vector])
        indices = (*(indices[axis] for axis in order), indices[numbers.index_vector])
    where = cast(tfl, start_indices, types.INT32)
    kept = [size for axis, size in enumerate(sizes) if axis not in numbers.collapsed]
    if len(indices) == 1:
        starts = tfl.scatter_nd(tfl.ints([[axis] for axis in numbers.index_map]), where, tfl.ints([len(shape)]))
        return reshape(tfl, XlaDynamicSlice(tfl, operand, starts, slice_sizes), kept, operand)
    whole = all(axis in numbers.index_map or sizes[axis] == size for axis, size in enumerate(shape))
    single = all(sizes[axis] == 1 for axis in numbers.index_map)
    require(whole and single, "the slices are neither single elements nor all of a dimension")
    last = static_dims([shape[axis] for axis in numbers.index_map], "the size of what is gathered from")
    where = tfl.maximum(tfl.minimum(where, tfl.ints([size - 1 for size in last])), tfl.ints([0] * len(last)))
    rest = [axis for axis in range(len(shape)) if axis not in numbers.index_map]
    made = GatherNd(tfl, tfl.transpose(operand, [*numbers.index_map, *rest]), where)
    batch = list(indices[:-1])
    made = reshape(tfl, made, [*batch, *kept], made, operand)
    places = [axis for axis in range(len(batch) + len(kept)) if axis not in numbers.offset]
    return tfl.transpose(made, np.argsort([*places, *numbers.offset]).tolist())


def _convolved(
    tfl: Lowering, x: Value, filter: Value, strides: Sequence[int], pads: Sequence[tuple[int, int]],
    dilations: Sequence[int], groups: int,
) -> Value:  # fmt: skip
    """Build a convolution, channels last, pads as [(before, after)]; depthwise where each group has one input
    channel."""
    require(all(amount >= 0 for ends in pads for amount in ends), "a convolution with negative padding")
    options = {
        "strides": [1, *strides, 1], "dilations": [1, *dilations, 1], "padding": "EXPLICIT",
        "explicit_paddings": [0, 0, *itertools.chain(*pads), 0, 0],
    }  # fmt: skip
    height, width, inputs, outputs = static_dims(shape_of(filter), "the shape of the filter")
    if groups > 1 and inputs == 1:
        depthwise = tfl.reshape(filter, [height, width, groups, outputs // groups])
        (y,) = DepthwiseConv2dNative(tfl, x, depthwise, **options)
    else:
        (y,) = Conv2D(tfl, x, filter, **options)
    return y


def _spread(
    tfl: Lowering, x: Value, filter: Value, spread: Sequence[int], pads: Sequence[tuple[int, int]],
    dilations: Sequence[int],
) -> Value:  # fmt: skip
    """Build the convolution of a dilated input: a transposed convolution with the filter reversed."""
    turned = constant_of(filter, "the filter of a transposed convolution")[::-1, ::-1].swapaxes(2, 3)
    reaches = [(size - 1) * dilation + 1 for size, dilation in zip(turned.shape, dilations)]
    crops = [(reach - 1 - before, reach - 1 - after) for reach, (before, after) in zip(reaches, pads)]
    require(all(amount >= 0 for ends in crops for amount in ends), "a transposed convolution with padding")
    rows: list[Dim] = []
    for size, step, reach, ends in zip(shape_of(x)[1:3], spread, reaches, crops):
        rows.append((size - 1) * step + reach - sum(ends))
    sizes = static_dims(rows, "the size of a transposed convolution")
    (y,) = Conv2DBackpropInput(
        tfl, tfl.ints(tuple(sizes)), tfl.const(np.ascontiguousarray(turned)), x, strides=[1, *spread, 1],
        padding="EXPLICIT", dilations=[1, *dilations, 1], explicit_paddings=[0, 0, *itertools.chain(*crops), 0, 0],
    )  # fmt: skip
    return y


def _pooled(
    tfl: Lowering, x: Value, computation: str, window: Sequence[int], strides: Sequence[int],
    pads: Sequence[tuple[int, int]],
) -> Value:  # fmt: skip
    """Build a sum, maximum or minimum over windows: average · size, or MaxPool of negated values for the minimum."""
    size, steps = [1, *window, 1], [1, *strides, 1]
    if computation == "Add":
        amounts = np.array([(0, 0), *pads, (0, 0)], np.int32)
        padded = tfl.pad(x, amounts) if amounts.any() else x
        (mean,) = AvgPool(tfl, padded, ksize=size, strides=steps, padding="VALID")
        return elementwise(tfl, "MUL", mean, int(np.prod(window)))
    negated: Callable[[Value], Value] = tfl.neg if computation == "Min" else lambda value: value
    ends = [0, 0, *itertools.chain(*pads), 0, 0]
    return negated(MaxPool(tfl, negated(x), ksize=size, strides=steps, padding="EXPLICIT", explicit_paddings=ends))


def _is_identity(computation: str, start: np.ndarray, dtype: types.DType) -> bool:
    """Return whether windows start from what changes no number that it is joined with."""
    if computation in ("Add", "Mul"):
        return bool(np.all(start == (computation == "Mul")))
    if dtype.is_float:
        return bool(np.all((-start if computation == "Min" else start) <= _lowest(dtype)))
    return bool(np.all(start == (np.iinfo(dtype.numpy).max if computation == "Min" else _lowest(dtype))))


def _lowest(dtype: types.DType) -> float:
    """Return the identity of the maximum for a type: the lowest finite number."""
    kind = dtype.numpy
    return float(ml_dtypes.finfo(kind).min) if dtype.is_float else int(np.iinfo(kind).min)


def _ints(value: Value) -> list[int]:
    return [int(number) for number in constant_of(value, "what says how windows and slices lie").reshape(-1)]


def _pairs(value: Value) -> list[tuple[int, int]]:
    numbers = _ints(value)
    return list(zip(numbers[::2], numbers[1::2]))
