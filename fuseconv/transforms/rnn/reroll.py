"""Reroll loops: equal steps that a model has written out become the body of a loop.

    x0, x1, x2 = Unpack(x)
    h1 = tanh(x0 @ k + h0 @ r)
    h2 = tanh(x1 @ k + h1 @ r)     ->   While(t = 0, h = h0; t < 3): h = tanh(x[t] @ k + h @ r)
    h3 = tanh(x2 @ k + h2 @ r)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, copy_op
from fuseconv.ir.rewriter import Speculative, add_function, replace_uses_except
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import PRODUCTS
from fuseconv.transforms.rnn.projection import Projection
from fuseconv.transforms.rnn.rows import Rows, rows_of
from fuseconv.transforms.rnn.unrolled_steps import UnrolledSteps

# How many ops are looked at for all unpacked sequences of a graph: each once for each, or 32 times if these are more.
_MOST_VISITS = 1 << 18
_VISITS_PER_OP = 32
_SWAP = [1, 0, 2]


@dataclass
class RerolledLoop:
    """A loop that does what equal steps do, with the ops around it, and where in the graph it can stand.

    replacements: what stands for values that others read. Unless it is accepted, the loop is undone."""

    loop: Op
    trial: Speculative
    position: int
    replacements: list[tuple[Value, Value]]

    def accept(self, graph: Graph) -> None:
        self.trial.keep()
        built = set(self.trial.ops)
        for old, new in self.replacements:
            replace_uses_except(old, new, built)
        graph.ops[self.position : self.position] = self.trial.ops


def reroll_loops(graph: Graph, module: Module) -> Iterator[RerolledLoop]:
    """Yield the loops that steps of a graph can be rolled up into; each is accepted before the next, or undone."""
    left = max(_MOST_VISITS, _VISITS_PER_OP * len(graph.ops))
    found_rows = [*rows_of(graph)]
    masks = [rows for rows in found_rows if rows.x.dtype is types.BOOL]
    for rows in found_rows:
        for backwards in (False, True):
            left -= len(graph.ops)
            if left < 0:
                return
            steps = UnrolledSteps(graph, rows, backwards)
            if steps.match(masks):
                with Speculative(module.functions) as trial:
                    yield _LoopBuilder(steps).build(module, trial)


class _LoopBuilder:
    """Builds the loop of steps that are equal."""

    def __init__(self, steps: UnrolledSteps) -> None:
        self.steps = steps

    def build(self, module: Module, trial: Speculative) -> RerolledLoop:
        """Build the loop: f(x[2], f(x[1], f(x[0], h))) -> While(h = f(x[t], h); 3)."""
        tf = TfBuilder(trial.ops, self.steps.rows.ops[0])
        sequences = [self._sequence(tf, rows) for rows in self.steps.elements]
        after = dict(self.steps.next_states())
        states = list(after)
        outputs = [v for v in states if self._outside_readers(after[v])]
        shapes = [tf.ints([-1] * ((x.rank or 1) - 1)) for x in sequences]
        lists = [tf.TensorListFromTensor(x, shape, dtype=types.VARIANT) for x, shape in zip(sequences, shapes)]
        operands = [tf.ints(0), *lists, *(self._start(tf, v) for v in states)]
        for v in outputs:
            shape = tf.ints([-1] * (v.rank or 0))
            operands.append(tf.TensorListReserve(
                shape, tf.ints(self.steps.count), dtype=types.VARIANT, element_dtype=v.dtype
            ))  # fmt: skip
        name = f"{self.steps.rows.ops[0].name}/{'backward' if self.steps.backwards else 'forward'}"
        cond, body = self._functions(name, operands, states, outputs, shapes)
        attrs = {"cond": add_function(module, cond), "body": add_function(module, body)}
        sources = tuple(dict.fromkeys(s for ops in self.steps.ops[:-1] for op in ops for s in op.sources))
        loop = Op("tf.StatelessWhile", operands, attrs, name, sources)
        for value in operands:
            loop.add_result(value.dtype, value.shape)
        trial.ops.append(loop)
        ends = loop.results[1 + len(lists) :]
        last = self.steps.images[-1]
        replacements = [(last[after[v]], ends[i]) for i, v in enumerate(states) if after[v] in last]
        for v, result in zip(outputs, ends[len(states) :]):
            stack = tf.TensorListStack(result, [-1] * (v.rank or 0), dtype=v.dtype)
            _shaped(stack, None if v.shape is None else (self.steps.count, *v.shape))
            replacements = [*self._replace_outputs(tf, after[v], stack), *replacements]
        made = {op: i for i, op in enumerate(self.steps.graph.ops)}
        likes = [like for _, like in self.steps.filled_like.values()]
        given = [*(self._source(rows) for rows in self.steps.elements), *self.steps.initial.values(), *likes]
        needed = [v.op for v in given if v is not None and v.op is not None]
        return RerolledLoop(loop, trial, 1 + max((made[op] for op in needed), default=-1), replacements)

    def _start(self, tf: TfBuilder, state: Value) -> Value:
        """Return what a state starts from."""
        if state not in self.steps.filled_like:
            return self.steps.initial[state]
        number, like = self.steps.filled_like[state]
        if number == 0:
            return _shaped(tf.ZerosLike(like), like.shape)
        filled = tf.Fill(tf.shape(like), constant(np.array(number, like.dtype.numpy), like.dtype), dtype=like.dtype)
        return _shaped(filled, like.shape)

    def _sequence(self, tf: TfBuilder, rows: Rows) -> Value:
        """Return the whole sequence, with the first step first and the time in front."""
        projection = self._projection(rows)
        x = rows.x if projection is None else projection.moved(tf)
        if rows.axis != 0:
            swap = _SWAP[: x.rank]
            x = _shaped(tf.Transpose(x, swap), [x.shape[i] for i in swap])  # type: ignore[index]
        return _shaped(tf.ReverseV2(x, [0]), x.shape) if self.steps.backwards else x

    def _projection(self, rows: Rows) -> Projection | None:
        """Return what a sequence is the projection of, if the steps do not project its elements themselves."""
        readers = self.steps.elements[rows][1].uses
        return None if any(reader.kind in PRODUCTS for reader in readers) else Projection.of(rows.x)

    def _source(self, rows: Rows) -> Value:
        projection = self._projection(rows)
        return rows.x if projection is None else projection.x

    def _functions(
        self, name: str, operands: list[Value], states: list[Value], outputs: list[Value], shapes: list[Value]
    ) -> tuple[Graph, Graph]:
        """Build the condition and the body of the loop: one step on (counter, sequences, states, lists), made of copies
        of the ops of step 1. outputs: what each step writes to a list; shapes: those of the sequences' elements."""
        cond, body = Graph(f"{name}/cond"), Graph(f"{name}/body")
        for graph in (cond, body):
            for value in operands:
                graph.add_input(value.dtype, value.shape, value.name)
        origin = self.steps.rows.ops[0]
        cond.outputs = [TfBuilder(cond.ops, origin).Less(cond.inputs[0], self.steps.count, dtype=types.BOOL)]
        tf = TfBuilder(body.ops, origin)
        counter, *rest = body.inputs
        sequences, rest = rest[: len(shapes)], rest[len(shapes) :]
        values: dict[Value, Value] = dict(zip(states, rest))
        for sequence, shape, (rows, elements) in zip(sequences, shapes, self.steps.elements.items()):
            item = tf.TensorListGetItem(sequence, counter, shape, dtype=elements[1].dtype)
            projection = self._projection(rows)
            if projection is None:
                values[elements[1]] = _shaped(item, elements[1].shape)
            else:
                assert elements[1].shape is not None
                _shaped(item, (elements[1].shape[0], projection.x.shape[-1]))  # type: ignore[index]
                values[elements[1]] = projection.step(tf, item)
        for op in self.steps.needed():
            copy = copy_op(op, [values.get(v, v) for v in op.operands])  # type: ignore[arg-type]
            for result in op.results:
                values[result] = copy.add_result(result.dtype, result.shape)
            body.ops.append(copy)
        after = dict(self.steps.next_states())
        lists = [
            tf.TensorListSetItem(held, counter, values[after[v]]) for v, held in zip(outputs, rest[len(states) :])
        ]
        body.outputs = [tf.AddV2(counter, 1), *sequences, *(values[after[v]] for v in states), *lists]
        return cond, body

    def _outside_readers(self, value: Value) -> list[Op]:
        """Return the ops beyond the steps that read what a value of step 1 is at some step before the last."""
        results = [result for op in self.steps.needed() for result in op.results]
        inside = {image[result].op for image in self.steps.images for result in results if result in image}
        return [reader for image in self.steps.images[:-1] for reader in image[value].uses if reader not in inside]

    def _replace_outputs(self, tf: TfBuilder, value: Value, stack: Value) -> list[tuple[Value, Value]]:
        """Return what stands for the outputs of all steps: for a Pack of them the stack, for others its elements."""
        made = [image.get(value) for image in self.steps.images]
        replacements: list[tuple[Value, Value]] = []
        readers = self.steps.images[0][value].uses
        packs = {reader for reader in readers if reader.kind == "tf.Pack" and len(reader.operands) == self.steps.count}
        for pack in sorted(packs, key=lambda op: op.name):
            if pack.operands not in (made, made[::-1]) or pack.attrs.get("axis", 0) not in (0, 1):
                continue
            whole = stack if pack.operands == made else _shaped(tf.ReverseV2(stack, [0]), stack.shape)
            whole = tf.Transpose(whole, _SWAP) if pack.attrs.get("axis", 0) else whole
            replacements.append((pack.result, whole))
        if any(reader not in packs for reader in self._outside_readers(value)):
            elements = Op("tf.Unpack", [stack], {}, tf.op.name, tf.op.sources)
            for old in made:
                element = elements.add_result(value.dtype, value.shape)
                replacements += [] if old is None else [(old, element)]
            tf.out.append(elements)
        return replacements


def _shaped(value: Value, shape: Any) -> Value:
    value.shape = None if shape is None else tuple(shape)
    return value
