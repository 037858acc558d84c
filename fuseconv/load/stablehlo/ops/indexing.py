"""Gathers and scatters -> GatherV2, GatherNd, XlaDynamicSlice, TensorScatter...."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Var
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, axes, ints, number, refuse_unless, tensor_type

# What makes zeros of zeros.
_REPEATS = frozenset({"broadcast_in_dim", "convert", "dynamic_broadcast_in_dim", "reshape"})


@dataclass
class Numbers:
    """Which dimensions a gather or scatter goes along.

    window: places in the result (or updates) of the dimensions of a slice. left_out: dimensions of the operand of which
    a slice is 1, and which the result does not have. index_map: the operand's dimension that each number of an index is
    for. index_vector: the dimension of the indices that an index goes along. operand_batch, indices_batch: dimensions
    that go together."""

    window: list[int]
    left_out: list[int]
    index_map: list[int]
    index_vector: int
    operand_batch: list[int]
    indices_batch: list[int]

    @staticmethod
    def of(op: Operation, names: Sequence[str], rank: int, indices_rank: int) -> Numbers:
        window, left_out, index_map, operand_batch, indices_batch = (
            ints(op.attribute(name)) if op.has(name) else [] for name in names
        )
        vector = number(op.attribute("index_vector_dim"), indices_rank + 1)
        for listed in (left_out, index_map, operand_batch):
            axes(listed, rank)
        axes(indices_batch, indices_rank)
        if len(operand_batch) != len(indices_batch) or window != sorted(set(window)):
            raise DamagedError("the dimensions of a gather or scatter contradict each other")
        return Numbers(window, left_out, index_map, vector, operand_batch, indices_batch)

    def kept(self, rank: int) -> list[int]:
        """Return the operand's dimensions that a slice keeps, in order."""
        return [axis for axis in range(rank) if axis not in self.left_out and axis not in self.operand_batch]


@imports
def gather(tf: Scope, op: Operation, x: Value, indices: Value) -> Value:
    """Slices at indices, which are clamped so that each slice lies within x."""
    return _gathered(tf, op, x, indices, ints(op.attribute("slice_sizes")))


@imports
def dynamic_gather(tf: Scope, op: Operation, x: Value, indices: Value, sizes: Value) -> Value:
    """gather, with sizes of slices that are operands: they are sizes of x, or constants."""
    kind, made = tensor_type(op.operands[0]), tensor_type(op.results[0])
    numbers = gather_numbers(op)
    known: list[int | None] = [None] * kind.rank
    for axis, place in zip(numbers.kept(kind.rank), numbers.window):
        known[axis] = made.shape[place]
    for axis in (*numbers.left_out, *numbers.operand_batch):
        known[axis] = 1
    if sizes.is_const:
        known = [int(size) for size in np.asarray(sizes.data).reshape(-1)]
    return _gathered(tf, op, x, indices, known, sizes)


def gather_numbers(op: Operation) -> Numbers:
    names = (
        "offset_dims", "collapsed_slice_dims", "start_index_map", "operand_batching_dims",
        "start_indices_batching_dims",
    )  # fmt: skip
    return Numbers.of(op, names, tensor_type(op.operands[0]).rank, tensor_type(op.operands[1]).rank)


def _gathered(
    tf: Scope, op: Operation, x: Value, indices: Value, sizes: Sequence[int | None], all_sizes: Value | None = None
) -> Value:
    """all_sizes: the sizes as a vector, where they are not all known: such slices have all of a dimension, begin at its
    first element, or one index says where they start."""
    numbers, kind, start = gather_numbers(op), tensor_type(op.operands[0]), tensor_type(op.operands[1])
    if len(sizes) != kind.rank or len(numbers.window) != len(numbers.kept(kind.rank)):
        raise DamagedError("a gather has slices of another rank")
    where = index_last(tf, indices, numbers, start)
    batch = [axis for axis in range(start.rank) if axis != numbers.index_vector]
    row = len(numbers.index_map) == 1 and sizes[numbers.index_map[0]] == 1 and not tf.is_folded(indices)
    if not batch and not numbers.operand_batch and not row:
        return _single(tf, x, where, numbers, kind, sizes, all_sizes)
    x, kind = _cut(tf, x, numbers, kind, sizes)
    first = _first_elements(op, numbers, sizes)
    x = _up_to(tf, x, first, all_sizes)
    where, numbers = _moving_only(tf, where, numbers, start, kind, sizes, first)
    indexed = [*numbers.operand_batch, *numbers.index_map]
    moving = [axis for axis in numbers.index_map if sizes[axis] != 1]
    refuse_unless(all(sizes[axis] is not None for axis in moving), "the size of a slice is not known")
    if len(numbers.index_map) == 1 and not moving:
        where = _clamped(tf, where, x, numbers, kind, sizes)
        return _along_one(tf, x, tf.Squeeze(where, squeeze_dims=[-1]), numbers, kind.rank, batch)
    where = _clamped(tf, where, x, numbers, kind, sizes)
    where = with_offsets(tf, where, numbers, start, batch, moving, sizes)
    rest = [axis for axis in range(kind.rank) if axis not in indexed]
    made = tf.GatherNd(tf.transpose(x, [*indexed, *rest]), where, dtype=x.dtype)
    dims = [*(("batch", place) for place in range(len(batch))), *moving, *rest]
    ones = [axis for axis in numbers.kept(kind.rank) if axis in indexed and axis not in moving]
    return _placed(tf, made, dims, numbers, kind.rank, ones)


