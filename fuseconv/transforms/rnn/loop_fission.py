"""Distribute a loop: one loop for each recurrent cell, and what needs no loop computed of all steps at once.

    While(t, a, b): a = cell1(x[t], a); b = cell2(relu(a), b); y[t] = a + b
    ->  While(t, a): a = cell1(x[t], a); s[t] = a
        u = relu(s)
        While(t, b): b = cell2(u[t], b); v[t] = b
        y = s + v

The states that depend on each other (the strongly connected components of their dependences) are one cell. An upper
cell reads of a lower one only the state that the step has made. So its loop can run after the loop of the lower one,
along the sequence of that state. Other results that a step computes of its input and of such states need no loop at
all: what a cell multiplies by its weights, and what the step puts out (h + x of a residual cell).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, open_sizes
from fuseconv.ir.graph import Graph, Module, Op, Value, copy_op, replace_uses
from fuseconv.ir.rewriter import Speculative, add_function, erase_function
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import PRODUCTS
from fuseconv.transforms.rnn.masking import strip_mask
from fuseconv.transforms.rnn.recurrence import Loop, NotALoop, classify, known_size
from fuseconv.transforms.rnn.vectorize_body import Stacked


@dataclass
class Fission:
    """The loops of the cells, lowest first, with the ops between them. results: what stands for the results of the
    whole loop."""

    loop: Loop
    module: Module
    parts: list[Op]
    results: dict[Value, Value]

    def replace_loop(self) -> None:
        """Let the readers of the loop read its parts, and erase its functions."""
        for old, new in self.results.items():
            replace_uses(old, new)
        for name in ("cond", "body"):
            erase_function(self.module.functions, self.loop.op.attrs[name].name)


def split_loop(op: Op, module: Module, trial: Speculative) -> Fission | None:
    """Split a loop into one for each cell; return None if it has but one. The parts of a masked loop have the same
    mask.

    Raises NotALoop if a group of states reads more of another one than what the step makes of its states."""
    whole = classify(op, module)
    loop, _ = strip_mask(whole)
    groups = _connected_states(loop)
    made = {loop.made[i] for i in loop.states}
    only_states = all(output.item in made for output in loop.outputs)
    if not groups or (len(groups) == 1 and only_states and not _vectorizable_inputs(loop, groups[0])):
        return None
    return _LoopSplitter(loop, whole, module, trial.ops).run(groups)


def _backward_slice(start: Value, stops: Collection[Value]) -> set[Value]:
    """Return the backward slice of a value: all that it is made of. What the stops are made of is not looked at."""
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


def _connected_states(loop: Loop) -> list[list[int]]:
    """Return the strongly connected components of the states, each behind those that it reads."""
    body, states = loop.body, loop.states
    made = {loop.made[i] for i in states}
    reads: dict[int, set[int]] = {}
    for i in states:
        found = _backward_slice(loop.made[i], made)
        # Itself among them, so that it reads more than what it is made of, though the step before may not count.
        reads[i] = {j for j in states if body.inputs[j] in found or loop.made[j] in found}
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


def _vectorizable_inputs(loop: Loop, group: list[int]) -> list[Value]:
    """Return what can be computed of all steps at once for a group. That is what its cell multiplies by weights, where
    the step has computed it of its input and of other groups' states."""
    others = {loop.made[i] for i in loop.states if i not in group}
    states = {loop.body.inputs[i] for i in loop.states}
    given = {item.item for item in loop.inputs} | others
    inside = set().union(*(_backward_slice(loop.made[i], others) for i in group))
    cuts: dict[Value, None] = {}

    def visit(value: Value | None) -> None:
        if value is None or value.op is None or value in given:
            return
        reached = _backward_slice(value, others)
        if not reached & states and reached & given:
            cuts[value] = None
        elif value.op.kind == "tf.ConcatV2":
            for part in value.op.operands[:-1]:
                visit(part)

    for op in loop.body.ops:
        if op.kind in PRODUCTS and op.result in inside:
            visit(op.operands[0])
    return list(cuts)


