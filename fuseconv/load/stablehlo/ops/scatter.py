"""Scatters -> TensorScatterUpdate, -Add, -Max or -Min of rows, or an update of a slice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import fresh
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.control import by_element
from fuseconv.load.stablehlo.ops.indexing import Numbers, index_last, with_offsets, zeros_column
from fuseconv.load.stablehlo.ops.loops import repeat
from fuseconv.load.stablehlo.ops.reductions import reducers
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, symbolic, tensor_type

_NAMES = (
    "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
    "scatter_indices_batching_dims",
)  # fmt: skip
# What no op of TFLite scatters is compared with each row: so many elements at most.
_MOST_COMPARED = 1 << 22
_PRODUCT, _BY_BODY = "Prod", "body"
_SCATTERS = {
    "multiply": _PRODUCT, "add": "TensorScatterAdd", "maximum": "TensorScatterMax", "minimum": "TensorScatterMin",
}  # fmt: skip


Size: TypeAlias = int | Value  # a size that is known, or a scalar that computes it


@dataclass
class _Layout:
    """How updates lie in the operand.

    shape: the operand's. sizes: those of a window. batch: the dimensions of the indices but for that of an index.
    partial: dimensions without an index of which windows have a part, the first. moving: dimensions of an index that
    windows have several elements of. indexed, rest: the operand's dimensions that rows are counted along, and others.
    """

    numbers: Numbers
    shape: tuple[int | None, ...]
    sizes: list[int | None]
    batch: list[int]
    partial: list[int]

    @property
    def kept(self) -> list[int]:
        return self.numbers.kept(len(self.shape))

    @property
    def moving(self) -> list[int]:
        return [axis for axis in self.numbers.index_map if axis in self.kept and self.sizes[axis] != 1]

    @property
    def indexed(self) -> list[int]:
        return [*self.numbers.operand_batch, *self.numbers.index_map]

    @property
    def rest(self) -> list[int]:
        return [axis for axis in range(len(self.shape)) if axis not in self.indexed]

    @property
    def whole(self) -> list[int | None]:
        """Return the sizes of the indexed dimensions."""
        return [self.shape[axis] for axis in self.indexed]


@imports
def scatter(tf: Scope, op: Operation, *operands: Value) -> Value:
    """TensorScatterUpdate, -Add, -Max or -Min of rows; windows that do not lie within x go to a row of their own, which
    is cut off at the end. A window alone is a slice of x that is updated."""
    refuse_unless(len(operands) == 3, "it scatters into several tensors at once")
    x, indices, updates = operands
    layout = _layout(op)
    start = tensor_type(op.operands[1])
    kind = _kind(op)
    if kind == _PRODUCT and not _compares(op, layout):
        kind = _BY_BODY
    where = index_last(tf, indices, layout.numbers, start)
    if layout.partial:
        zeros = zeros_column(tf, where, len(layout.batch))
        where = tf.ConcatV2(where, *[zeros] * len(layout.partial), len(layout.batch))
    if not layout.batch and (kind != _PRODUCT or not (updates.is_const or updates in tf.narrow)):
        return _updated(tf, op.regions[0], x, where, updates, layout)
    known = None not in [layout.sizes[axis] for axis in layout.numbers.index_map]
    refuse_unless(known, "the size of the windows that it scatters is not known")
    whole = [_size(tf, x, layout, axis) for axis in layout.indexed]
    row = _rows_of(tf, where, layout, start, whole)
    updates = _ordered(tf, updates, layout)
    if not layout.batch and not layout.moving and not layout.rest:  # one number: no kernel takes a scalar
        row, updates = tf.ExpandDims(row, 0), tf.ExpandDims(updates, 0)
    return _scattered(tf, kind, op, x, row, updates, layout, whole)


def _updated(tf: Scope, body: Region, x: Value, where: Value, updates: Value, layout: _Layout) -> Value:
    """Return XlaDynamicUpdateSlice(x, body(the slice of x at a place, updates)); x if the slice is not within it."""
    indexed, every = layout.numbers.index_map, range(len(layout.shape))
    slots = dict(zip(layout.kept, layout.numbers.window))
    starts = where
    if indexed != [*every]:  # behind the others is what stands for dimensions without an index: 0
        places = [indexed.index(axis) if axis in indexed else len(indexed) for axis in every]
        starts = tf.GatherV2(tf.ConcatV2(where, tf.const([0]), 0), places, 0)
    sizes: list[Size] = []
    last: list[Size] = []
    for axis in every:
        size = layout.sizes[axis]
        whole, part = _size(tf, x, layout, axis), tf.size(updates, slots[axis]) if size is None else size
        sizes.append(part if axis in indexed else -1)
        last.append(_less(tf, whole, part) if axis in indexed else 0)
    for axis in every:
        updates = updates if axis in slots else tf.ExpandDims(updates, axis)
    held = tf.Minimum(tf.Maximum(starts, tf.const([0] * len(every))), _vector(tf, last))
    (joined,) = by_element(tf, body, [tf.Slice(x, held, _vector(tf, sizes)), updates])
    inside = tf.All(tf.Equal(starts, held, dtype=types.BOOL), tf.const([0]))
    return tf.SelectV2(inside, tf.XlaDynamicUpdateSlice(x, joined, held), x, dtype=x.dtype)


def _kind(op: Operation) -> str:
    """Return the op that joins elements as the scatter's body does."""
    body = op.regions[0]
    if len(body.arguments) == 2 and body.returned == [body.arguments[1]]:
        return "TensorScatterUpdate"
    made = body.returned[0].op if len(body.returned) == 1 else None
    if made is not None and made.name == "subtract" and made.operands == body.arguments:
        return "TensorScatterSub"
    kinds = reducers(body, 1)
    return _SCATTERS.get(kinds[0], _BY_BODY) if kinds else _BY_BODY