def _first_elements(op: Operation, numbers: Numbers, sizes: Sequence[int | None]) -> list[int]:
    """Return the dimensions of which slices have a number of elements that is not known, from the first one on: where
    the program joins indices of zeros and others."""
    made = op.operands[1].op
    if made is None or made.name != "concatenate" or made.attribute("dimension") != numbers.index_vector:
        return []
    zero: list[bool] = []
    for part in made.operands:
        zero += [is_zero(part)] * (tensor_type(part).shape[numbers.index_vector] or 0)
    return [axis for axis, known in zip(numbers.index_map, zero) if known and sizes[axis] is None]


def is_zero(var: Var) -> bool:
    """Return whether a program writes zeros: broadcast_in_dim(0)."""
    while var.op is not None and var.op.name in _REPEATS:
        var = var.op.operands[0]
    value = var.op.attribute("value") if var.op is not None and var.op.name == "constant" else None
    return isinstance(value, np.ndarray) and not value.any()


def _up_to(tf: Scope, x: Value, dims: Sequence[int], sizes: Value | None) -> Value:
    """Return the first elements of x along dimensions, of these sizes."""
    for axis in dims:
        assert sizes is not None
        size = tf.StridedSlice(sizes, [axis], [axis + 1], [1])
        begins, ends = tf.const([0] * axis + [0]), tf.ConcatV2(tf.const([0] * axis), tf.as_int32(size), 0)
        masks = {"begin_mask": (1 << axis + 1) - 1, "end_mask": (1 << axis) - 1}
        x = tf.StridedSlice(x, begins, ends, tf.const([1] * (axis + 1)), **masks)
    return x


def _moving_only(
    tf: Scope, where: Value, numbers: Numbers, start: TensorType, kind: TensorType, sizes: Sequence[int | None],
    first: Sequence[int],
) -> tuple[Value, Numbers]:  # fmt: skip
    """Return indices without the numbers for dimensions of which each slice has all, which are clamped to 0, or the
    first elements."""
    kept = [
        place for place, axis in enumerate(numbers.index_map)
        if axis in numbers.left_out or (axis not in first and (sizes[axis] is None or sizes[axis] != kind.shape[axis]))
    ]  # fmt: skip
    if len(kept) in (0, len(numbers.index_map)):
        return where, numbers
    rank, left = start.rank, replace(numbers, index_map=[numbers.index_map[place] for place in kept])
    if kept[-1] - kept[0] >= len(kept):
        return tf.add("GatherV2", [where, tf.const(kept), tf.const(rank - 1)], {}, where.dtype), left
    return tf.Slice(where, [0] * (rank - 1) + kept[:1], [-1] * (rank - 1) + [len(kept)]), left


def _along_one(tf: Scope, x: Value, where: Value, numbers: Numbers, rank: int, batch: list[int]) -> Value:
    """Return the elements along one dimension that indices [batch...] say, for each place of an operand's batch."""
    (axis,) = numbers.index_map
    shared = [batch.index(place) for place in numbers.indices_batch]
    places = [*shared, *(place for place in range(len(batch)) if place not in shared)]
    order = [*numbers.operand_batch, *(other for other in range(rank) if other not in numbers.operand_batch)]
    at, count = order.index(axis), len(shared)
    attrs = {"batch_dims": count} if count else {}
    operands = [tf.transpose(x, order), tf.transpose(where, places), tf.const(at)]
    made = tf.add("GatherV2", operands, attrs, x.dtype)
    indexed = [("batch", place) for place in places]
    dims = [*indexed[:count], *order[count:at], *indexed[count:], *order[at + 1 :]]
    return _placed(tf, made, dims, numbers, rank, [] if axis in numbers.left_out else [axis])


def index_last(tf: Scope, indices: Value, numbers: Numbers, kind: TensorType) -> Value:
    """Return int32 indices [batch..., numbers of an index]."""
    if numbers.index_vector == kind.rank:
        indices = tf.ExpandDims(indices, kind.rank)
    else:
        order = [axis for axis in range(kind.rank) if axis != numbers.index_vector]
        indices = tf.transpose(indices, [*order, numbers.index_vector])
    return tf.as_int32(indices)


def _single(
    tf: Scope, x: Value, where: Value, numbers: Numbers, kind: TensorType, sizes: Sequence[int | None],
    all_sizes: Value | None,
) -> Value:  # fmt: skip
    """Return the one slice that one index says."""
    starts, indexed = where, numbers.index_map
    if indexed != list(range(kind.rank)):
        # Starts that are made of sizes are known, as such, through these.
        order = [indexed.index(axis) if axis in indexed else len(indexed) for axis in range(kind.rank)]
        begins = [where] if len(indexed) == 1 else [tf.Slice(where, [place], [1]) for place in range(len(indexed))]
        starts = tf.ConcatV2(*([*begins, tf.const([0])][place] for place in order), 0)
    wanted = tf.ints([size or 0 for size in sizes]) if None not in sizes else all_sizes
    made = tf.XlaDynamicSlice(x, starts, tf.as_int32(wanted))  # type: ignore[arg-type]
    return tf.Squeeze(made, squeeze_dims=sorted(numbers.left_out)) if numbers.left_out else made


