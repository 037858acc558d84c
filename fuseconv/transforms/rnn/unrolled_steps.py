"""Match the steps that a model has written out with each other, so that one of them can stand for all.

An op belongs to the step of the latest element that it depends on: x1 @ k, the sum and the tanh to that of x1. So does
h1 @ r, which reads nothing later than step 0 but is only read by step 1. Step 1 is the template: it is matched with
step 0, which tells what the states are (h1 for h0) and what they start from, and then with each later step. Elements of
a mask belong to the steps as those of the sequence do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from fuseconv.ir.dims import is_static
from fuseconv.ir.graph import Graph, Op, Value, constant
from fuseconv.ir.terms import filled_with, op_of
from fuseconv.ir.value_numbering import attrs_key, value_key
from fuseconv.tf.folders import evaluate
from fuseconv.tf.traits import PRODUCTS
from fuseconv.transforms.rnn.rows import Rows

# What may be done to a product before anything of the next step is added.
_LINEAR = frozenset({
    "tf.AddV2", "tf.Add", "tf.BiasAdd", "tf.Split", "tf.SplitV", "tf.Slice", "tf.Squeeze", "tf.StridedSlice",
})  # fmt: skip
# Ops on an element that tell no more than the sequence itself does.
_SIZES = frozenset({"tf.Shape", "tf.Size", "tf.Rank", "tf.ZerosLike"})


def _same(a: Value, b: Value) -> bool:
    """Return whether two values are one, constants that are equal, or one number everywhere, of whatever shape."""
    if a is b or (a.data is not None and b.data is not None and np.array_equal(a.data, b.data)):
        return True
    number = _number(a)
    return number is not None and number == _number(b)


def _number(value: Value) -> float | None:
    """Return the number that all elements of a value are; None if they are not known to be one."""
    filled = filled_with(value)
    data = None if filled is None else filled.data
    return data.flat[0] if data is not None and data.size and (data == data.flat[0]).all() else None


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


class UnrolledSteps:
    """The steps along an unpacked sequence, from its first element or its last."""

    def __init__(self, graph: Graph, rows: Rows, backwards: bool) -> None:
        self.graph = graph
        self.rows = rows
        self.backwards = backwards
        self.count = len(rows.elements)
        self.step_of: dict[Value, int] = {}
        # What the steps read an element of each, in their order: the sequence, and masks.
        self.elements: dict[Rows, list[Value]] = {}
        self._read(rows)
        self.ops: list[list[Op]] = [[] for _ in range(self.count)]
        # images[t]: what stands at step t for a value of step 1
        self.images: list[dict[Value, Value]] = []
        self.initial: dict[Value, Value] = {}
        # States that start as one number everywhere: that, and what is of their shape.
        self.filled_like: dict[Value, tuple[float, Value]] = {}

    def _read(self, rows: Rows) -> None:
        self.elements[rows] = list(self._in_order(rows))
        self.step_of.update((value, step) for step, value in enumerate(self.elements[rows]))

    def _in_order(self, rows: Rows) -> tuple[Value, ...]:
        return rows.elements[::-1] if self.backwards else rows.elements

    def _read_masks(self, steps: dict[Op, int], given: Collection[Rows]) -> None:
        """Find the masks of which the steps read elements; what is made of an element alone belongs to its step."""
        masks = {
            value: (rows, number)
            for rows in given if len(rows.elements) == self.count and steps.get(rows.ops[0], 0) < 0
            for number, value in enumerate(self._in_order(rows))
        }  # fmt: skip
        if not masks:
            return
        makers = {op for rows, _ in masks.values() for op in rows.ops}
        for op in steps:
            alone = all(v is None or v.is_const or v in masks for v in op.operands)
            found = {masks[v] for v in op.operands if v in masks}  # type: ignore[index]
            if alone and len(found) == 1:
                masks.update(dict.fromkeys(op.results, *found))
        for op in reversed(steps):
            _, step = masks.get(op.results[0], (None, -1)) if op.results and op not in makers else (None, -1)
            if step >= 0 and any(steps.get(reader) == step for result in op.results for reader in result.uses):
                steps[op] = step
        for op, step in steps.items():
            for rows in [masks[v][0] for v in op.operands if step == 1 and v in masks]:  # type: ignore[index]
                self._read(rows)

    def match(self, masks: Collection[Rows]) -> bool:
        """Sort the ops into steps; return whether these are equal. masks: those of the graph."""
        steps: dict[Op, int] = {}
        made = dict(self.step_of)
        makers = {*self.rows.ops}
        for op in self.graph.ops:
            if op not in makers and op.kind not in _SIZES:
                steps[op] = max((made[v] for v in op.operands if v in made), default=-1)  # type: ignore[index]
                made.update(dict.fromkeys(op.results, steps[op]))
        self._read_masks(steps, masks)
        for op in _next_step_ops(steps):
            steps[op] += 1
        for op, step in steps.items():
            if step >= 0:
                self.step_of.update(dict.fromkeys(op.results, step))
                self.ops[step].append(op)
        first, second = self.ops[:2]
        if not second or not self._match_first_steps(first, second):
            return False
        by_key: dict[Any, Op] = {}
        for op, step in steps.items():
            if step >= 0:
                by_key.setdefault(_op_key(op.kind, op.attrs, [value_key(v) for v in op.operands]), op)
        for step in range(2, self.count):
            if not self._match_step(step, by_key):
                return False
        return bool(self.initial) and self._resolve_starts() and self._read_nothing_else()

    def _read_nothing_else(self) -> bool:
        """Return whether the states are made of constants besides what a loop carries."""
        return all(v is None or v.is_const or v in self.step_of for op in self.needed() for v in op.operands)

    def needed(self) -> list[Op]:
        """Return the ops of step 1 that make the states."""
        wanted: set[Value | None] = {made for _, made in self.next_states()}
        needed: list[Op] = []
        for op in reversed(self.ops[1]):
            if wanted.intersection(op.results):
                needed.append(op)
                wanted.update(op.operands)
        return needed[::-1]

    def _resolve_starts(self) -> bool:
        """Return whether all that the steps start from is there before them, and has the shape of the states.

        Zeros that are like what the steps make, and numbers that their readers broadcast, are like another first state.
        """
        for state, start in self.initial.items():
            zeros = op_of(start, "tf.ZerosLike")
            made = zeros is not None and zeros.operands[0] in self.step_of
            if not made and (start.rank == state.rank or start.rank is None):
                continue
            number = 0.0 if zeros is not None else _number(start)
            others = (v for v in self.initial.values() if v is not start and v.shape == state.shape is not None)
            like = next(others, None)
            if number is None or like is None:
                return False
            self.filled_like[state] = (number, like)
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
        if x is None or x in self.step_of:
            return False
        if x.data is not None and is_static(state.shape) and x.shape != state.shape:
            x = _broadcast(x, state.shape)  # type: ignore[arg-type]
        held = self.initial.setdefault(state, x)
        if held.shape != state.shape and _same(held, x):
            self.initial[state] = x
        return _same(held, x)

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
        return all(
            np.array_equal(known[value], _broadcast(held, known[value].shape).data)  # type: ignore[arg-type]
            for value, held in folded.items()
        )

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
        return any(new in image for old, new in self.next_states())

    def next_states(self) -> list[tuple[Value, Value]]:
        """Return the states at the end of step 0, with what step 1 makes of each."""
        after = {old: new for new, old in self.images[0].items()}
        return [(state, after[state]) for state in self.initial]


def _broadcast(value: Value, shape: tuple[int, ...]) -> Value:
    """Return a constant in another shape, which ops broadcast it to; the constant if they do not."""
    try:
        return constant(np.broadcast_to(value.data, shape), value.dtype, value.name)  # type: ignore[arg-type]
    except ValueError:
        return value
