"""Carry through loops no more than they need.

    While(t, count, h, h_again, n; t < n and count < n)  ->  While(t, h, n; t < n)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.ir.terms import filled_with, op_of
from fuseconv.ir.value_numbering import attrs_key
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.reify_dims import DimReifier
from fuseconv.tf.side_effects import has_effect, is_repeatable
from fuseconv.tf.traits import EMPTY_LISTS, LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop

# Constants up to this size are compared by their contents.
_SMALL_BYTES = 1 << 16
# A variable is compared with so many others that start alike.
_MOST_COMPARED = 32


@module_pass("reduce-while-operands", kinds=LOOPS)
def reduce_while_operands(module: Module, report: Report) -> None:
    """Carry through a loop only what is read, each counter and invariant once: While(a, a, n, 0) -> While(a, n)."""
    for_each_loop(module, lambda op, graph: _reduce(LoopForm(op, module), graph, module, report))


def _reduce(loop: LoopForm, graph: Graph, module: Module, report: Report) -> None:
    merge_equal_variables(loop)
    _merge_tests(loop)
    _share_single_slots(loop, graph)
    _drop_unread(loop, module, report)
    _presize_written(loop, graph)


def merge_equal_variables(loop: LoopForm) -> set[int]:
    """Let variables that start as the same and stay the same be one; return those that nothing reads any more.

    So it is with invariants, counters, and outputs that are states."""
    groups: dict[Any, list[int]] = {}
    merged: set[int] = set()
    inputs, outputs = loop.body.inputs, loop.body.outputs
    for i, value in enumerate(inputs):
        group = groups.setdefault((value.dtype, _start_key(loop.op.operands[i])), [])
        j = next((j for j in group if _equal(outputs[i], outputs[j], (value, inputs[j]))), None)
        if j is not None:
            _merge(loop, i, j)
            merged.add(i)
        elif len(group) < _MOST_COMPARED:
            group.append(i)
    return merged


def _merge(loop: LoopForm, i: int, j: int) -> None:
    """Let all that read variable i read j; i stays as it is, unread."""
    for graph in (loop.cond, loop.body):
        replace_uses(graph.inputs[i], graph.inputs[j])
    loop.body.terminator.set_operand(i, loop.body.inputs[i])
    start = loop.op.operands[j]
    if op_of(start, "tf.ZerosLike") is not None:
        # What it is like is computed for its shape alone, most often a step before the first.
        loop.op.set_operand(j, loop.op.operands[i])
    replace_uses(loop.op.results[i], loop.op.results[j])
    loop.counters.pop(i, None)


def _start_key(value: Value | None) -> Any:
    """Return what two values have in common only if they are equal: small constants, zeros, lists without elements."""
    if value is not None and value.shape is not None and _is_zero(value):
        return "zeros", value.shape
    if value is not None and value.data is not None and _is_small(value.data):
        return value.data.shape, value.data.tobytes()
    if value is not None and value.op is not None and value.op.kind in EMPTY_LISTS:
        return value.op.kind, attrs_key(value.op.attrs), *map(_start_key, value.op.operands)
    return id(value)


def _is_small(data: np.ndarray) -> bool:
    """Return whether constants of this size are compared by their contents."""
    return data.nbytes <= _SMALL_BYTES and data.dtype != object


def _equal(a: Value | None, b: Value | None, same: tuple[Value, Value]) -> bool:
    """Return whether two values of a body are equal where the two values `same` are."""
    pending, seen = [(a, b)], set()
    while pending:
        a, b = pair = pending.pop()
        if a is b or (a in same and b in same) or pair in seen:
            continue
        seen.add(pair)
        if a is None or b is None or a.dtype is not b.dtype:
            return False
        if a.data is not None and b.data is not None:
            if a.shape != b.shape or not _is_small(a.data) or a.data.tobytes() != b.data.tobytes():
                return False
        elif a.op is None or b.op is None or not _alike(a.op, b.op) or a.index != b.index:
            return False
        else:
            pending += zip(a.op.operands, b.op.operands)
    return True


def _alike(a: Op, b: Op) -> bool:
    """Return whether two ops make the same of the same operands."""
    alike = a.kind == b.kind and len(a.operands) == len(b.operands) and a.rejection == b.rejection
    return alike and is_repeatable(a) and attrs_key(a.attrs) == attrs_key(b.attrs)


def _merge_tests(loop: LoopForm) -> None:
    """Replace two comparisons of counters by the one that fails first: a < m and b < n, m - a <= n - b -> a < m."""
    result = loop.cond.outputs[0]
    both = op_of(result, "tf.LogicalAnd")
    if both is None:
        return
    tests = [value.op for value in both.operands if value is not None]
    if any(test is None or test.kind != "tf.Less" for test in tests):
        return
    (a, m), (b, n) = (test.operands for test in tests)  # type: ignore[union-attr]
    starts = [0, 0] if a is b else [_start_of(loop, a), _start_of(loop, b)]
    bounds = [0, 0] if m is n else [loop.known(m), loop.known(n)]
    if None in starts or None in bounds:
        return
    steps = [bound - start for bound, start in zip(bounds, starts)]  # type: ignore[operator]
    more = steps[0] - steps[1]
    if not isinstance(more, Sym):
        replace_uses(result, tests[0 if more <= 0 else 1].result)  # type: ignore[union-attr]


def _start_of(loop: LoopForm, counter: Value | None) -> int | None:
    """Return what a counter, as the condition reads it, starts from; None of any other value."""
    return next((start for i, start in loop.counters.items() if loop.cond.inputs[i] is counter), None)


def _share_single_slots(loop: LoopForm, graph: Graph) -> None:
    """Replace a list of one element, which each step overwrites with another variable's new value, by that variable.

    So it is with return_sequences=False. Before the first step the two must be equal, unless there is one for sure."""
    steps = loop.steps()
    runs = isinstance(steps, int) and steps > 0
    after = TfBuilder([], loop.op)
    for i, result in enumerate(loop.op.results):
        made = loop.body.outputs[i]
        item = _sole_item(made)
        if item is None or not result.uses:
            continue
        j = next((j for j, value in enumerate(loop.body.outputs) if value is item), None)
        if j is None or not (runs or _both_zero(loop.op.operands[i], loop.op.operands[j])):
            continue
        for reader in [reader for reader in result.uses if _takes_only(reader)]:
            replace_uses(reader.result, loop.op.results[j])
        whole = after.ExpandDims(loop.op.results[j], 0)
        whole.shape = made.shape
        replace_uses(result, whole)
    at = graph.ops.index(loop.op) + 1
    graph.ops[at:at] = after.out


def _sole_item(made: Value) -> Value | None:
    """Return the one element of a list after it was overwritten; None if it is no such list."""
    op = op_of(made, "tf.XlaDynamicUpdateSlice")
    if op is None or not made.shape or made.shape[0] != 1:
        return None
    row = op_of(op.operands[1], "tf.ExpandDims")
    if row is None or row.result.shape != made.shape:
        return None
    axis = content_of(row.operands[1])
    return row.operands[0] if axis is not None and axis.reshape(-1)[0] == 0 else None


def _takes_only(reader: Op) -> bool:
    """Return whether a StridedSlice takes the only element of a list as it is."""
    spec = SliceSpec.of(reader)
    return spec is not None and spec.picked() in ((0, 0), (0, -1))


def _both_zero(a: Value | None, b: Value | None) -> bool:
    return all(value is not None and _is_zero(value) for value in (a, b))


def _is_zero(value: Value) -> bool:
    """Return whether a value is zero throughout; -0.0 is not."""
    if op_of(value, "tf.ZerosLike") is not None:
        return True
    filled = filled_with(value)
    data = None if filled is None else filled.data
    return data is not None and _is_small(data) and data.tobytes().count(0) == data.nbytes


def _drop_unread(loop: LoopForm, module: Module, report: Report) -> None:
    """Drop variables whose ends nobody reads, and that neither the condition nor what is read depends on."""
    body, count = loop.body, len(loop.op.operands)
    index = {value: i for i, value in enumerate(body.inputs)}
    live = {i for i in range(count) if loop.op.results[i].uses or loop.cond.inputs[i].uses}
    effects: dict[str, bool] = {}
    pending: list[Value] = [body.outputs[i] for i in live]
    acting = {op for op in body.ops if has_effect(op, module, effects)}
    for op in acting:
        pending += [value for value in op.operands if value is not None]
    seen: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        if value in index and index[value] not in live:
            live.add(index[value])
            pending.append(body.outputs[index[value]])
        if value.op is not None:
            pending += [operand for operand in value.op.operands if operand is not None]
    dead = set(range(count)) - live
    if dead:
        loop.drop(dead)
        _drop_readers_of(loop, seen, acting, report)


def _drop_readers_of(loop: LoopForm, needed: set[Value], acting: set[Op], report: Report) -> None:
    """Drop the ops that only dead variables needed, some of which read variables that are gone."""
    kept: list[Op] = []
    for op in loop.body.ops:
        if op in acting or any(result in needed for result in op.results):
            kept.append(op)
        else:
            report.removed(op, "reduce-while-operands", "only variables that nobody reads need it")
            detach(op)
    loop.body.ops = kept


def _presize_written(loop: LoopForm, graph: Graph) -> None:
    """Let variables that steps write and none reads start with the size that they get: While(t, zeros[0,4]) ->
    While(t, zeros[n,4]).

    AutoGraph starts what a loop's body defines with no rows, so that the size of what the loop makes is not known."""
    steps = loop.steps()
    if not isinstance(steps, int) or steps < 1:
        return
    tf = TfBuilder([], loop.op)
    for i, (inner, made) in enumerate(zip(loop.body.inputs, loop.body.outputs)):
        start = loop.op.operands[i]
        if inner.uses or loop.cond.inputs[i].uses or start is None or start.dtype.is_handle or start.shape is None:
            continue
        if made.shape is None or made.shape == start.shape or len(made.shape) != len(start.shape):
            continue
        sizes = DimReifier(value for value in loop.op.operands if value is not None)
        if all(map(sizes.knows, made.shape)):
            dims = tf.Pack(*(sizes.build(tf, dim) for dim in made.shape))
            zero = constant(np.zeros((), start.dtype.numpy), start.dtype)
            filled = tf.Fill(dims, zero, dtype=start.dtype)
            filled.shape = made.shape
            loop.op.set_operand(i, filled)
    at = graph.ops.index(loop.op)
    graph.ops[at:at] = tf.out
