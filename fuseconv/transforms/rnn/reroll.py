"""Reroll loops: equal steps that a model has written out become the body of a loop.

    x0, x1, x2 = Unpack(x)
    h1 = tanh(x0 @ k + h0 @ r)
    h2 = tanh(x1 @ k + h1 @ r)     ->   While(t = 0, h = h0; t < 3): h = tanh(x[t] @ k + h @ r)
    h3 = tanh(x2 @ k + h2 @ r)

An op belongs to the step of the latest element that it depends on: of x1 are x1 @ k, the sum and the tanh, and also
h1 @ r, which reads nothing later than step 0 but is only read by step 1. Step 1 is the template: it is matched with
step 0, which tells what the states are (h1 for h0) and what they start from, and then with each later step. Elements of
a mask belong to the steps as those of the sequence do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, copy_op
from fuseconv.ir.rewriter import Speculative, add_function, replace_uses_except
from fuseconv.ir.value_numbering import attrs_key, value_key
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.folders import evaluate
from fuseconv.tf.traits import PRODUCTS

# Two steps show no period: the last one may have what follows it in its midst.
_FEWEST = 3
# How many ops are looked at for all unpacked sequences of a graph: each once for each, or 32 times if these are more.
_MOST_VISITS = 1 << 18
_VISITS_PER_OP = 32
# What may be done to a product before anything of the next step is added.
_LINEAR = frozenset({
    "tf.AddV2", "tf.Add", "tf.BiasAdd", "tf.Split", "tf.SplitV", "tf.Slice", "tf.Squeeze", "tf.StridedSlice",
})  # fmt: skip
# Ops on an element that tell no more than the sequence itself does.
_SIZES = frozenset({"tf.Shape", "tf.Size", "tf.Rank", "tf.ZerosLike"})
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
    for unpack in [op for op in graph.ops if op.kind == "tf.Unpack" and len(op.results) >= _FEWEST]:
        for backwards in (False, True):
            left -= len(graph.ops)
            if left < 0:
                return
            found = _UnrolledLoop(graph, unpack, backwards).find()
            if found is not None:
                with Speculative(module.functions) as trial:
                    yield found.build_loop(module, trial)


def _same(a: Value, b: Value) -> bool:
    """Return whether two values are one, or constants that are equal."""
    return a is b or (a.data is not None and b.data is not None and np.array_equal(a.data, b.data))


def _op_key(kind: str, attrs: dict[str, Any], operands: list[Any]) -> Any:
    return kind, attrs_key(attrs), tuple(operands)


def _next_step_ops(steps: dict[Op, int]) -> set[Op]:
    """Return the ops of a step that only the next one reads, and that multiply the last state by weights or go on from
    there.

    They can be computed before that step, and belong to it."""
    early: set[Op] = set()

    def may_be(op: Op) -> bool:
        if op.kind in PRODUCTS:
            return op.operands[0] is not None and op.operands[0].op in steps
        if op.kind == "tf.Mul" and any(v is not None and v.is_const for v in op.operands):
            return True
        before = [v.op for v in op.operands if v is not None and v.op is not None]
        return op.kind in _LINEAR and any(made in early and steps[made] == steps[op] for made in before)

    for op in steps:
        if may_be(op):
            early.add(op)
    pending = list(early)
    while pending:
        op = pending.pop()
        if op not in early:
            continue
        readers = [reader for result in op.results for reader in result.uses]
        fit = all(steps.get(r, -1) == steps[op] + 1 or (r in early and steps[r] == steps[op]) for r in readers)
        if not readers or not fit or not may_be(op):
            early.remove(op)
            # Others stand only as long as this one does.
            pending += [*readers, *(v.op for v in op.operands if v is not None and v.op is not None)]
    return early


class _UnrolledLoop:
    """The steps along an unpacked sequence, from its first element or its last."""

    def __init__(self, graph: Graph, unpack: Op, backwards: bool) -> None:
        self.graph = graph
        self.unpack = unpack
        self.backwards = backwards
        self.count = len(unpack.results)
        self.step_of: dict[Value, int] = {}
        # What the steps read an element of each, in their order: the sequence, and masks.
        self.elements: dict[Op, list[Value]] = {}
        self._read(unpack)
        self.ops: list[list[Op]] = [[] for _ in range(self.count)]
        # images[t]: what stands at step t for a value of step 1
        self.images: list[dict[Value, Value]] = []
        self.initial: dict[Value, Value] = {}
        # States that start as zeros, with what these are like.
        self.zeros_like: dict[Value, Value] = {}

    def _read(self, unpack: Op) -> None:
        self.elements[unpack] = unpack.results[::-1] if self.backwards else list(unpack.results)
        self.step_of.update((value, step) for step, value in enumerate(self.elements[unpack]))

    def _read_masks(self, steps: dict[Op, int]) -> None:
        """Find the masks of which the steps read elements; what is made of an element alone belongs to its step."""
        unpacks = [op for op, step in steps.items() if op.kind == "tf.Unpack" and step < 0]
        masks = {
            value: (op, number)
            for op in unpacks if len(op.results) == self.count and op.results[0].dtype is types.BOOL
            for number, value in enumerate(op.results[::-1] if self.backwards else op.results)
        }  # fmt: skip
        if not masks:
            return
        for op in steps:
            alone = all(v is None or v.is_const or v in masks for v in op.operands)
            found = {masks[v] for v in op.operands if v in masks}  # type: ignore[index]
            if alone and len(found) == 1:
                masks.update(dict.fromkeys(op.results, *found))
        for op in reversed(steps):
            _, step = masks.get(op.results[0], (op, -1)) if op.results and op.kind != "tf.Unpack" else (op, -1)
            if step >= 0 and any(steps.get(reader) == step for result in op.results for reader in result.uses):
                steps[op] = step
        for op, step in steps.items():
            for unpack in [masks[v][0] for v in op.operands if step == 1 and v in masks]:  # type: ignore[index]
                self._read(unpack)

    def find(self) -> _UnrolledLoop | None:
        """Sort the ops into steps; return None if the steps are not equal."""
        steps: dict[Op, int] = {}
        made = dict(self.step_of)
        for op in self.graph.ops:
            if op is not self.unpack and op.kind not in _SIZES:
                steps[op] = max((made[v] for v in op.operands if v in made), default=-1)  # type: ignore[index]
                made.update(dict.fromkeys(op.results, steps[op]))
        self._read_masks(steps)
        for op in _next_step_ops(steps):
            steps[op] += 1
        for op, step in steps.items():
            if step >= 0:
                self.step_of.update(dict.fromkeys(op.results, step))
                self.ops[step].append(op)
        first, second = self.ops[:2]
        if not second or not self._match_first_steps(first, second):
            return None
        by_key: dict[Any, Op] = {}
        for op, step in steps.items():
            if step >= 0:
                by_key.setdefault(_op_key(op.kind, op.attrs, [value_key(v) for v in op.operands]), op)
        for step in range(2, self.count):
            if not self._match_step(step, by_key):
                return None
        return self if self.initial and self._resolve_zero_states() and self._read_nothing_else() else None

    def _read_nothing_else(self) -> bool:
        """Return whether the states are made of constants besides what a loop carries."""
        return all(v is None or v.is_const or v in self.step_of for op in self._needed() for v in op.operands)

    def _needed(self) -> list[Op]:
        """Return the ops of step 1 that make the states."""
        wanted: set[Value | None] = {made for _, made in self._next_states()}
        needed: list[Op] = []
        for op in reversed(self.ops[1]):
            if wanted.intersection(op.results):
                needed.append(op)
                wanted.update(op.operands)
        return needed[::-1]

    def _resolve_zero_states(self) -> bool:
        """Return whether all that the steps start from is there before them: zeros that are like what they make are
        like another first state of the same shape, too."""
        for state, start in self.initial.items():
            zeros = start.op if start.op is not None and start.op.kind == "tf.ZerosLike" else None
            if zeros is None or zeros.operands[0] not in self.step_of:
                continue
            others = (v for v in self.initial.values() if v is not start and v.shape == start.shape is not None)
            self.zeros_like[state] = next(others, start)
            if self.zeros_like[state] is start:
                return False
        return True

    def _match_first_steps(self, first: list[Op], second: list[Op]) -> bool:
        """Match step 0 with step 1: find what each value of step 1 is at step 0, and what step 0 has for what step 1
        reads of it.

        What step 0 makes of the first states alone stands before it, or is a constant where they are."""
        alone = self._state_only_ops(second) if len(first) < len(second) else {}
        folded: dict[Value, Value] = {}
        before: dict[Value, Value] = {elements[1]: elements[0] for elements in self.elements.values()}
        rest = [op for op in second if op not in alone]
        if len(first) != len(rest):
            return False
        for a, b in zip(first, rest):
            if a.kind != b.kind or repr(a.attrs) != repr(b.attrs) or len(a.operands) != len(b.operands):
                return False
            for x, y in zip(a.operands, b.operands):
                step = self.step_of.get(y) if y is not None else None  # type: ignore[arg-type]
                if y is not None and y.op in alone and x is not None and x.data is None:
                    if not self._match_before_first(x, y, alone, before):
                        return False
                elif y is not None and y.op in alone:
                    if x is None or folded.setdefault(y, x) is not x:
                        return False
                elif step == 1:
                    if before.get(y) is not x:  # type: ignore[arg-type]
                        return False
                elif step == 0:
                    assert y is not None
                    if not self._set_initial(x, y):
                        return False
                elif value_key(x) != value_key(y):
                    return False
            before.update(zip(b.results, a.results))
        self.images = [before, {value: value for value in before}]
        self.images[1].update((result, result) for op in alone for result in op.results)
        unknown = [op for op in alone if op.results[0] not in before]
        return self._infer_folded_states(unknown, folded) and set(self.initial) <= set(before.values())

    def _set_initial(self, x: Value | None, state: Value | None) -> bool:
        """Note what step 0 has for a state; return False if that is made by the steps, or not always the same."""
        assert state is not None
        return x is not None and x not in self.step_of and _same(self.initial.setdefault(state, x), x)

    def _match_before_first(self, x: Value, y: Value, alone: Collection[Op], before: dict[Value, Value]) -> bool:
        """Match ops before step 0, made of the first states, with those of step 1 that are made of the last ones."""
        pending = [(x, y)]
        while pending:
            x, y = pending.pop()
            if y in before:
                if before[y] is not x:
                    return False
                continue
            a, b = x.op, y.op
            assert b is not None
            if a is None or x in self.step_of or (a.kind, repr(a.attrs), x.index) != (b.kind, repr(b.attrs), y.index):
                return False
            if len(a.operands) != len(b.operands):
                return False
            before.update(zip(b.results, a.results))
            for p, q in zip(a.operands, b.operands):
                if p is not None and q is not None and q.op in alone:
                    pending.append((p, q))
                elif not (self._set_initial(p, q) if self._is_state(q) else value_key(p) == value_key(q)):
                    return False
        return True

    def _is_state(self, value: Value | None) -> bool:
        """Return whether step 0 makes a value of step 1's."""
        return value is not None and self.step_of.get(value) == 0

    def _state_only_ops(self, ops: list[Op]) -> dict[Op, None]:
        """Return the ops of a step that see nothing of its element, in their order."""
        alone: dict[Op, None] = {}
        for op in ops:
            read = [v for v in op.operands if v is not None and self.step_of.get(v, -1) >= 0]
            if all(self.step_of[v] == 0 or v.op in alone for v in read):
                alone[op] = None
        return alone

    def _infer_folded_states(self, alone: list[Op], folded: dict[Value, Value]) -> bool:
        """Return whether the constants of step 0 are what these ops of step 1 make of the first states: of zeros, where
        nothing else tells what a state is."""
        known: dict[Value, np.ndarray] = {}
        for op in alone:
            for v in op.operands:
                if v is not None and self.step_of.get(v) == 0 and v not in self.initial:
                    if not is_static(v.shape):
                        return False
                    self.initial[v] = constant(np.zeros(v.shape, v.dtype.numpy), v.dtype, v.name)  # type: ignore[arg-type]
            values = [known[v] if v in known else self.initial.get(v, v).data for v in op.operands if v is not None]
            arrays = [array for array in values if array is not None]
            made = evaluate(op, arrays) if len(arrays) == len(values) else None
            if made is None:
                return False
            known.update(zip(op.results, made))
        return all(np.array_equal(known[value], held.data) for value, held in folded.items())  # type: ignore[arg-type]

    def _match_step(self, step: int, by_key: dict[Any, Op]) -> bool:
        """Match a later step with step 1; the last one may lack what only a further one would read.
        """
        earlier = {old: self.images[step - 1][new] for new, old in self.images[0].items()}
        image: dict[Value, Value] = {elements[1]: elements[step] for elements in self.elements.values()}
        lacking: set[Value] = set()
        for op in self.ops[1]:
            operands = [
                value_key(value if value is None else image.get(value) or earlier.get(value) or value)
                for value in op.operands
            ]
            found = None if lacking.intersection(op.operands) else by_key.get(_op_key(op.kind, op.attrs, operands))
            if found is not None:
                image.update(zip(op.results, found.results))
            elif step < self.count - 1:
                return False
            else:
                lacking.update(op.results)
        self.images.append(image)
        return any(new in image for old, new in self._next_states())

    def _next_states(self) -> list[tuple[Value, Value]]:
        """Return the states at the end of step 0, with what step 1 makes of each."""
        after = {old: new for new, old in self.images[0].items()}
        return [(state, after[state]) for state in self.initial]

    def build_loop(self, module: Module, trial: Speculative) -> RerolledLoop:
        """Build the loop: f(x[2], f(x[1], f(x[0], h))) -> While(h = f(x[t], h); 3)."""
        tf = TfBuilder(trial.ops, self.unpack)
        sequences = [self._sequence(tf, unpack) for unpack in self.elements]
        after = dict(self._next_states())
        states = list(after)
        outputs = [v for v in states if self._outside_readers(after[v])]
        shapes = [tf.ints([-1] * ((x.rank or 1) - 1)) for x in sequences]
        lists = [tf.TensorListFromTensor(x, shape, dtype=types.VARIANT) for x, shape in zip(sequences, shapes)]
        starts = {v: _shaped(tf.ZerosLike(like), like.shape) for v, like in self.zeros_like.items()}
        operands = [tf.ints(0), *lists, *(starts.get(v, self.initial[v]) for v in states)]
        for v in outputs:
            shape = tf.ints([-1] * (v.rank or 0))
            operands.append(tf.TensorListReserve(
                shape, tf.ints(self.count), dtype=types.VARIANT, element_dtype=v.dtype
            ))  # fmt: skip
        name = f"{self.unpack.name}/{'backward' if self.backwards else 'forward'}"
        cond, body = self._functions(name, operands, states, outputs, shapes)
        attrs = {"cond": add_function(module, cond), "body": add_function(module, body)}
        sources = tuple(dict.fromkeys(s for ops in self.ops[:-1] for op in ops for s in op.sources))
        loop = Op("tf.StatelessWhile", operands, attrs, name, sources)
        for value in operands:
            loop.add_result(value.dtype, value.shape)
        trial.ops.append(loop)
        ends = loop.results[1 + len(lists) :]
        last = self.images[-1]
        replacements = [(last[after[v]], ends[i]) for i, v in enumerate(states) if after[v] in last]
        for v, result in zip(outputs, ends[len(states) :]):
            stack = tf.TensorListStack(result, [-1] * (v.rank or 0), dtype=v.dtype)
            _shaped(stack, None if v.shape is None else (self.count, *v.shape))
            replacements = [*self._replace_outputs(tf, after[v], stack), *replacements]
        made = {op: i for i, op in enumerate(self.graph.ops)}
        given = [*(unpack.operands[0] for unpack in self.elements), *(self.initial | self.zeros_like).values()]
        needed = [v.op for v in given if v is not None and v.op is not None]
        return RerolledLoop(loop, trial, 1 + max((made[op] for op in needed), default=-1), replacements)

    def _sequence(self, tf: TfBuilder, unpack: Op) -> Value:
        """Return what is unpacked, with the first step first and the time in front."""
        x = unpack.operands[0]
        assert x is not None
        if unpack.attrs.get("axis", 0) != 0:
            swap = _SWAP[: x.rank]
            x = _shaped(tf.Transpose(x, swap), [x.shape[i] for i in swap])  # type: ignore[index]
        return _shaped(tf.ReverseV2(x, [0]), x.shape) if self.backwards else x

    def _functions(
        self, name: str, operands: list[Value], states: list[Value], outputs: list[Value], shapes: list[Value]
    ) -> tuple[Graph, Graph]:
        """Build the condition and the body of the loop: one step on (counter, sequences, states, lists), made of copies
        of the ops of step 1. outputs: what each step writes to a list; shapes: those of the sequences' elements."""
        cond, body = Graph(f"{name}/cond"), Graph(f"{name}/body")
        for graph in (cond, body):
            for value in operands:
                graph.add_input(value.dtype, value.shape, value.name)
        cond.outputs = [TfBuilder(cond.ops, self.unpack).Less(cond.inputs[0], self.count, dtype=types.BOOL)]
        tf = TfBuilder(body.ops, self.unpack)
        counter, *rest = body.inputs
        sequences, rest = rest[: len(shapes)], rest[len(shapes) :]
        values: dict[Value, Value] = dict(zip(states, rest))
        for sequence, shape, elements in zip(sequences, shapes, self.elements.values()):
            item = tf.TensorListGetItem(sequence, counter, shape, dtype=elements[1].dtype)
            values[elements[1]] = _shaped(item, elements[1].shape)
        for op in self._needed():
            copy = copy_op(op, [values.get(v, v) for v in op.operands])  # type: ignore[arg-type]
            for result in op.results:
                values[result] = copy.add_result(result.dtype, result.shape)
            body.ops.append(copy)
        after = dict(self._next_states())
        lists = [
            tf.TensorListSetItem(held, counter, values[after[v]]) for v, held in zip(outputs, rest[len(states) :])
        ]
        body.outputs = [tf.AddV2(counter, 1), *sequences, *(values[after[v]] for v in states), *lists]
        return cond, body

    def _outside_readers(self, value: Value) -> list[Op]:
        """Return the ops beyond the steps that read what a value of step 1 is at some step before the last."""
        results = [result for op in self._needed() for result in op.results]
        inside = {image[result].op for image in self.images for result in results if result in image}
        return [reader for image in self.images[:-1] for reader in image[value].uses if reader not in inside]

    def _replace_outputs(self, tf: TfBuilder, value: Value, stack: Value) -> list[tuple[Value, Value]]:
        """Return what stands for the outputs of all steps: for a Pack of them the stack, for others its elements."""
        made = [image.get(value) for image in self.images]
        replacements: list[tuple[Value, Value]] = []
        readers = self.images[0][value].uses
        packs = {reader for reader in readers if reader.kind == "tf.Pack" and len(reader.operands) == self.count}
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