def _cut(
    tf: Scope, x: Value, numbers: Numbers, kind: TensorType, sizes: Sequence[int | None]
) -> tuple[Value, TensorType]:
    """Return x without what no slice has: slices along dimensions without an index begin at 0."""
    shape = list(kind.shape)
    for axis, (size, whole) in enumerate(zip(sizes, kind.shape)):
        if axis not in numbers.index_map and axis not in numbers.operand_batch and size is not None and size != whole:
            refuse_unless(whole is not None, "the size of what is gathered from is not known")
            shape[axis] = size
    if shape != list(kind.shape):
        x = tf.Slice(x, [0] * kind.rank, [-1 if size is None else size for size in shape])
    return x, TensorType(kind.dtype, tuple(shape))


def _clamped(
    tf: Scope, where: Value, x: Value, numbers: Numbers, kind: TensorType, sizes: Sequence[int | None]
) -> Value:
    """Return indices at which slices lie within x."""
    most: Value
    whole = [kind.shape[axis] for axis in numbers.index_map]
    taken = [sizes[axis] or 1 for axis in numbers.index_map]
    if None in whole:
        ends = [tf.size(x, axis) if size is None else tf.const(size) for axis, size in zip(numbers.index_map, whole)]
        most = tf.Sub(tf.Pack(*ends), tf.const(taken))
    else:
        most = tf.const([(size or 0) - part for size, part in zip(whole, taken)])
    return tf.Maximum(tf.Minimum(where, most), tf.const(0))


def with_offsets(
    tf: Scope, where: Value, numbers: Numbers, kind: TensorType, batch: list[int], moving: Sequence[int],
    sizes: Sequence[int | None],
) -> Value:  # fmt: skip
    """Return indices of elements [batch..., slice..., indexed dimensions]: those of operand batches first, then where
    slices start and the places within them.

    where: [batch..., numbers of an index]. moving: the dimensions that slices have more than one element of."""
    rank = len(batch) + len(moving)
    for _ in moving:
        where = tf.ExpandDims(where, len(batch))
    columns = []
    for axis in numbers.indices_batch:
        place = batch.index(axis)
        size = kind.shape[axis]
        count = tf.size(where, place) if size is None else tf.const(size)
        numbers_along = tf.Range(tf.const(0), count, tf.const(1), dtype=types.INT32)
        columns.append(tf.Reshape(numbers_along, [-1 if index == place else 1 for index in range(rank + 1)]))
    shape = (*(sizes[axis] or 1 for axis in moving), len(numbers.index_map))
    budget.require_elements(shape, np.dtype(np.int32), tf.op.name)
    offsets = np.zeros(shape, np.int32)
    for index, axis in enumerate(moving):
        along = np.arange(sizes[axis] or 1).reshape([-1 if other == index else 1 for other in range(len(moving))])
        offsets[..., numbers.index_map.index(axis)] += along
    if moving:
        where = tf.AddV2(where, tf.const(offsets))
    if not columns:
        return where
    every = [*(kind.shape[axis] for axis in batch), *(sizes[axis] for axis in moving), 1]
    known = [size for size in every if size is not None]
    if len(known) == len(every):
        return tf.ConcatV2(*(tf.BroadcastTo(column, tf.ints(known)) for column in columns), where, rank)
    like = zeros_column(tf, where, rank)
    return tf.ConcatV2(*(tf.AddV2(column, like) for column in columns), where, rank)


def zeros_column(tf: Scope, where: Value, rank: int) -> Value:
    """Return zeros [batch..., 1] for indices [batch..., n], with a batch of `rank` dimensions."""
    ends = [0] * rank + [1]
    first = tf.StridedSlice(where, [0] * (rank + 1), ends, [1] * (rank + 1), end_mask=(1 << rank) - 1)
    return tf.Mul(first, tf.const(0))


def _placed(
    tf: Scope, made: Value, dims: Sequence[object], numbers: Numbers, rank: int, ones: Sequence[int]
) -> Value:
    """Return the dimensions of a gather's result in their order: those of the batch where no slice has one.

    dims: what each dimension of `made` is: one of x, or one of the batch. ones: dimensions of x, of size 1 in a slice,
    that `made` does not have."""
    dims = list(dims)
    for axis in ones:
        made = tf.ExpandDims(made, len(dims))
        dims.append(axis)
    kept = numbers.kept(rank)
    slots: list[object] = [None] * len(dims)
    for place, axis in zip(numbers.window, kept):
        slots[place] = axis
    batch = iter(sorted(dim for dim in dims if isinstance(dim, tuple)))
    slots = [next(batch) if slot is None else slot for slot in slots]
    return tf.transpose(made, [dims.index(slot) for slot in slots])
