"""What a loop carries and how often it runs; loops are made to carry no more than they need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.side_effects import bodies, has_effect, is_repeatable
from fuseconv.tf.traits import ADDS, LOOPS

_COUNTS = (types.INT32, types.INT64)
# Constants up to this size are compared by their contents.
_SMALL_BYTES = 1 << 16


class LoopForm:
    """A While and its two functions, seen together.

    Variable i of the loop is `op.operands[i]` before it, `cond.inputs[i]` and `body.inputs[i]` in it, `body.outputs[i]`
    after a step and `op.results[i]` after the loop. counters: the variables that each step adds 1 to, with what they
    start from where that is constant.
    """

    def __init__(self, op: Op, module: Module) -> None:
        self.op = op
        self.cond, self.body = (module.functions[op.attrs[name].name] for name in ("cond", "body"))
        self.counters: dict[int, int] = {}
        for i, value in enumerate(self.body.inputs):
            start = op.operands[i]
            counts = start is not None and start.data is not None and start.dtype in _COUNTS and start.data.size == 1
            if counts and _step(value, self.body.outputs[i]) == 1:
                self.counters[i] = int(start.data.reshape(()))  # type: ignore[union-attr]

    def is_invariant(self, i: int) -> bool:
        """True of a variable that no step changes."""
        return self.body.outputs[i] is self.body.inputs[i]

    def outside(self, value: Value) -> Value | None:
        """What an invariant of the body is before the loop; None of any other value."""
        if value.is_const:
            return value
        for i, inner in enumerate(self.body.inputs):
            if inner is value and self.is_invariant(i):
                return self.op.operands[i]
        return None

    def counter_of(self, value: Value | None) -> int | None:
        """The counter that a value of the body is."""
        return next((i for i in self.counters if self.body.inputs[i] is value), None)

    def steps(self) -> Dim | None:
        """How often the body runs: where the condition is that a counter is less than a known size."""
        test = self.cond.outputs[0].op
        if test is None or test.kind not in ("tf.Less", "tf.Greater"):
            return None
        counter, bound = test.operands if test.kind == "tf.Less" else reversed(test.operands)
        i = next((i for i in self.counters if self.cond.inputs[i] is counter), None)
        end = self.known(bound)
        if i is None or end is None:
            return None
        return max(end - self.counters[i], 0) if isinstance(end, int) else end - self.counters[i]

    def known(self, value: Value | None) -> Dim | None:
        """The number that a scalar of the condition holds in each step."""
        for i, inner in enumerate(self.cond.inputs):
            if inner is value:
                value = self.op.operands[i] if self.is_invariant(i) else None
        content = content_of(value)
        return content.reshape(-1)[0] if content is not None and content.size == 1 else None

    def course(self, value: Value | None) -> tuple[Dim, int] | None:
        """(a, b) where a scalar integer of the body is a + b * n in step n, counted from 0."""
        if value is None or value.dtype not in _COUNTS:
            return None
        i = self.counter_of(value)
        if i is not None:
            return self.counters[i], 1
        content = content_of(self.outside(value) or value)
        if content is not None and content.size == 1:
            return content.reshape(-1)[0], 0
        op = value.op
        if op is None or not (op.kind in ADDS or op.kind == "tf.Sub"):
            return None
        left, right = (self.course(operand) for operand in op.operands)
        if left is None or right is None:
            return None
        sign = -1 if op.kind == "tf.Sub" else 1
        return left[0] + right[0] * sign, left[1] + right[1] * sign

    def carry(self, value: Value) -> Value:
        """Makes a value from before the loop an invariant of it; returns the body's."""
        inner = self.body.add_input(value.dtype, value.shape, value.name)
        self.cond.add_input(value.dtype, value.shape, value.name)
        self.body.outputs = [*self.body.outputs, inner]
        self.op.set_operands([*self.op.operands, value])
        self.op.add_result(value.dtype, value.shape)
        return inner

    def drop(self, variables: set[int]) -> None:
        """Takes variables, which nothing reads but their own steps, out of the loop."""
        keep = [i for i in range(len(self.op.operands)) if i not in variables]
        self.body.outputs = [self.body.outputs[i] for i in keep]
        for graph in (self.cond, self.body):
            graph.inputs = [graph.inputs[i] for i in keep]
        self.op.results = [self.op.results[i] for i in keep]
        for index, result in enumerate(self.op.results):
            result.index = index
        self.op.set_operands([self.op.operands[i] for i in keep])


def for_each_loop(module: Module, visit: Callable[[Op, Graph], None]) -> None:
    """Visits each loop with the graph that holds it, those inside others first."""
    seen: set[str] = set()

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


@module_pass("reduce-while-operands")
def reduce_while_operands(module: Module, report: Report) -> None:
    """Carry through a loop only what is read, each counter and invariant once: While(a, a, n, 0) -> While(a, n)."""
    for_each_loop(module, lambda op, graph: _trim(LoopForm(op, module), graph, module, report))


def _trim(loop: LoopForm, graph: Graph, module: Module, report: Report) -> None:
    _merge_equal(loop)
    _merge_tests(loop)
    _share_single_slots(loop, graph)
    _drop_unread(loop, module, report)


def _merge_equal(loop: LoopForm) -> None:
    """One variable for all that start as the same and stay the same: invariants, counters, outputs that are states."""
    body = loop.body
    count = len(body.inputs)
    gone: set[int] = set()
    for j in range(count):
        for i in range(j + 1, count):
            if gone & {i, j} or body.inputs[i].dtype is not body.inputs[j].dtype:
                continue
            if not _start_equal(loop.op.operands[i], loop.op.operands[j]):
                continue
            if _equal(body.outputs[i], body.outputs[j], (body.inputs[i], body.inputs[j]), {}):
                _merge(loop, i, j)
                gone.add(i)


