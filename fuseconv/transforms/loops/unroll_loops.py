"""Unroll loops: several steps become one iteration, or all of them no loop at all.

Rows that the steps read from a sequence, and write to one, move in blocks. Of x [steps, ...] an iteration reads one
element of x as [iterations, k, ...], and it writes such an element too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, copy_op, detach
from fuseconv.ir.rewriter import replace_uses_except
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.batching_rules import constant_axis_zero
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.side_effects import bodies, has_effect
from fuseconv.tf.traits import LOOPS
from fuseconv.transforms.loops.loop_info import LoopForm, for_each_loop
from fuseconv.transforms.loops.unroll_policy import MOST_UNROLLED, UnrollPolicy

_RULE = "unroll-loops"
# How many steps of a loop, of this number, are one iteration; all of them: it becomes no loop.
Choose = Callable[[LoopForm, int], int]


@module_pass("unroll-loops", kinds=LOOPS)
def unroll_loops(module: Module, unroll_policy: UnrollPolicy, report: Report) -> None:
    """Make several steps of a loop one iteration, or all of them no loop: While(f; 8) -> While(f, f, f, f; 2)."""
    unroll(module, unroll_policy.steps_an_iteration, report, tells=unroll_policy.rnn == "unroll")


def unroll(module: Module, choose: Choose, report: Report, tells: bool = False) -> None:
    """Unroll the loops whose number of steps is known, as far as `choose` says, those inside others first.

    tells: record a loop that stays because it would make too many ops."""

    def visit(op: Op, graph: Graph) -> None:
        loop = LoopForm(op, module)
        steps = loop.steps()
        if not isinstance(steps, int) or steps < 1 or not _can_repeat(loop, module):
            return
        k = min(choose(loop, steps), steps)
        if tells and k < steps and steps * len(loop.body.ops) > MOST_UNROLLED:
            why = f"its {steps} steps would be more than {MOST_UNROLLED} ops: it stays a loop"
            report.refused(_RULE, loop.op.sources, why, expected=True)
        if k == steps:
            _Unrolled(loop, graph, steps, report).replace_loop()
        elif k > 1:
            _Unrolled(loop, graph, steps, report).widen(k)

    for_each_loop(module, visit)


def _can_repeat(loop: LoopForm, module: Module) -> bool:
    effects: dict[str, bool] = {}
    return not any(has_effect(op, module, effects) or any(True for _ in bodies(op, module)) for op in loop.body.ops)


class _Read(NamedTuple):
    """A step's read of its row: the op in the body, and the variable that holds all rows."""

    op: Op
    variable: int


