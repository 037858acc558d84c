"""Scatters -> TensorScatterUpdate, -Add, -Max or -Min of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.indexing import Numbers, index_last, transposed, with_offsets, zeros_column
from fuseconv.load.stablehlo.ops.reductions import reducers
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, static_shape, tensor_type

_NAMES = (
    "update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims", "input_batching_dims",
    "scatter_indices_batching_dims",
)  # fmt: skip
# What no op of TFLite scatters is compared with each row: so many elements at most.
_MOST_COMPARED = 1 << 22
_PRODUCT = "Prod"
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
    is cut off at the end."""
    refuse_unless(len(operands) == 3, "it scatters into several tensors at once")
    x, indices, updates = operands
    kind = _kind(op)
    layout = _layout(op)
    start = tensor_type(op.operands[1])
    if kind == _PRODUCT:
        _refuse_large(op, layout)
    where = index_last(tf, indices, layout.numbers, start)
    if layout.partial:
        zeros = zeros_column(tf, where, len(layout.batch))
        where = tf.ConcatV2(where, *[zeros] * len(layout.partial), len(layout.batch))
    whole = [_size(tf, x, layout, axis) for axis in layout.indexed]
    row = _rows_of(tf, where, layout, start, whole)
    updates = _ordered(tf, updates, layout)
    if not layout.batch and not layout.moving and not layout.rest:  # one number: no kernel takes a scalar
        row, updates = tf.ExpandDims(row, 0), tf.ExpandDims(updates, 0)
    return _scattered(tf, kind, x, row, updates, layout, whole)


def _kind(op: Operation) -> str:
    """Return the op that joins elements as the scatter's body does."""
    body = op.regions[0]
    if len(body.arguments) == 2 and body.returned == [body.arguments[1]]:
        return "TensorScatterUpdate"
    made = body.returned[0].op if len(body.returned) == 1 else None
    if made is not None and made.name == "subtract" and made.operands == body.arguments:
        return "TensorScatterSub"
    kinds = reducers(body, 1)
    refuse_unless(kinds and kinds[0] in _SCATTERS, "what it joins elements with is no sum, product or extreme")
    return _SCATTERS[kinds[0]]


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
    layout = _Layout(numbers, kind.shape, sizes, batch, partial)
    known = None not in [sizes[axis] for axis in numbers.index_map]
    refuse_unless(known, "the size of the windows that it scatters is not known")
    return layout


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
    made = transposed(tf, updates, [*batch, *inner, *ones])
    return tf.Squeeze(made, squeeze_dims=list(range(-len(ones), 0))) if ones else made


def _scattered(tf: Scope, kind: str, x: Value, row: Value, updates: Value, layout: _Layout, whole: list[Size]) -> Value:
    """Scatter updates into the rows of x, and one more for those outside."""
    order = [*layout.indexed, *layout.rest]
    tail = [_size(tf, x, layout, axis) for axis in layout.rest]
    count = _product(tf, whole)
    rows = tf.Reshape(transposed(tf, x, order), _shape(tf, [count, *tail]))
    if kind == _PRODUCT:
        shape = _static(layout, order)
        made = _multiplied(tf, rows, row, updates, [math.prod(layout.whole), *shape[len(layout.indexed) :]])  # type: ignore[arg-type]
    else:
        more = tf.PadV2(rows, tf.const([[0, 1], *[[0, 0]] * len(tail)]), tf.same(0, x))
        made = tf.add(kind, [more, row, updates], {}, x.dtype)
        made = tf.Slice(made, [0] * (len(tail) + 1), _vector(tf, [count, *[-1] * len(tail)]))
    return transposed(tf, tf.Reshape(made, _shape(tf, [*whole, *tail])), np.argsort(order).tolist())


def _size(tf: Scope, x: Value, layout: _Layout, axis: int) -> Size:
    size = layout.shape[axis]
    return tf.size(x, axis) if size is None else size


def _product(tf: Scope, sizes: list[Size]) -> Size:
    made: Size = math.prod(size for size in sizes if isinstance(size, int))
    for size in sizes:
        if isinstance(size, Value):
            made = size if made == 1 else tf.Mul(size, _scalar(tf, made))
    return made


def _less(tf: Scope, size: Size, amount: int) -> Size:
    return size - amount if isinstance(size, int) else tf.Sub(size, tf.const(amount))


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


def _refuse_large(op: Operation, layout: _Layout) -> None:
    """Refuse products of what would take too much memory, or an unknown amount."""
    refuse_unless(tensor_type(op.results[0]).dtype is not types.BOOL, "it multiplies booleans")
    refuse_unless(None not in layout.whole, "the size of what it multiplies is not known")
    compared = math.prod([*static_shape(op.operands[2], "its updates"), *layout.whole])  # type: ignore[list-item]
    refuse_unless(compared <= _MOST_COMPARED, f"its factors are compared with {compared} places")


def _static(layout: _Layout, order: list[int]) -> list[int]:
    sizes = [layout.shape[axis] for axis in order]
    refuse_unless(None not in sizes, "the size of what it multiplies is not known")
    return [size or 0 for size in sizes]


def _multiplied(tf: Scope, rows: Value, row: Value, updates: Value, sizes: list[int]) -> Value:
    """Return rows, each times the updates of its number: Prod(SelectV2(row == number, update, 1)) over the updates."""
    count, *tail = sizes
    numbers = tf.Reshape(row, [-1, 1])
    mask = tf.Equal(numbers, tf.const([list(range(count))]), dtype=types.BOOL)
    flat = tf.Reshape(updates, [-1, 1, *tail])
    chosen = tf.SelectV2(tf.Reshape(mask, [-1, count, *[1] * len(tail)]), flat, tf.same(1, rows), dtype=rows.dtype)
    return tf.Mul(rows, tf.add("Prod", [chosen, tf.const([0])], {}, rows.dtype))