def _merge(loop: LoopForm, i: int, j: int) -> None:
    """Lets all that read variable i read j; i stays as it is, unread."""
    for graph in (loop.cond, loop.body):
        for reader in list(graph.inputs[i].uses):
            for index, operand in enumerate(reader.operands):
                if operand is graph.inputs[i]:
                    reader.set_operand(index, graph.inputs[j])
    loop.body.terminator.set_operand(i, loop.body.inputs[i])
    start = loop.op.operands[j]
    if start is not None and start.op is not None and start.op.kind == "tf.ZerosLike":
        # What it is like is computed for its shape alone, most often a step before the first.
        loop.op.set_operand(j, loop.op.operands[i])
    replace_uses(loop.op.results[i], loop.op.results[j])
    loop.counters.pop(i, None)


def _start_equal(a: Value | None, b: Value | None) -> bool:
    if a is b:
        return True
    if a is None or b is None or a.shape is None or a.shape != b.shape:
        return False
    if a.data is not None and b.data is not None:
        return a.data.nbytes <= _SMALL_BYTES and bool(np.array_equal(a.data, b.data))
    return _is_zero(a) and _is_zero(b)


def _equal(a: Value | None, b: Value | None, same: tuple[Value, Value], known: dict[tuple, bool]) -> bool:
    """True if two values of a body are equal where the two values `same` are."""
    if a is b or (a in same and b in same):
        return True
    if a is None or b is None or a.dtype is not b.dtype:
        return False
    if a.data is not None and b.data is not None:
        return a.shape == b.shape and a.data.nbytes <= _SMALL_BYTES and bool(np.array_equal(a.data, b.data))
    if a.op is None or b.op is None or a.index != b.index or a.op.kind != b.op.kind or not is_repeatable(a.op):
        return False
    if (a, b) not in known:
        known[a, b] = False
        pairs = zip(a.op.operands, b.op.operands)
        known[a, b] = (
            len(a.op.operands) == len(b.op.operands)
            and repr(a.op.attrs) == repr(b.op.attrs)
            and all(_equal(x, y, same, known) for x, y in pairs)
        )
    return known[a, b]


def _merge_tests(loop: LoopForm) -> None:
    """a < m and a < n, both constant or the same -> one comparison."""
    result = loop.cond.outputs[0]
    if result.op is None or result.op.kind != "tf.LogicalAnd":
        return
    tests = [value.op for value in result.op.operands if value is not None]
    if any(test is None or test.kind != "tf.Less" for test in tests):
        return
    (a, m), (b, n) = (test.operands for test in tests)  # type: ignore[union-attr]
    if a is not b or m is None or n is None:
        return
    bounds = [loop.known(m), loop.known(n)]
    if bounds[0] is not None and (bounds[0] == bounds[1] or not any(isinstance(bound, Sym) for bound in bounds)):
        smaller = m if bounds[1] is None or bounds[0] == bounds[1] or bounds[0] < bounds[1] else n  # type: ignore[operator]
        if bounds[1] is not None:
            replace_uses(result, tests[0].result if smaller is m else tests[1].result)  # type: ignore[union-attr]


def _share_single_slots(loop: LoopForm, graph: Graph) -> None:
    """A list of one element, which each step overwrites with another variable's new value -> that variable, expanded.

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
    """The one element of a list after it was overwritten; None if it is no such list."""
    op = made.op
    if op is None or op.kind != "tf.XlaDynamicUpdateSlice" or not made.shape or made.shape[0] != 1:
        return None
    row = op.operands[1]
    if row is None or row.op is None or row.op.kind != "tf.ExpandDims" or row.shape != made.shape:
        return None
    axis = content_of(row.op.operands[1])
    return row.op.operands[0] if axis is not None and axis.reshape(-1)[0] == 0 else None


def _takes_only(reader: Op) -> bool:
    """True of a StridedSlice that takes the only element of a list as it is."""
    spec = SliceSpec.of(reader)
    return spec is not None and spec.picked() in ((0, 0), (0, -1))


def _both_zero(a: Value | None, b: Value | None) -> bool:
    return all(value is not None and _is_zero(value) for value in (a, b))


def _is_zero(value: Value) -> bool:
    if value.data is not None:
        return bool(np.all(value.data == 0))
    if value.op is not None and value.op.kind == "tf.ZerosLike":
        return True
    filled = value.op.operands[1] if value.op is not None and value.op.kind == "tf.Fill" else None
    return filled is not None and filled.data is not None and bool(np.all(filled.data == 0))


def _drop_unread(loop: LoopForm, module: Module, report: Report) -> None:
    """Variables whose ends nobody reads, and that neither the condition nor what is read depends on, go."""
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
    """Drops the ops that only dead variables needed, some of which read variables that are gone."""
    kept: list[Op] = []
    for op in loop.body.ops:
        if op in acting or any(result in needed for result in op.results):
            kept.append(op)
        else:
            report.removed(op, "trim loops", "only variables that nobody reads need it")
            detach(op)
    loop.body.ops = kept


def _step(value: Value, made: Value) -> int | None:
    """What a step adds to an integer variable."""
    op = made.op
    if op is None or op.kind not in ADDS or value not in op.operands:
        return None
    other = op.operands[1 - op.operands.index(value)]
    if other is None or other.data is None or other.data.size != 1:
        return None
    return int(other.data.reshape(()))


def scalar(number: int, like: Value) -> Value:
    """A constant of the type of `like`."""
    return constant(np.array(number, like.dtype.numpy), like.dtype, like.name)
