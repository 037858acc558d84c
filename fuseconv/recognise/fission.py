"""Takes a loop over a stack of cells apart into a loop for each cell.

A cell further up reads what the step has made of a state further down, and nothing else of it: so its loop can run
after that of the lower one, along the sequence of that state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, detach, replace_uses
from fuseconv.passes.tf_builder import TfBuilder
from fuseconv.recognise.loops import Loop, NotALoop, known_size


@dataclass
class Fission:
    """The loops of a stack, lowest first, with the ops between them. results: what stands for the results of the whole
    loop."""

    loop: Loop
    module: Module
    ops: list[Op]
    parts: list[Op]
    results: dict[Value, Value]

    def accept(self) -> None:
        """Lets the parts take the loop's place."""
        for old, new in self.results.items():
            replace_uses(old, new)
        _drop(self.loop.op, self.module)

    def reject(self) -> None:
        """Takes the parts back."""
        for op in self.ops:
            if op in self.parts:
                _drop(op, self.module)
            detach(op)


def _drop(op: Op, module: Module) -> None:
    for name in ("cond", "body"):
        graph = module.functions.pop(op.attrs[name].name)
        for inner in (*graph.ops, graph.terminator):
            detach(inner)
    detach(op)


def split(loop: Loop, module: Module) -> Fission | None:
    """The parts of a loop whose states form several groups; None if they form one, or if it has no state.

    A masked loop is handed in as `unmasked` gives it; its parts have the same mask. Raises NotALoop if a group reads
    more of another one than what the step makes of its states."""
    groups = _groups(loop)
    if len(groups) < 2:
        return None
    return _Splitter(loop, module).run(groups)


def _reached(start: Value, stops: Collection[Value]) -> set[Value]:
    """The values that a value is made of; what the stops are made of is not looked at."""
    found: set[Value] = set()
    pending: list[Value | None] = [start]
    while pending:
        value = pending.pop()
        if value is None or value in found:
            continue
        found.add(value)
        if value.op is not None and (value is start or value not in stops):
            pending += value.op.operands
    return found


def _groups(loop: Loop) -> list[list[int]]:
    """The states that depend on each other, each group behind those that it reads."""
    body, states = loop.body, loop.states
    made = {loop.made[i] for i in states}
    reads: dict[int, set[int]] = {}
    for i in states:
        found = _reached(loop.made[i], made)
        reads[i] = {j for j in states if body.inputs[j] in found or (loop.made[j] in found and j != i)}
    while True:
        wider = {i: known.union(*(reads[j] for j in known)) for i, known in reads.items()}
        if wider == reads:
            break
        reads = wider
    groups: list[list[int]] = []
    for i in sorted(states, key=lambda i: len(reads[i])):
        group = next((g for g in groups if g[0] in reads[i] and i in reads[g[0]]), None)
        if group is None:
            groups.append([i])
        else:
            group.append(i)
    return groups


class _Splitter:
    def __init__(self, loop: Loop, module: Module) -> None:
        self.loop = loop
        self.module = module
        self.made = {loop.made[i]: i for i in reversed(loop.states)}
        self.out: list[Op] = []
        self.tf = TfBuilder(self.out, loop.op)
        self.lists: dict[int, Value] = {}
        given = loop.inputs[0]
        assert given.tensor.shape is not None
        self.batch: Dim = given.tensor.shape[1 - given.axis]
        self.bounds = [loop.op.operands[i] for i in loop.bounds if known_size(loop.op.operands[i]) == loop.steps]
        if not isinstance(loop.steps, int) and not self.bounds:
            raise NotALoop("the number of its steps is not at hand outside")
        starts = [i for i, start in loop.counters.items() if start == 0]
        if not starts:
            raise NotALoop("it does not count from 0")
        self.counter = starts[0]

    def run(self, groups: list[list[int]]) -> Fission:
        parts = [_Part(self, group) for group in groups]
        kept = {i for part in parts for i in part.kept}
        if any(result.uses and i not in kept for i, result in enumerate(self.loop.op.results)):
            raise NotALoop("what is read of it is no cell's")
        read = {state for part in parts for state in part.read}
        for state in self.loop.states:
            self.width(state)
        results: dict[Value, Value] = {}
        for number, part in enumerate(parts):
            part.build(number, [state for state in part.group if state in read])
            results |= part.results
        return Fission(self.loop, self.module, self.out, [part.op for part in parts], results)

    def element_shape(self, state: int) -> Value:
        return self.tf.ints([-1, self.width(state)])

    def width(self, state: int) -> int:
        operand = self.loop.op.operands[state]
        shape = operand.shape if operand is not None else None
        if shape is None or len(shape) != 2 or not isinstance(shape[1], int):
            raise NotALoop("a state is not known to be [batch, n]")
        return shape[1]

    def steps(self) -> Value:
        """The number of steps, outside of the loop."""
        if isinstance(self.loop.steps, int):
            return self.tf.ints(self.loop.steps)
        (bound, *_) = self.bounds
        assert bound is not None
        return self.tf.as_int32(bound)