def scatter_numbers(op: Operation, x: TensorType, indices: TensorType) -> Numbers:
    return Numbers.of(op, _NAMES, x.rank, indices.rank)


def _layout(op: Operation) -> _Layout:
    kind, start, update = (tensor_type(var) for var in op.operands)
    numbers = scatter_numbers(op, kind, start)
    kept = numbers.kept(kind.rank)
    if len(kept) != len(numbers.window) or any(place >= update.rank for place in numbers.window):
        raise DamagedError("a scatter has windows of another rank")
    sizes: list[int | None] = [1] * kind.rank
    for axis, place in zip(kept, numbers.window):
        sizes[axis] = update.shape[place]
    partial = [axis for axis in kept if sizes[axis] != kind.shape[axis] and axis not in numbers.index_map]
    numbers.index_map = [*numbers.index_map, *partial]
    batch = [axis for axis in range(start.rank) if axis != numbers.index_vector]
    return _Layout(numbers, kind.shape, sizes, batch, partial)


def _rows_of(tf: Scope, where: Value, layout: _Layout, start: TensorType, whole: list[Size]) -> Value:
    """Return the number of the row that each element or slice of an update goes to, [..., 1]; that after the last one
    for windows that do not lie within the operand. whole: the sizes of the indexed dimensions."""
    numbers, rank = layout.numbers, len(layout.batch)
    sizes = dict(zip(layout.indexed, whole))
    most = _vector(tf, [_less(tf, sizes[axis], layout.sizes[axis] or 1) for axis in numbers.index_map])
    inside = tf.LogicalAnd(
        tf.GreaterEqual(where, tf.const(0), dtype=types.BOOL), tf.LessEqual(where, most, dtype=types.BOOL)
    )
    inside = tf.add("All", [inside, tf.const(-1)], {"keep_dims": True}, types.BOOL)
    for _ in layout.moving:
        inside = tf.ExpandDims(inside, rank)
    places = with_offsets(tf, where, numbers, start, layout.batch, layout.moving, layout.sizes)
    steps = _vector(tf, [_product(tf, whole[index + 1 :]) for index in range(len(whole))])
    row = tf.add("Sum", [tf.Mul(places, steps), tf.const(-1)], {"keep_dims": True}, types.INT32)
    return tf.SelectV2(inside, row, _scalar(tf, _product(tf, whole)), dtype=types.INT32)


def _ordered(tf: Scope, updates: Value, layout: _Layout) -> Value:
    """Return updates with the dimensions of the rows' numbers first, then those of a row."""
    slots = dict(zip(layout.kept, layout.numbers.window))
    batch = [axis for axis in range(len(layout.batch) + len(slots)) if axis not in layout.numbers.window]
    ones = [slots[axis] for axis in layout.kept if axis in layout.indexed and axis not in layout.moving]
    inner = [slots[axis] for axis in (*layout.moving, *layout.rest)]
    made = tf.transpose(updates, [*batch, *inner, *ones])
    return tf.Squeeze(made, squeeze_dims=list(range(-len(ones), 0))) if ones else made


