"""Analyze loops: what they carry, which variables count or stay as they are, and how often the body runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Graph, Module, Op, Value, constant
from fuseconv.ir.rewriter import has_kind
from fuseconv.ir.terms import op_of
from fuseconv.tf.operands import content_of
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import ADDS, LOOPS

_COUNTS = (types.INT32, types.INT64)
# Longer sums are not looked through: there are 2**n ways through n sums of a value with itself.
_MOST_TERMS = 64


class LoopForm:
    """A While and its two functions, seen together: induction variables, trip count, invariants.

    Variable i of the loop is `op.operands[i]` before it, `cond.inputs[i]` and `body.inputs[i]` in it, `body.outputs[i]`
    after a step and `op.results[i]` after the loop. counters: the variables that each step adds 1 to, with what they
    start from where that is constant.
    """

    def __init__(self, op: Op, module: Module) -> None:
        self.op, self.module = op, module
        self.cond, self.body = (module.functions[op.attrs[name].name] for name in ("cond", "body"))
        self.counters: dict[int, int] = {}
        for i, value in enumerate(self.body.inputs):
            start = op.operands[i]
            counts = start is not None and start.data is not None and start.dtype in _COUNTS and start.data.size == 1
            if counts and _step(value, self.body.outputs[i]) == 1:
                self.counters[i] = int(start.data.reshape(()))  # type: ignore[union-attr]

    def is_invariant(self, i: int) -> bool:
        """Return whether no step changes a variable."""
        return self.body.outputs[i] is self.body.inputs[i]

    def outside(self, value: Value) -> Value | None:
        """Return what an invariant of the body or condition is before the loop; None of any other value."""
        if value.is_const:
            return value
        for inputs in (self.body.inputs, self.cond.inputs):
            for i, inner in enumerate(inputs):
                if inner is value and self.is_invariant(i):
                    return self.op.operands[i]
        return None

    def counter_of(self, value: Value | None) -> int | None:
        """Return the counter that a value of the body is; None if it is none."""
        return next((i for i in self.counters if self.body.inputs[i] is value), None)

    def steps(self) -> Dim | None:
        """Return the trip count: where the condition is that a counter is less than a known size, else None."""
        test = op_of(self.cond.outputs[0], ("tf.Less", "tf.Greater"))
        if test is None:
            return None
        counter, bound = test.operands if test.kind == "tf.Less" else reversed(test.operands)
        i = next((i for i in self.counters if self.cond.inputs[i] is counter), None)
        end = self.known(bound)
        if i is None or end is None:
            return None
        return max(end - self.counters[i], 0) if isinstance(end, int) else end - self.counters[i]

    def known(self, value: Value | None) -> Dim | None:
        """Return the number that a scalar of the condition holds in each step."""
        for i, inner in enumerate(self.cond.inputs):
            if inner is value:
                value = self.op.operands[i] if self.is_invariant(i) else None
        content = content_of(value)
        return content.reshape(-1)[0] if content is not None and content.size == 1 else None

    def course(self, value: Value | None) -> tuple[Dim, int] | None:
        """Return (a, b) where a scalar integer of the body is a + b * n in step n, counted from 0."""
        first: Dim = 0
        change = 0
        pending = [(value, 1)]
        for _ in range(_MOST_TERMS):
            if not pending:
                return first, change
            term, sign = pending.pop()
            if term is None or term.dtype not in _COUNTS:
                return None
            counter = self.counter_of(term)
            content = content_of(self.outside(term) or term) if counter is None else None
            if counter is not None:
                first, change = first + self.counters[counter] * sign, change + sign
            elif content is not None and content.size == 1:
                first = first + content.reshape(-1)[0] * sign
            elif term.op is not None and (term.op.kind in ADDS or term.op.kind == "tf.Sub"):
                left, right = term.op.operands
                pending += [(left, sign), (right, -sign if term.op.kind == "tf.Sub" else sign)]
            else:
                return None
        return None

    def carry(self, value: Value) -> Value:
        """Make a value from before the loop an invariant of it; return the body's."""
        inner = self.body.add_input(value.dtype, value.shape, value.name)
        self.cond.add_input(value.dtype, value.shape, value.name)
        self.body.outputs = [*self.body.outputs, inner]
        self.op.set_operands([*self.op.operands, value])
        self.op.add_result(value.dtype, value.shape)
        return inner

    def drop(self, variables: set[int]) -> None:
        """Take variables, which nothing reads but their own steps, out of the loop."""
        keep = [i for i in range(len(self.op.operands)) if i not in variables]
        self.body.outputs = [self.body.outputs[i] for i in keep]
        for graph in (self.cond, self.body):
            graph.inputs = [graph.inputs[i] for i in keep]
        self.op.results = [self.op.results[i] for i in keep]
        for index, result in enumerate(self.op.results):
            result.index = index
        self.op.set_operands([self.op.operands[i] for i in keep])


def for_each_loop(module: Module, visit: Callable[[Op, Graph], None]) -> None:
    """Visit each loop with the graph that holds it, those inside others first."""
    seen: set[str] = set()
    if not any(has_kind(graph, LOOPS) for graph in module.graphs()):
        return

    def walk(graph: Graph) -> None:
        for op in list(graph.ops):
            for inner, _ in bodies(op, module):
                if inner.name not in seen:
                    seen.add(inner.name)
                    walk(inner)
            if op.kind in LOOPS:
                visit(op, graph)

    for signature in module.signatures:
        walk(signature.graph)


def _step(value: Value, made: Value) -> int | None:
    """Return what a step adds to an integer variable."""
    op = op_of(made, ADDS)
    if op is None or value not in op.operands:
        return None
    other = op.operands[1 - op.operands.index(value)]
    if other is None or other.data is None or other.data.size != 1:
        return None
    return int(other.data.reshape(()))


def scalar(number: int, like: Value) -> Value:
    """Return a constant of the type of `like`."""
    return constant(np.array(number, like.dtype.numpy), like.dtype, like.name)