class _LoopSplitter:
    """Split a loop into one for each cell. loop: without its mask; whole: with it."""

    def __init__(self, loop: Loop, whole: Loop, module: Module, out: list[Op]) -> None:
        self.loop = loop
        self.module = module
        self.made = {loop.made[i]: i for i in reversed(loop.states)}
        self.out = out
        self.tf = TfBuilder(self.out, loop.op)
        self.lists: dict[Value, Value] = {}
        self.built: list[Op] = []
        given = loop.inputs[0]
        assert given.tensor.shape is not None
        if len(given.tensor.shape) < 2:
            raise NotALoop("its steps read single numbers, which are no batch")
        self.batch: Dim = given.tensor.shape[1 - given.axis]
        self.bounds = [loop.op.operands[i] for i in loop.bounds if known_size(loop.op.operands[i]) == loop.steps]
        if not isinstance(loop.steps, int) and not self.bounds:
            raise NotALoop("the number of its steps is not at hand outside")
        starts = [i for i, start in loop.counters.items() if start == 0]
        if not starts:
            raise NotALoop("it does not count from 0")
        self.counter = starts[0]
        self.stacked = Stacked(loop, whole.inputs, self.tf, self.steps())

    def run(self, groups: list[list[int]]) -> Fission:
        """Build a loop for each group of states, and what is computed of all steps at once between and behind them.

        Raises NotALoop if something else is read of the loop than what these make."""
        parts = [_CellLoop(self, group) for group in groups]
        computed = [output for output in self.loop.outputs if output.item not in self.made]
        if any(not output.every for output in computed):
            raise NotALoop("it keeps what the last step computes of a state")
        # What lists get, with the selection that leaves steps out.
        items = {o.variable: self.loop.body.outputs[o.variable].op.operands[-1] for o in computed}  # type: ignore[union-attr]
        kept = {i for part in parts for i in part.kept} | items.keys()
        if any(result.uses and i not in kept for i, result in enumerate(self.loop.op.results)):
            raise NotALoop("what is read of it is no cell's")
        read = {value for part in parts for value in part.read}
        for value in [*items.values(), *(cut for part in parts for cut in part.cuts)]:
            assert value is not None
            read |= _backward_slice(value, self.made.keys())
        for state in self.loop.states:
            self.width(state)
        results: dict[Value, Value] = {}
        for number, part in enumerate(parts):
            for cut in part.cuts:
                self.lists[cut] = self.as_list(self.stacked.of(cut))
            part.build(number, [state for state in part.group if self.loop.made[state] in read])
            results |= part.results
        for output in computed:
            item = items[output.variable]
            assert item is not None
            rows = self.stacked.of(item)
            rows = self.stacked.reversed(rows) if output.backwards else rows
            results[self.loop.op.results[output.variable]] = self.as_list(rows)
        return Fission(self.loop, self.module, self.built, results)

    def as_list(self, rows: Value) -> Value:
        """Return the list of the elements of all steps [steps, ...]."""
        shape = self.tf.ints(open_sizes((rows.shape or ())[1:]))
        return self.tf.TensorListFromTensor(rows, shape, dtype=types.VARIANT)

    def element_shape(self, state: int) -> Value:
        return self.tf.ints([-1, self.width(state)])

    def width(self, state: int) -> int:
        """Return the n of a state [batch, n]. Raises NotALoop if it has none."""
        operand = self.loop.op.operands[state]
        return _width(None if operand is None else operand.shape)

    def steps(self) -> Value:
        """Return the number of steps, outside of the loop."""
        if isinstance(self.loop.steps, int):
            return self.tf.ints(self.loop.steps)
        (bound, *_) = self.bounds
        assert bound is not None
        return self.tf.as_int32(bound)


def _width(shape: Shape | None) -> int:
    if shape is None or len(shape) != 2 or not isinstance(shape[1], int):
        raise NotALoop("a state is not known to be [batch, n]")
    return shape[1]


