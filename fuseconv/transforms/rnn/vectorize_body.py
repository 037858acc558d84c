"""Vectorize values of a loop's body: what they are in all of its steps, stacked, outside of the loop: [steps,
*shape]."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from fuseconv.ir import types
from fuseconv.ir.graph import Value, copy_op
from fuseconv.tf.batching_rules import batched, is_safe
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.side_effects import is_repeatable
from fuseconv.transforms.rnn.recurrence import Input, Loop, NotALoop


class Stacked:
    """Build what values that depend on no state are in all steps, in the order of the steps.

    inputs: the sequences that the loop reads, its mask too. rows: what is known to be stacked."""

    def __init__(self, loop: Loop, inputs: Sequence[Input], tf: TfBuilder, steps: Value) -> None:
        self.loop = loop
        self.tf = tf
        self.steps = steps
        self.rows: dict[Value, Value] = {}
        self.inputs = {given.item: given for given in inputs}
        self.counters = {loop.body.inputs[i]: start for i, start in loop.counters.items()}
        operands = loop.op.operands
        self.invariants: dict[Value, Value] = {
            loop.body.inputs[i]: operand for i in loop.invariants if (operand := operands[i]) is not None
        }
        self.unchanged = {*self.invariants}
        for op in loop.body.ops:
            if op.operands and is_safe(op) and all(map(self.is_invariant, op.operands)):
                self.unchanged.update(op.results)

    def is_invariant(self, value: Value | None) -> bool:
        return value is not None and (value.is_const or value in self.unchanged)

    def of(self, value: Value) -> Value:
        """Return the rows of a value. Raises NotALoop if it depends on a state of which no rows are known, or has
        none."""
        _build_in_order(value, self.rows, self.varying_operands, self.build)
        return self.rows[value]

    def varying_operands(self, value: Value) -> list[Value]:
        """Return the operands whose rows those of a value are made of."""
        if value in self.inputs or value in self.counters:
            return []
        if value.op is None or not is_repeatable(value.op):
            raise NotALoop("what it puts out depends on what a state was")
        return [v for v in value.op.operands if v is not None and not self.is_invariant(v)]

    def build(self, value: Value) -> None:
        if value in self.inputs:
            self.rows[value] = self.sequence(self.inputs[value])
        elif value in self.counters:
            self.rows[value] = self.numbers(self.counters[value], value)
        else:
            op = value.op
            assert op is not None
            rows = {v: self.rows[v] for v in self.varying_operands(value)}
            made = batched(TfBuilder(self.tf.out, op), op, rows, self.outside) if rows else None
            if made is None:
                raise NotALoop(f"a {op.type} of each step cannot be computed of all steps at once")
            self.rows.update(zip(op.results, made))

    def outside(self, value: Value) -> Value:
        """Return what a value that no step changes is before the loop."""
        if value.is_const:
            return value
        _build_in_order(value, self.invariants, _variable_operands, self.copy_outside)
        return self.invariants[value]

    def copy_outside(self, value: Value) -> None:
        op = value.op
        assert op is not None
        copy = copy_op(op, [v if v.is_const else self.invariants[v] for v in op.operands if v is not None])
        for result in op.results:
            self.invariants[result] = copy.add_result(result.dtype, result.shape)
        self.tf.out.append(copy)

    def sequence(self, given: Input) -> Value:
        x, shape = given.tensor, given.tensor.shape
        if shape is None or shape[given.axis] != self.loop.steps:
            raise NotALoop("it reads a sequence of another length")
        if given.axis:
            order = [given.axis, *(axis for axis in range(len(shape)) if axis != given.axis)]
            x, shape = self.tf.Transpose(x, order), tuple(shape[axis] for axis in order)
            x.shape = shape
        return self.reversed(x) if given.backwards else x

    def reversed(self, rows: Value) -> Value:
        """Return the rows of the last step first."""
        made = self.tf.ReverseV2(rows, [0])
        made.shape = rows.shape
        return made

    def numbers(self, start: int, counter: Value) -> Value:
        """Return the numbers of the steps."""
        end = self.tf.AddV2(self.steps, start) if start else self.steps
        numbers = self.tf.Range(start, end, 1)
        numbers.shape = (self.loop.steps,)
        if counter.dtype is types.INT32:
            return numbers
        wide = self.tf.Cast(numbers, dtype=counter.dtype)
        wide.shape = numbers.shape
        return wide


def _variable_operands(value: Value) -> list[Value]:
    """Return the operands that a value is made of which are no constants."""
    return [v for v in value.op.operands if v is not None and not v.is_const] if value.op is not None else []


def _build_in_order(
    value: Value, built: Container[Value], operands: Callable[[Value], list[Value]], build: Callable[[Value], None]
) -> None:
    """Build a value, and before it what it is made of and is not built yet, however long the way to that is."""
    pending = [value]
    while pending:
        missing = [] if pending[-1] in built else [v for v in operands(pending[-1]) if v not in built]
        if missing:
            pending += reversed(missing)
        elif (last := pending.pop()) not in built:
            build(last)