class _Part:
    """The loop of one group of states."""

    def __init__(self, whole: _Splitter, group: list[int]) -> None:
        self.whole = whole
        self.group = group
        loop = whole.loop
        body = loop.body
        others = {value for value, i in whole.made.items() if i not in group}
        lists = [o for o in loop.outputs if whole.made.get(o.item, -1) in group]
        if any(o.item not in whole.made for o in loop.outputs):
            raise NotALoop("it writes something else than a state to its list")
        self.lists = [o.variable for o in lists]
        found = set().union(*(_reached(body.outputs[i], others) for i in (*group, *self.lists)))
        if any(body.inputs[i] in found for i in loop.states if i not in group):
            raise NotALoop("a cell reads the last state of another")
        self.read = sorted({whole.made[value] for value in others & found})
        self.kept = [
            i for i, value in enumerate(body.inputs)
            if i in loop.counters or i in group or i in self.lists
            or (i not in loop.states and (value in found or (body.outputs[i] is value and loop.cond.inputs[i].uses)))
        ]  # fmt: skip
        self.results: dict[Value, Value] = {}
        self.op: Op

    def build(self, number: int, handed: list[int]) -> None:
        """Builds the loop. handed: the states that other groups read."""
        whole, loop = self.whole, self.whole.loop
        name = f"{loop.op.name}/cell{number}"
        cond, cond_values = self.graph(f"{name}/cond", loop.cond)
        body, values = self.graph(f"{name}/body", loop.body)
        operands = [loop.op.operands[i] for i in self.kept]
        written: list[Value] = []
        # Behind the variables that are kept stand the sequences that the group reads, then those that it makes.
        for state in self.read:
            read = self.add_list(cond, body, f"sequence{state}")
            tf = TfBuilder(body.ops, loop.op)
            item = tf.TensorListGetItem(
                read, values[loop.body.inputs[whole.counter]], whole.element_shape(state), dtype=types.FLOAT32
            )
            item.shape = (whole.batch, whole.width(state))
            values[loop.made[state]] = item
            operands.append(whole.lists[state])
            written.append(read)
        _copy(loop.cond.ops, loop.cond.outputs, cond_values, cond.ops)
        _copy(loop.body.ops, [loop.body.outputs[i] for i in self.kept], values, body.ops)
        cond.outputs = [_mapped(cond_values, value) for value in loop.cond.outputs]
        for state in handed:
            made = self.add_list(cond, body, f"made{state}")
            tf = TfBuilder(body.ops, loop.op)
            item = self.handed_over(tf, state, values)
            written.append(tf.TensorListSetItem(made, values[loop.body.inputs[whole.counter]], item))
            operands.append(whole.tf.TensorListReserve(
                whole.element_shape(state), whole.steps(), dtype=types.VARIANT, element_dtype=types.FLOAT32
            ))  # fmt: skip
        body.outputs = [*(_mapped(values, loop.body.outputs[i]) for i in self.kept), *written]
        attrs = {key: value for key, value in loop.op.attrs.items() if key != "output_shapes"}
        attrs |= {"cond": FuncRef(cond.name), "body": FuncRef(body.name)}
        self.op = Op(loop.op.kind, operands, attrs, loop.op.name, loop.op.sources)
        for value in body.inputs:
            self.op.add_result(value.dtype, value.shape)
        whole.out.append(self.op)
        whole.module.functions |= {cond.name: cond, body.name: body}
        self.results = {loop.op.results[i]: result for i, result in zip(self.kept, self.op.results)}
        for state, result in zip(handed, self.op.results[len(self.kept) + len(self.read) :]):
            stack = whole.tf.TensorListStack(result, whole.element_shape(state), dtype=types.FLOAT32)
            stack.shape = (loop.steps, whole.batch, whole.width(state))
            whole.lists[state] = whole.tf.TensorListFromTensor(
                stack, whole.element_shape(state), dtype=types.VARIANT
            )  # fmt: skip

    def handed_over(self, tf: TfBuilder, state: int, values: dict[Value, Value]) -> Value:
        """What the step makes of a state. Where steps are masked, zeros at those, which its reader leaves out too."""
        loop = self.whole.loop
        made, selection = loop.made[state], loop.body.outputs[state].op
        if made is loop.body.outputs[state] or selection is None:
            return values[made]
        test, *choices = selection.operands
        assert test is not None
        zeros = tf.ZerosLike(values[made])
        zeros.shape = made.shape
        operands = [_mapped(values, test), *(values[made] if choice is made else zeros for choice in choices)]
        return tf.add(selection.type, operands, dict(selection.attrs), made.dtype, made.shape)

    def graph(self, name: str, like: Graph) -> tuple[Graph, dict[Value, Value]]:
        """A graph that takes the variables that are kept, and what stands in it for those of the whole loop."""
        graph = Graph(name, dict(like.attrs))
        values: dict[Value, Value] = {}
        for i in self.kept:
            value = like.inputs[i]
            values[value] = graph.add_input(value.dtype, value.shape, value.name)
        return graph, values

    def add_list(self, cond: Graph, body: Graph, name: str) -> Value:
        cond.add_input(types.VARIANT, None, name)
        return body.add_input(types.VARIANT, None, name)


def _mapped(values: dict[Value, Value], value: Value) -> Value:
    return value if value.is_const else values[value]


def _copy(ops: Iterable[Op], outputs: Iterable[Value], values: dict[Value, Value], out: list[Op]) -> None:
    """Copies the ops that the outputs need, on the values that are known already."""
    needed = set().union(*(_reached(value, values.keys()) for value in outputs))
    for op in ops:
        if all(result in values for result in op.results) or not any(result in needed for result in op.results):
            continue
        operands = [None if v is None else _mapped(values, v) for v in op.operands]
        copy = Op(op.kind, operands, dict(op.attrs), op.name, op.sources)
        for result in op.results:
            values[result] = copy.add_result(result.dtype, result.shape)
        out.append(copy)