class _CellLoop:
    """The loop of one group of states."""

    def __init__(self, whole: _LoopSplitter, group: list[int]) -> None:
        self.whole = whole
        self.group = group
        loop = whole.loop
        body = loop.body
        self.cuts = _vectorizable_inputs(loop, group)
        others = {value for value, i in whole.made.items() if i not in group}.union(self.cuts)
        self.lists = [o.variable for o in loop.outputs if whole.made.get(o.item, -1) in group]
        found = set().union(*(_backward_slice(body.outputs[i], others) for i in (*group, *self.lists)))
        if any(body.inputs[i] in found for i in loop.states if i not in group):
            raise NotALoop("a cell reads the last state of another")
        # In the order of the body.
        self.read = [result for op in body.ops for result in op.results if result in others & found]
        self.kept = [
            i for i, value in enumerate(body.inputs)
            if i in loop.counters or i in group or i in self.lists
            or (i not in loop.states and (value in found or (body.outputs[i] is value and loop.cond.inputs[i].uses)))
        ]  # fmt: skip
        self.results: dict[Value, Value] = {}

    def build(self, number: int, published: list[int]) -> None:
        """Build the loop of the group. published: the states that other groups read."""
        whole, loop = self.whole, self.whole.loop
        name = f"{loop.op.name}/cell{number}"
        cond, cond_values = self.new_graph(f"{name}/cond", loop.cond)
        body, values = self.new_graph(f"{name}/body", loop.body)
        operands = [loop.op.operands[i] for i in self.kept]
        written: list[Value] = []
        # Behind the variables that are kept stand the sequences that the group reads, then those that it makes.
        for index, value in enumerate(self.read):
            read = self.add_list(cond, body, f"sequence{index}")
            tf = TfBuilder(body.ops, loop.op)
            shape = (whole.batch, _width(value.shape))
            item = tf.TensorListGetItem(
                read, values[loop.body.inputs[whole.counter]], tf.ints([-1, shape[1]]), dtype=value.dtype
            )
            item.shape = shape
            values[value] = item
            operands.append(whole.lists[value])
            written.append(read)
        _copy_needed(loop.cond.ops, loop.cond.outputs, cond_values, cond.ops)
        _copy_needed(loop.body.ops, [loop.body.outputs[i] for i in self.kept], values, body.ops)
        cond.outputs = [_mapped(cond_values, value) for value in loop.cond.outputs]
        for state in published:
            made = self.add_list(cond, body, f"made{state}")
            tf = TfBuilder(body.ops, loop.op)
            item = self.published_state(tf, state, values)
            written.append(tf.TensorListSetItem(made, values[loop.body.inputs[whole.counter]], item))
            operands.append(whole.tf.TensorListReserve(
                whole.element_shape(state), whole.steps(), dtype=types.VARIANT, element_dtype=types.FLOAT32
            ))  # fmt: skip
        body.outputs = [*(_mapped(values, loop.body.outputs[i]) for i in self.kept), *written]
        attrs = {key: value for key, value in loop.op.attrs.items() if key != "output_shapes"}
        attrs |= {"cond": add_function(whole.module, cond), "body": add_function(whole.module, body)}
        op = Op(loop.op.kind, operands, attrs, loop.op.name, loop.op.sources)
        for value in body.inputs:
            op.add_result(value.dtype, value.shape)
        whole.out.append(op)
        whole.built.append(op)
        self.results = {loop.op.results[i]: result for i, result in zip(self.kept, op.results)}
        for state, result in zip(published, op.results[len(self.kept) + len(self.read) :]):
            stack = whole.tf.TensorListStack(result, whole.element_shape(state), dtype=types.FLOAT32)
            stack.shape = (loop.steps, whole.batch, whole.width(state))
            whole.stacked.rows[loop.made[state]] = stack
            whole.lists[loop.made[state]] = whole.as_list(stack)

    def published_state(self, tf: TfBuilder, state: int, values: dict[Value, Value]) -> Value:
        """Return what the step makes of a state, for those who read it. Where steps are masked, zeros at those, which
        its reader leaves out too."""
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

    def new_graph(self, name: str, like: Graph) -> tuple[Graph, dict[Value, Value]]:
        """Return a graph that takes the variables that are kept, and what stands in it for those of the whole loop."""
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
    """Return what stands for a value in another graph; a constant stands for itself."""
    return value if value.is_const else values[value]


def _copy_needed(ops: Iterable[Op], outputs: Iterable[Value], values: dict[Value, Value], out: list[Op]) -> None:
    """Copy the ops that the outputs need, on the values that are known already."""
    needed = set().union(*(_backward_slice(value, values.keys()) for value in outputs))
    for op in ops:
        if all(result in values for result in op.results) or not any(result in needed for result in op.results):
            continue
        operands = [None if v is None else _mapped(values, v) for v in op.operands]
        copy = copy_op(op, operands)
        for result in op.results:
            values[result] = copy.add_result(result.dtype, result.shape)
        out.append(copy)
