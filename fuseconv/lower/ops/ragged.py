"""Lowering of ragged tensors: a tensor of values, and row splits.

A partition of values into n rows is a vector of n + 1 splits, int32 here: row i is what lies between splits[i] and
splits[i + 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.math.arithmetic import floor_quotient
from fuseconv.lower.ops.math.bincount import weighted
from fuseconv.lower.ops.segment import unsorted
from fuseconv.lower.rules import Lowering, Unsupported, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of
from fuseconv.lower.support.legalize_operands import broadcast_to, build_legalized, elementwise, filled, scalar, select
from fuseconv.lower.support.type_promotion import cast


class Elements(NamedTuple):
    """Elements of rows of known lengths: the row splits, and for each element its row and its index in the row."""

    splits: Value
    row: Value
    place: Value


@lowers
def RaggedTensorToTensor(tfl, shape, values, default_value, *partitions, row_partition_types):
    """GATHER of the values, behind which the default stands for what the rows lack."""
    all_splits = _all_splits(tfl, partitions, row_partition_types)
    given = tfl.reshape(cast(tfl, shape, types.INT32), [-1])
    count = tfl.sub(_length(tfl, all_splits[0]), 1)
    # Behind the last row stands one without elements, which is what there is beyond.
    at = tfl.minimum(_numbers(tfl, _wanted(tfl, given, 0, count)), count)
    for level, splits in enumerate(all_splits, 1):
        starts, ends = _bounds(tfl, splits)
        closed = tfl.concatenation(splits, tfl.ints([0]), axis=0)
        longest = tfl.maximum(tfl.reduce_max(tfl.sub(ends, starts), [0]), 0)
        start, end = (tfl.expand_dims(tfl.gather(closed, row, axis=0), -1) for row in (at, tfl.add(at, 1)))
        inner = elementwise(tfl, "ADD", start, _numbers(tfl, _wanted(tfl, given, level, longest)))
        # Values may lie behind the last row, if nobody asked that the splits be checked: TensorFlow reads none of them.
        beyond = tfl.sub(_length(tfl, all_splits[level]), 1) if level < len(all_splits) else _length(tfl, values)
        at = select(tfl, elementwise(tfl, "LESS", inner, end), inner, beyond)
    default = broadcast_to(tfl, default_value, (1, *shape_of(values)[1:]), values)

    def taken(wide: Value, nothing: Value) -> Value:
        return tfl.gather(tfl.concatenation(wide, nothing, axis=0), at, axis=0)

    return build_legalized(tfl, "GATHER", taken, values, default)


@lowers
def RaggedTensorToSparse(tfl, *splits_and_values):
    """PACK of the row and the place of each value, by CUMSUM of where rows end."""
    *all_splits, values = splits_and_values
    require(len(shape_of(values)) == 1, "values of more than one dimension are not supported")
    places, sizes = [], [tfl.sub(_length(tfl, all_splits[0]), 1)]
    for splits in all_splits:
        starts, ends = _bounds(tfl, cast(tfl, splits, types.INT32))
        lengths = tfl.sub(ends, starts)
        of = elements(tfl, lengths)
        places = [tfl.gather(place, of.row, axis=0) for place in places or [_numbers(tfl, sizes[0])]] + [of.place]
        sizes.append(tfl.maximum(tfl.reduce_max(lengths, [0]), 0))
    indices = cast(tfl, tfl.pack(*places, axis=1, values_count=len(places)), types.INT64)
    return [indices, values, cast(tfl, tfl.pack(*sizes, axis=0, values_count=len(sizes)), types.INT64)]


@lowers
def RaggedRange(tfl, starts, limits, deltas):
    """Each start, and the delta times the place in the row."""
    dtype = starts.dtype
    require(dtype in (types.INT32, types.INT64, types.FLOAT32), f"ranges of {dtype} are not supported")
    distance = elementwise(tfl, "SUB", limits, starts)
    if dtype.is_float:
        steps = tfl.ceil(elementwise(tfl, "DIV", distance, deltas))
    else:
        # A division rounded up, in the direction of the delta.
        sign = select(tfl, elementwise(tfl, "LESS", deltas, 0), -1, scalar(1, dtype))
        whole = elementwise(tfl, "ADD", distance, elementwise(tfl, "SUB", deltas, sign))
        long = dtype is types.INT64
        steps = floor_quotient(tfl, whole, deltas) if long else elementwise(tfl, "FLOOR_DIV", whole, deltas)
    lengths = tfl.reshape(tfl.maximum(cast(tfl, steps, types.INT32), 0), [-1])
    of = elements(tfl, lengths)
    first, step = (x if x.rank == 0 else tfl.gather(x, of.row, axis=0) for x in (starts, deltas))
    made = elementwise(tfl, "ADD", first, elementwise(tfl, "MUL", cast(tfl, of.place, dtype), step))
    return [cast(tfl, of.splits, tfl.dtype), made]


@lowers
def RaggedGather(tfl, *operands):
    """GATHER of the rows that the indices name, level by level."""
    *all_splits, values, indices = operands
    dims = shape_of(indices)
    made = [
        tfl.mul(iota(tfl, product(dims[:level]) + 1, indices), dim_scalar(tfl, dims[level], indices))
        for level in range(1, len(dims))
    ]
    at = reshape(tfl, cast(tfl, indices, types.INT32), (product(dims),), indices)
    for splits in all_splits:
        starts, ends = (tfl.gather(bound, at, axis=0) for bound in _bounds(tfl, cast(tfl, splits, types.INT32)))
        of = elements(tfl, tfl.sub(ends, starts))
        made.append(of.splits)
        at = tfl.add(tfl.gather(starts, of.row, axis=0), of.place)
    taken = build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, at, axis=0), values)
    return [*(cast(tfl, splits, all_splits[0].dtype) for splits in made), taken]


@lowers
def RaggedBincount(tfl, splits, values, size, weights, *, binary_output=False):
    """UNSORTED_SEGMENT_SUM of ONE_HOT, times the weights if there are any, by the row of each value."""
    starts, ends = _bounds(tfl, cast(tfl, splits, types.INT32))
    of = elements(tfl, tfl.sub(ends, starts))
    hot = weighted(tfl, values, size, weights, binary_output)
    kind = "UNSORTED_SEGMENT_MAX" if binary_output else "UNSORTED_SEGMENT_SUM"
    total = unsorted(tfl, kind, hot, of.row, _length(tfl, starts))
    return elementwise(tfl, "MAXIMUM", total, 0) if binary_output else total


def elements(tfl: Lowering, lengths: Value) -> Elements:
    """Return the elements of rows with these lengths, a vector of int32."""
    splits = tfl.concatenation(tfl.ints([0]), tfl.cumsum(lengths, tfl.const(0, types.INT32)), axis=0)
    total = _last(tfl, splits)
    ends = filled(tfl, lengths.shape, 1, types.INT32, lengths)
    ends = unsorted(tfl, "UNSORTED_SEGMENT_SUM", ends, _bounds(tfl, splits)[1], tfl.add(total, 1))
    # An element's row is the number of rows that end before it.
    numbers = _numbers(tfl, total)
    row = tfl.gather(tfl.cumsum(ends, tfl.const(0, types.INT32)), numbers, axis=0)
    return Elements(splits, row, tfl.sub(numbers, tfl.gather(splits, row, axis=0)))


def _all_splits(tfl: Lowering, partitions: Sequence[Value], kinds: Sequence[str]) -> list[Value]:
    """Return the splits of each partition, the outermost first, of the forms that TensorFlow has for them."""
    rows: Value | None = None
    made = []
    for partition, kind in zip(partitions, kinds):
        partition = cast(tfl, partition, types.INT32)
        if kind == "FIRST_DIM_SIZE":
            rows = tfl.reshape(partition, [])
        elif kind == "ROW_SPLITS":
            made.append(partition)
            rows = _last(tfl, partition)
        else:
            if kind != "VALUE_ROWIDS" or rows is None:
                raise Unsupported(f"a partition of the form {kind} is not supported there")
            once = filled(tfl, partition.shape, 1, types.INT32, partition)
            lengths = unsorted(tfl, "UNSORTED_SEGMENT_SUM", once, partition, rows)
            made.append(tfl.concatenation(tfl.ints([0]), tfl.cumsum(lengths, tfl.const(0, types.INT32)), axis=0))
            rows = _length(tfl, partition)
    return made


def _bounds(tfl: Lowering, splits: Value) -> tuple[Value, Value]:
    """Return where each row begins and ends."""
    shape_of(splits, 1)
    starts = tfl.strided_slice(splits, [0], [-1], [1], begin_mask=1)
    return starts, tfl.strided_slice(splits, [1], [0], [1], end_mask=1)


def _last(tfl: Lowering, splits: Value) -> Value:
    """Return how many elements the rows have together, a scalar."""
    return tfl.reduce_max(splits, [0])


def _length(tfl: Lowering, x: Value) -> Value:
    return dim_scalar(tfl, shape_of(x)[0], x)


def _numbers(tfl: Lowering, count: Value) -> Value:
    return tfl.range(scalar(0, types.INT32), count, scalar(1, types.INT32))


def _wanted(tfl: Lowering, given: Value, axis: int, own: Value) -> Value:
    """Return the size that the shape gives for an axis; the tensor's own where that is negative."""
    if given.shape == (1,) and axis:  # a scalar -1 stands for all
        return own
    size = tfl.gather(given, scalar(axis, types.INT32), axis=0)
    if size.data is not None:
        return size if int(size.data) >= 0 else own
    return select(tfl, tfl.less(size, 0), own, size)
