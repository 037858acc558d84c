"""Shape functions of XLA's operations."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import dims
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.operands import UnknownShape, agree, elements, extents, ints, same_shape, shape_of
from fuseconv.tf.shape_functions.registry import Shapes, infers
from fuseconv.tf.xla_dimension_numbers import Convolution, Dot, Gather


@infers("XlaDot", "XlaDotV2")
def xla_dot(op: Op, lhs: Value, rhs: Value, *, dimension_numbers: str | bytes = b"") -> Shapes:
    left, right, numbers = shape_of(lhs), shape_of(rhs), Dot.parse(dimension_numbers)
    batch = [left[axis] for axis in numbers.lhs_batch]
    own = [left[axis] for axis in numbers.free(len(left), False)]
    return (*batch, *own, *(right[axis] for axis in numbers.free(len(right), True)))


@infers("XlaConv", "XlaConvV2")
def xla_conv(
    op: Op,
    lhs: Value,
    rhs: Value,
    window_strides: Value,
    padding: Value,
    lhs_dilation: Value,
    rhs_dilation: Value,
    feature_group_count: Value,
    *,
    dimension_numbers: str | bytes = b"",
    batch_group_count: int = 1,
) -> Shapes:
    image, kernel, numbers = shape_of(lhs), shape_of(rhs), Convolution.parse(dimension_numbers)
    if not len(image) == len(kernel) == len(numbers.input) == len(numbers.kernel) == len(numbers.output):
        raise UnknownShape
    result: list[Dim] = [0] * len(image)
    batch, *spatial, feature = numbers.output
    result[batch] = image[numbers.input[0]] // batch_group_count
    result[feature] = kernel[numbers.kernel[-1]]
    rows = zip(spatial, ints(window_strides), ints(lhs_dilation), ints(rhs_dilation), _pairs(padding), strict=True)
    for place, (axis, stride, spread, dilation, pads) in enumerate(rows):
        size = _spread(image[numbers.input[1 + place]], spread)
        result[axis] = _windows(size, kernel[numbers.kernel[place]], stride, dilation, pads)
    return tuple(result)


@infers("XlaReduceWindow")
def xla_reduce_window(
    op: Op,
    x: Value,
    init_value: Value,
    window_dimensions: Value,
    window_strides: Value,
    base_dilations: Value,
    window_dilations: Value,
    padding: Value,
) -> Shapes:
    pads = elements(padding)  # which are sizes where the windows are all that is before an element
    ends = zip(pads[::2], pads[1::2])
    steps = map(ints, (window_strides, base_dilations, window_dilations))
    rows = zip(shape_of(x), elements(window_dimensions), *steps, ends, strict=True)
    return tuple(
        _windows(_spread(size, spread), window, stride, dilation, pads)
        for size, window, stride, spread, dilation, pads in rows
    )


@infers("XlaSort")
def xla_sort(op: Op, x: Value) -> Shapes:
    return x.shape


@infers("XlaKeyValueSort")
def xla_key_value_sort(op: Op, keys: Value, values: Value) -> Shapes:
    return [same_shape([keys.shape, values.shape])] * 2


@infers("XlaPad")
def xla_pad(
    op: Op, x: Value, padding_value: Value, padding_low: Value, padding_high: Value, padding_interior: Value
) -> Shapes:
    rows = zip(shape_of(x), ints(padding_low), ints(padding_high), ints(padding_interior), strict=True)
    return tuple(_spread(size, interior + 1) + low + high for size, low, high, interior in rows)


@infers("XlaGather")
def xla_gather(
    op: Op, operand: Value, start_indices: Value, slice_sizes: Value, *, dimension_numbers: str | bytes = b""
) -> Shapes:
    numbers, indices, sizes = Gather.parse(dimension_numbers), shape_of(start_indices), extents(slice_sizes)
    left_out = numbers.collapsed + numbers.operand_batching
    taken = [size for axis, size in enumerate(sizes) if axis not in left_out]
    batch = [size for axis, size in enumerate(indices) if axis != numbers.index_vector]
    axes = range(len(taken) + len(batch))
    inside = sorted({*numbers.offset}.intersection(axes))
    agree(len(inside) == len(numbers.offset) == len(taken), f"its slices go to the dimensions {[*numbers.offset]}")
    slices, rest = iter(taken), iter(batch)
    return tuple(next(slices if axis in inside else rest) for axis in axes)


def _pairs(padding: Value) -> list[tuple[int, int]]:
    numbers = [size for size in elements(padding) if isinstance(size, int)]
    if len(numbers) != len(elements(padding)):
        raise UnknownShape
    return list(zip(numbers[::2], numbers[1::2]))


def _spread(size: Dim, step: int) -> Dim:
    """Return the size of a dimension after dilation."""
    return size if step == 1 else (size - 1) * step + 1


def _windows(size: Dim, window: Dim, stride: int, dilation: int, pads: Sequence[Dim]) -> Dim:
    before, after = pads
    return dims.ceildiv(size + before + after - (window - 1) * dilation, stride)