def _scattered(
    tf: Scope, kind: str, op: Operation, x: Value, row: Value, updates: Value, layout: _Layout, whole: list[Size]
) -> Value:
    """Scatter updates into the rows of x, and one more for those outside."""
    order = [*layout.indexed, *layout.rest]
    tail = [_size(tf, x, layout, axis) for axis in layout.rest]
    count = _product(tf, whole)
    rows = tf.Reshape(tf.transpose(x, order), _shape(tf, [count, *tail]))
    if kind == _PRODUCT:
        made = _multiplied(tf, rows, row, updates, [count, *tail])  # type: ignore[list-item]
    else:
        more = tf.PadV2(rows, tf.const([[0, 1], *[[0, 0]] * len(tail)]), tf.same(0, x))
        if kind == _BY_BODY:
            made = _joined(tf, op, more, row, updates, layout, tail)
        else:
            made = tf.add(kind, [more, row, updates], {}, x.dtype)
        made = tf.Slice(made, [0] * (len(tail) + 1), _vector(tf, [count, *[-1] * len(tail)]))
    return tf.transpose(tf.Reshape(made, _shape(tf, [*whole, *tail])), np.argsort(order).tolist())


def _size(tf: Scope, x: Value, layout: _Layout, axis: int) -> Size:
    size = layout.shape[axis]
    return tf.size(x, axis) if size is None else size


def _product(tf: Scope, sizes: list[Size]) -> Size:
    made: Size = math.prod(size for size in sizes if isinstance(size, int))
    for size in sizes:
        if isinstance(size, Value):
            made = size if made == 1 else tf.Mul(size, _scalar(tf, made))
    return made


def _less(tf: Scope, size: Size, amount: Size) -> Size:
    if isinstance(size, int) and isinstance(amount, int):
        return size - amount
    return tf.Sub(_scalar(tf, size), _scalar(tf, amount))


def _scalar(tf: Scope, size: Size) -> Value:
    return tf.const(size) if isinstance(size, int) else size


def _vector(tf: Scope, sizes: list[Size]) -> Value:
    if all(isinstance(size, int) for size in sizes):
        return tf.const(sizes)
    return tf.Pack(*[_scalar(tf, size) for size in sizes])


def _shape(tf: Scope, sizes: list[Size]) -> Value:
    """Return sizes as a shape, where -1 stands for one that is computed if that leaves no doubt."""
    computed = [size for size in sizes if isinstance(size, Value)]
    if len(computed) == 1 and 0 not in sizes:
        return tf.const([size if isinstance(size, int) else -1 for size in sizes])
    return _vector(tf, sizes)


def _compares(op: Operation, layout: _Layout) -> bool:
    """Return whether so little is multiplied that each factor may be compared with each place."""
    kinds = [tensor_type(op.operands[2]), tensor_type(op.results[0])]
    if not all(kind.is_static for kind in kinds) or kinds[1].dtype is types.BOOL:
        return False
    return math.prod([*kinds[0].sizes, *layout.whole]) <= _MOST_COMPARED  # type: ignore[list-item]


def _joined(
    tf: Scope, op: Operation, rows: Value, row: Value, updates: Value, layout: _Layout, tail: list[Size]
) -> Value:
    """Return rows with one update after another joined to its row, by the function of the scatter."""
    kind, rest, body = tensor_type(op.operands[2]), [layout.shape[axis] for axis in layout.rest], op.regions[0]
    row = tf.Reshape(row, [-1, 1])
    number = tf.size(row, 0)
    updates = tf.Reshape(updates, _vector(tf, [number, *tail]))
    known = kind.is_static and None not in rest
    count = math.prod(kind.sizes) // max(math.prod(size or 0 for size in rest), 1) if known else number

    def once(tf: Scope, step: Value, rows: Value, row: Value, updates: Value) -> list[Value]:
        place = tf.Reshape(step, [1])
        there, update = tf.GatherV2(row, place, 0), tf.GatherV2(updates, place, 0)
        (made,) = by_element(tf, body, [tf.GatherNd(rows, there), update])
        return [tf.TensorScatterUpdate(rows, there, made), row, updates]

    inner = symbolic(TensorType(rows.dtype, tuple(rest)))
    shapes = [(fresh(), *inner), (fresh(), 1), (fresh(), *inner)]
    return repeat(tf, count, once, [rows, row, updates], shapes)[0]


def _multiplied(tf: Scope, rows: Value, row: Value, updates: Value, sizes: list[int]) -> Value:
    """Return rows, each times the updates of its number: Prod(SelectV2(row == number, update, 1)) over the updates."""
    count, *tail = sizes
    numbers = tf.Reshape(row, [-1, 1])
    mask = tf.Equal(numbers, tf.const([list(range(count))]), dtype=types.BOOL)
    flat = tf.Reshape(updates, [-1, 1, *tail])
    chosen = tf.SelectV2(tf.Reshape(mask, [-1, count, *[1] * len(tail)]), flat, tf.same(1, rows), dtype=rows.dtype)
    return tf.Mul(rows, tf.add("Prod", [chosen, tf.const([0])], {}, rows.dtype))