class _Unrolled:
    """One loop of so many steps, and what is known of its variables: the reads of rows in a step, and the items that it
    writes to lists, by their variables."""

    def __init__(self, loop: LoopForm, graph: Graph, steps: int, report: Report) -> None:
        self.loop = loop
        self.report = report
        self.graph = graph
        self.steps = steps
        self.inputs, self.outputs = list(loop.body.inputs), list(loop.body.outputs)
        self.reads = [read for op in loop.body.ops if (read := self.read_of(op)) is not None]
        self.writes = {i: item for i in range(len(loop.op.results)) if (item := self.item_of(i)) is not None}

    def is_place(self, value: Value | None) -> bool:
        """Return whether variable i counts steps from 0."""
        i = self.loop.counter_of(value)
        return i is not None and self.loop.counters[i] == 0

    def has_rows(self, value: Value | None) -> bool:
        """Return whether there is one row for each step, and all that is unknown of its shape is one dimension."""
        shape = None if value is None else value.shape
        return shape is not None and shape[0] == self.steps and sum(isinstance(dim, Sym) for dim in shape) < 2

    def read_of(self, op: Op) -> _Read | None:
        if not constant_axis_zero(op) or not self.is_place(op.operands[1]) or not self.has_rows(op.operands[0]):
            return None
        inputs = self.loop.body.inputs
        i = next((i for i, value in enumerate(inputs) if value is op.operands[0] and self.loop.is_invariant(i)), None)
        return None if i is None else _Read(op, i)

    def item_of(self, i: int) -> Value | None:
        """Return what a step writes as its row of variable i; None if that is no sequence written row by row."""
        made, held = self.loop.body.outputs[i].op, self.loop.body.inputs[i]
        if made is None or made.kind != "tf.XlaDynamicUpdateSlice" or made.operands[0] is not held:
            return None
        row, begin = made.operands[1:]
        if len(held.uses) != 1 or len(made.result.uses) != 1 or not self.has_rows(held):
            return None
        expanded = op_of(row, "tf.ExpandDims")
        if row is None or expanded is None or row.shape is None or held.shape is None:
            return None
        axis = content_of(expanded.operands[1])
        if axis is None or np.any(axis.reshape(-1) != 0) or row.shape != (1, *held.shape[1:]):
            return None
        return expanded.operands[0] if self.is_place(_first(begin)) else None

    def replace_loop(self) -> None:
        """Put all steps, one after the other, in the loop's place."""
        loop = self.loop
        out: list[Op] = []
        tf = TfBuilder(out, loop.op)
        state = list(loop.op.operands)
        rows = {read: self.unpacked(tf, state[read.variable], self.steps) for read in self.reads}
        items = self.repeat(tf, state, rows, range(self.steps), None)
        for i, written in items.items():
            state[i] = self.packed(tf, written)
        self.redirect(state, out)
        at = self.graph.ops.index(loop.op)
        self.graph.ops[at : at + 1] = out
        self.report.removed(loop.op, _RULE, f"its {self.steps} steps stand in its place")
        self.report_rows()
        detach(loop.op)

    def widen(self, k: int) -> None:
        """Take k steps an iteration; what is left of them stands behind the loop."""
        loop, count = self.loop, self.steps // k
        rest = range(count * k, self.steps)
        before: list[Op] = []
        outer = TfBuilder(before, loop.op)
        ops, loop.body.ops = loop.body.ops, []
        inner = TfBuilder(loop.body.ops, loop.op)
        sequences = {read.variable: loop.op.operands[read.variable] for read in self.reads}
        blocks = {i: loop.carry(self.blocks(outer, value, count, k)) for i, value in sequences.items()}
        for i in self.writes:
            value = self.blocks(outer, loop.op.operands[i], count, k)
            loop.op.set_operand(i, value)
            for held in (loop.body.inputs[i], loop.cond.inputs[i], loop.op.results[i]):
                held.shape = value.shape
        place = self.count_iterations(inner, count)
        state: list[Value | None] = list(self.inputs)
        rows = {}
        for read in self.reads:
            block = inner.GatherV2(blocks[read.variable], place, 0)
            block.shape = (k, *read.op.result.shape)  # type: ignore[misc]
            rows[read] = self.unpacked(inner, block, k)
        items = self.repeat(inner, state, rows, range(k), place, ops)
        for i, written in items.items():
            block = inner.ExpandDims(self.packed(inner, written), 0)
            zeros = [inner.ints(0)] * (len(loop.body.inputs[i].shape or ()) - 1)
            begin = inner.add("Pack", [place, *zeros], {}, types.INT32)
            state[i] = inner.XlaDynamicUpdateSlice(loop.body.inputs[i], block, begin)
        self.end_iteration(state, ops)
        after: list[Op] = []
        tf = TfBuilder(after, loop.op)
        ends = [loop.op.operands[i] if loop.is_invariant(i) else result for i, result in enumerate(loop.op.results)]
        del ends[len(state):]
        tail: dict[int, list[Value]] = {i: [] for i in self.writes}
        if rest:
            left = {i: self.part(tf, value, rest.start) for i, value in sequences.items()}
            rows = {read: self.unpacked(tf, left[read.variable], len(rest)) for read in self.reads}
            tail = self.repeat(tf, ends, rows, rest, None, ops)
        for i in self.writes:
            shape = self.writes[i].shape or ()
            flat = tf.Reshape(loop.op.results[i], [count * k, *(-1 if isinstance(d, Sym) else d for d in shape)])
            ends[i] = tf.ConcatV2(flat, self.packed(tf, tail[i]), 0) if tail[i] else flat
        self.redirect(ends, after)
        at = self.graph.ops.index(loop.op)
        self.graph.ops[at : at + 1] = [*before, loop.op, *after]
        self.report_rows()
        for op in ops:
            detach(op)

    def report_rows(self) -> None:
        """Say where the ops are that every step needed to read and write its rows."""
        for op in (*(read.op for read in self.reads), *(self.outputs[i].op for i in self.writes)):
            assert op is not None
            self.report.removed(op, _RULE, "the rows of several steps are read and written at once")

    def repeat(
        self,
        tf: TfBuilder,
        state: list[Value | None],
        rows: dict[_Read, list[Value]],
        steps: range,
        place: Value | None,
        ops: list[Op] | None = None,
    ) -> dict[int, list[Value]]:
        """Build the ops of these steps; `state` becomes what the variables are after them. Returns what each step
        writes to each sequence. place: the number of the iteration, of which these are the steps; None outside."""
        loop = self.loop
        skipped = {read.op for read in self.reads} | {self.outputs[i].op for i in self.writes}
        items: dict[int, list[Value]] = {i: [] for i in self.writes}
        for number, step in enumerate(steps):
            values: dict[Value, Value | None] = dict(zip(self.inputs, state))
            for i, start in loop.counters.items():
                values[loop.body.inputs[i]] = self.counted(tf, i, start + step, len(steps), place)
            values.update((read.op.result, rows[read][number]) for read in self.reads)
            for op in ops if ops is not None else loop.body.ops:
                if op in skipped:
                    continue
                operands = [values.get(v, v) if v is not None else None for v in op.operands]
                copy = copy_op(op, operands)
                for result in op.results:
                    made = values[result] = copy.add_result(result.dtype, result.shape)
                    made.variable = result.variable
                tf.out.append(copy)
            for i, item in self.writes.items():
                items[i].append(values.get(item, item))  # type: ignore[arg-type]
            for i in range(len(state)):
                if i not in self.writes and i not in loop.counters:
                    state[i] = values.get(self.outputs[i], self.outputs[i])
        return items

    def counted(self, tf: TfBuilder, i: int, number: int, k: int, place: Value | None) -> Value:
        """Return the counter at a step."""
        like = self.loop.body.inputs[i]
        fixed = constant(np.array(number, like.dtype.numpy), like.dtype, like.name)
        if place is None:
            return fixed
        wide = place if like.dtype is types.INT32 else tf.Cast(place, dtype=like.dtype)
        factor = constant(np.array(k, like.dtype.numpy), like.dtype, like.name)
        return tf.AddV2(tf.Mul(wide, factor), fixed)

    def count_iterations(self, tf: TfBuilder, count: int) -> Value:
        """Add the variable that counts iterations, and let the condition test it."""
        loop = self.loop
        place = loop.carry(constant(np.array(0, np.int32), types.INT32, loop.op.name))
        test = TfBuilder([], loop.op)
        loop.cond.outputs = [test.Less(loop.cond.inputs[-1], count, dtype=types.BOOL)]
        loop.cond.outputs[0].shape = ()
        for op in loop.cond.ops:
            self.report.removed(op, _RULE, "a comparison of iterations stands in its place")
            detach(op)
        loop.cond.ops = test.out
        return place

    def end_iteration(self, state: list[Value | None], ops: list[Op]) -> None:
        """Set what the body returns; counters of steps stay as they are, unread."""
        loop = self.loop
        place = loop.body.inputs[-1]
        following = TfBuilder(loop.body.ops, loop.op).AddV2(place, 1)
        for i in loop.counters:
            state[i] = loop.body.inputs[i]
        loop.body.outputs = [*state, *loop.body.inputs[len(state) : -1], following]  # type: ignore[list-item]

    def redirect(self, ends: list[Value | None], made: list[Op]) -> None:
        """Let the readers of the loop's results, but the ops `made` of these, read the ends."""
        own = set(made)
        for i, (result, end) in enumerate(zip(self.loop.op.results, ends)):
            if i in self.loop.counters:
                number = self.loop.counters[i] + self.steps
                end = constant(np.array(number, result.dtype.numpy), result.dtype, result.name)
            if end is not None and end is not result:
                replace_uses_except(result, end, own)

    def blocks(self, tf: TfBuilder, value: Value | None, count: int, k: int) -> Value:
        assert value is not None and value.shape is not None
        if count * k < self.steps:
            rank = len(value.shape)
            rows = tf.Slice(value, [0] * rank, [count * k] + [-1] * (rank - 1))
            rows.shape = (count * k, *value.shape[1:])
            value = rows
        shape = (count, k, *value.shape[1:])  # type: ignore[index]
        made = tf.Reshape(value, [-1 if isinstance(dim, Sym) else dim for dim in shape])
        made.shape = shape
        return made

    def part(self, tf: TfBuilder, value: Value | None, start: int) -> Value:
        """Return the rows from `start` on."""
        assert value is not None and value.shape is not None
        rank = len(value.shape)
        made = tf.Slice(value, [start] + [0] * (rank - 1), [-1] * rank)
        made.shape = (self.steps - start, *value.shape[1:])
        return made

    def unpacked(self, tf: TfBuilder, value: Value | None, count: int) -> list[Value]:
        assert value is not None and value.shape is not None
        op = Op("tf.Unpack", [value], {}, tf.op.name, tf.op.sources)
        tf.out.append(op)
        return [op.add_result(value.dtype, value.shape[1:]) for _ in range(count)]

    def packed(self, tf: TfBuilder, values: list[Value]) -> Value:
        made = tf.add("Pack", values, {}, values[0].dtype)
        made.shape = None if values[0].shape is None else (len(values), *values[0].shape)
        return made


def _first(begin: Value | None) -> Value | None:
    """Return the first number of a vector that is put together of numbers."""
    while begin is not None and begin.op is not None and begin.op.kind in ("tf.ConcatV2", "tf.Pack", "tf.Reshape"):
        begin = begin.op.operands[0]
        if begin is not None and begin.rank == 0:
            return begin
    return None
