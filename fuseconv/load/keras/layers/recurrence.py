"""The loop of a recurrent layer, as `tf` ops and functions."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Op, Value
from fuseconv.load.keras.call import Call, Object

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Recurrence:
    """How a recurrent layer runs, and what it returns."""

    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    zero_output_for_mask: bool
    time_major: bool


@dataclass(frozen=True)
class Cell:
    """A cell: the layer that is called at each step, and the sizes of its states without the batch.

    shown: which state is its output: the first of the last cell, where cells are stacked."""

    layer: Object
    states: list[Dims]
    shown: int = 0

    @property
    def output(self) -> Dims:
        return self.states[self.shown]


def scan(
    k: Call, x: Value, states: Sequence[Value] | None, cell: Cell, mask: Value | None, run: Recurrence
) -> tuple[Value, list[Value]]:
    """Build a loop of a cell over x [batch, time, ...], and return the last output or all of them, and the last states.

    states: the first ones; zeros if None. mask: [batch, time]; where it is False, nothing changes."""
    tf = k.tf
    batch, count = tf.dim(x, 0), tf.dim(x, 1)
    first = list(states) if states is not None else [_zeros(k, batch, dims) for dims in cell.states]
    lists = [_as_list(k, x, run.go_backwards)]
    if mask is not None:
        lists.append(_as_list(k, tf.ExpandDims(mask, 2), run.go_backwards))
    # As in Keras, a list of one row if only the last output is returned. The last state in its place would be the first
    # one after no steps, which takes fused ops a CONCATENATION and a slice each.
    rows = count if run.return_sequences else tf.ints(1)
    outputs = tf.TensorListReserve(tf.ints([-1, *cell.output]), rows, element_dtype=k.dtype, dtype=types.VARIANT)
    before = [_zeros(k, batch, cell.output)] if mask is not None else []
    loop = [tf.ints(0), outputs, *before, *first, count, *(item.handle for item in lists)]
    body = _body(k, loop, len(before), lists, cell, run)
    made = tf.several(
        "StatelessWhile", loop, {"cond": _condition(k, loop, len(before) + len(first)), "body": body},
        [value.dtype for value in loop],
    )  # fmt: skip
    for result, value in zip(made, loop):
        result.shape = value.shape
    final = made[2 + len(before) : 2 + len(before) + len(first)]
    stacked = tf.TensorListStack(made[1], tf.ints([-1, *cell.output]), dtype=k.dtype, element_dtype=k.dtype,
                                 num_elements=int(rows.data) if rows.data is not None else -1)  # fmt: skip
    if not run.return_sequences:
        last = tf.StridedSlice(stacked, tf.ints([-1]), tf.ints([0]), tf.ints([1]), end_mask=1, shrink_axis_mask=1)
        last.shape = (k.shape(x)[0], *cell.output)
        return last, final
    sequence = tf.Transpose(stacked, [1, 0, *range(2, 2 + len(cell.output))])
    sequence.shape = (k.shape(x)[0], k.shape(x)[1], *cell.output)
    return sequence, final


@dataclass(frozen=True)
class _List:
    """A tensor [batch, time, ...] as a list of its steps."""

    handle: Value
    element: Value
    shape: tuple[Any, ...]
    dtype: types.DType


def _as_list(k: Call, x: Value, backwards: bool) -> _List:
    shape = k.shape(x)
    rest = [k.known(x, at) for at in range(2, len(shape))]
    steps = k.tf.Transpose(x, [1, 0, *range(2, len(shape))])
    if backwards:
        steps = k.tf.ReverseV2(steps, k.tf.ints([0]))
    element = k.tf.ints([-1, *rest])
    handle = k.tf.TensorListFromTensor(steps, element, dtype=types.VARIANT)
    return _List(handle, element, (shape[0], *rest), x.dtype)


def _zeros(k: Call, batch: Value, dims: Dims) -> Value:
    return k.tf.Fill(k.tf.Pack(batch, *map(k.tf.ints, dims)), k.tf.number(0, k.dtype), dtype=k.dtype)


@contextlib.contextmanager
def _function(k: Call, name: str, values: Sequence[Value]) -> Iterator[Graph]:
    """Let the builder build the function of a loop, which takes values like these."""
    tf = k.tf
    graph = Graph(tf.unique(f"{tf.scope}/{name}"))
    for index, value in enumerate(values):
        graph.add_input(value.dtype, value.shape, f"arg{index}")
    outer: list[Op] = tf.out
    tf.out = graph.ops
    try:
        yield graph
    finally:
        tf.out = outer
    k.model.module.functions[graph.name] = graph


def _condition(k: Call, loop: Sequence[Value], states: int) -> FuncRef:
    with _function(k, "while_cond", loop) as graph:
        graph.outputs = [k.tf.Less(graph.inputs[0], graph.inputs[2 + states], dtype=types.BOOL)]
    return FuncRef(graph.name)


def _body(
    k: Call, loop: Sequence[Value], before: int, lists: Sequence[_List], cell: Cell, run: Recurrence
) -> FuncRef:
    """Build the function of one step: (time, outputs, [last output,] states, steps, lists) -> the same of the next
    step. before: 1 if the steps are masked, whose last output is then carried; lists: what elements are taken of, the
    inputs first, then the mask."""
    tf, count = k.tf, len(cell.states)
    with _function(k, "while_body", loop) as graph:
        inputs = graph.inputs
        time, outputs = inputs[:2]
        states = inputs[2 + before : 2 + before + count]
        items = [_item(k, handle, each, time) for each, handle in zip(lists, inputs[3 + before + count :])]
        output, new = cell.layer.call([items[0], list(states)], {})
        if before:
            kept = tf.number(0, k.dtype) if run.zero_output_for_mask else inputs[2]
            output = _selected(k, items[1], output, kept, cell.output)
            new = [_selected(k, items[1], a, b, dims) for a, b, dims in zip(new, states, cell.states)]
        row = time if run.return_sequences else tf.ints(0)
        written = tf.TensorListSetItem(outputs, row, output, dtype=types.VARIANT)
        later = tf.AddV2(time, tf.ints(1))
        graph.outputs = [later, written, *([output] if before else []), *new, *inputs[2 + before + count :]]
    return FuncRef(graph.name)


def _item(k: Call, handle: Value, each: _List, time: Value) -> Value:
    item = k.tf.TensorListGetItem(handle, time, each.element, dtype=each.dtype, element_dtype=each.dtype)
    item.shape = each.shape
    return item


def _selected(k: Call, mask: Value, new: Value, old: Value, dims: Dims) -> Value:
    wide = k.tf.reshaped(mask, [-1, *[1] * len(dims)]) if len(dims) > 1 else mask
    return k.tf.SelectV2(wide, new, old, dtype=new.dtype)
