"""Prove that a TensorList is only ever appended to: element i is written when i elements are there.

In `i = 0; while ...: list = SetItem(list, i, x); i = i + 1` the variable i is the length of the list wherever the list
is written. It is so before the loop, and each step keeps it so."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence

from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.tf.operands import content_of
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import ADDS, BRANCHES, EMPTY_LISTS, FORWARDS, LOOPS, SELECTS

# A number: that of a scalar of the graph, plus a known one; of no scalar, the known one alone.
Number = tuple[Value | None, int]
# All that is known to be the number of elements of a list, for the values of a graph that are lists.
Lengths = dict[Value, frozenset[Number]]
_WRITES = frozenset({"tf.TensorListPushBack", "tf.TensorListSetItem"})
# How often, on average, an op may be looked at: a loop once for each set of variables that may tell the length.
_VISITS = 16
# Longer sums are not looked through.
_MOST_TERMS = 64


class Appends:
    """Tell which writes of a module put their element behind the last one of their list. Looks when first asked."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @functools.cached_property
    def _proof(self) -> _Proof:
        proof = _Proof(self.module)
        for signature in self.module.signatures:
            proof.walk(signature.graph, {})
        return proof

    def all_of(self, writes: Collection[Op]) -> bool:
        """Return whether all of these writes do."""
        proof = self._proof
        return proof.left >= 0 and proof.appending.issuperset(writes) and proof.failed.isdisjoint(writes)


class _Proof:
    """appending: the writes that were seen to append; failed: those that were not, here or in another place that runs
    them. left: how many ops may still be looked at."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.appending: set[Op] = set()
        self.failed: set[Op] = set()
        self.left = _VISITS * sum(len(graph.ops) for graph in module.graphs())

    def walk(self, graph: Graph, lengths: Lengths) -> Lengths:
        """Find the lengths of the lists of a graph, given those of its inputs."""
        for op in graph.ops:
            self.left -= 1
            if self.left < 0:
                break
            if op.kind in EMPTY_LISTS:
                lengths[op.result] = frozenset({(None, 0)})
            elif op.kind in _WRITES:
                lengths[op.result] = self._write(op, lengths)
            elif op.kind in FORWARDS:
                lengths.update((made, lengths[v]) for v, made in zip(op.operands, op.results) if v in lengths)
            elif op.kind in LOOPS:
                self._loop(op, lengths)
            else:
                self._branches(op, lengths)
        return lengths

    def _write(self, op: Op, lengths: Lengths) -> frozenset[Number]:
        held, index = op.operands[:2]
        assert held is not None and index is not None
        there = lengths.get(held, frozenset())
        if op.kind == "tf.TensorListSetItem":
            asked = index.op is not None and index.op.kind == "tf.TensorListLength" and index.op.operands[0] is held
            (self.appending if asked or _number(index) in there else self.failed).add(op)
            there |= {_number(index)}
        else:
            self.appending.add(op)
        return frozenset((scalar, more + 1) for scalar, more in there)

    def _loop(self, op: Op, lengths: Lengths) -> None:
        """Assume of all variables that tell the length before a loop that they do so in each step, until that is
        true."""
        (body,) = (body for body, _ in bodies(op, self.module) if body.name == op.attrs["body"].name)
        lists = [i for i, value in enumerate(op.operands) if value in lengths]
        told = {i: _told(op.operands, lengths[op.operands[i]]) for i in lists}  # type: ignore[index]
        while lists and self.left >= 0:
            failed, appending = set(self.failed), set(self.appending)
            end = self.walk(body, {body.inputs[i]: _by(body.inputs, told[i]) for i in lists})
            kept = {i: told[i] & _told(body.outputs, end.get(body.outputs[i], frozenset())) for i in lists}
            if kept == told:
                break
            told, self.failed, self.appending = kept, failed, appending
        lengths.update((op.results[i], _by(op.results, told[i])) for i in lists)

    def _branches(self, op: Op, lengths: Lengths) -> None:
        """Find the lengths of the results of a branch, or a call: what they are whichever way it goes."""
        ends: list[tuple[Graph, Lengths, dict[Value, Value | None]]] = []
        for body, offset in bodies(op, self.module):
            operands = op.operands[offset:]
            given = {
                own: _by(body.inputs, _told(operands, lengths[value]))
                for value, own in zip(operands, body.inputs)
                if value is not None and value in lengths
            }
            ends.append((body, self.walk(body, given), dict(zip(body.inputs, operands))))
        for i, result in enumerate(op.results if ends else ()):
            found = [end.get(body.outputs[i], frozenset()) for body, end, _ in ends]
            if not all(found):
                continue
            told = set.intersection(*(_told(body.outputs, f) for (body, *_), f in zip(ends, found)))
            outside = [frozenset(_outside(f, given)) for (*_, given), f in zip(ends, found)]
            same = frozenset.intersection(*outside)
            lengths[result] = _by(op.results, told) | same | frozenset(_selected(op, outside, ends))


def _number(value: Value) -> Number:
    """Return an integer scalar as a sum."""
    more = 0
    for _ in range(_MOST_TERMS):
        content = content_of(value)
        if content is not None and content.ndim == 0 and isinstance(content[()], int):
            return None, more + content[()]
        op = value.op
        if op is None or not (op.kind in ADDS or op.kind == "tf.Sub"):
            break
        (left, known), (right, other) = (_constant(operand) for operand in op.operands)
        if right is None and left is not None:
            value, more = left, more + (other if op.kind in ADDS else -other)
        elif left is None and right is not None and op.kind in ADDS:
            value, more = right, more + known
        else:
            break
    return value, more


def _constant(value: Value | None) -> Number:
    data = None if value is None else value.data
    return (None, int(data.reshape(()))) if data is not None and data.size == 1 and data.ndim == 0 else (value, 0)


def _told(values: Sequence[Value | None], length: frozenset[Number]) -> set[tuple[int | None, int]]:
    """Return which of a row of values tell a length: each with its place, and what the length is more; a known one has
    no place."""
    by_scalar = dict(length)
    told: set[tuple[int | None, int]] = {(None, more) for scalar, more in length if scalar is None}
    for place, value in enumerate(values):
        if value is not None and not value.dtype.is_handle and value.rank == 0 and value.dtype.is_integer:
            scalar, more = _number(value)
            if scalar in by_scalar:
                told.add((place, by_scalar[scalar] - more))
    return told


def _by(values: Sequence[Value], told: Iterable[tuple[int | None, int]]) -> frozenset[Number]:
    """Return the length that values at these places tell."""
    return frozenset((None, more) if place is None else (values[place], more) for place, more in told)


def _outside(length: frozenset[Number], given: dict[Value, Value | None]) -> Iterator[Number]:
    """Yield a length in a body as one of the graph that runs it."""
    for scalar, more in length:
        if scalar is None:
            yield None, more
        elif given.get(scalar) is not None:
            value, known = _number(given[scalar])  # type: ignore[arg-type]
            yield value, known + more


def _selected(op: Op, outside: list[frozenset[Number]], ends: Sequence[tuple]) -> Iterator[Number]:
    """Yield the lengths that are chosen as a branch is: SelectV2(condition, length then, length else)."""
    condition = op.operands[0]
    if op.kind in BRANCHES and condition is not None:
        by_name = {body.name: length for (body, *_), length in zip(ends, outside)}
        then, other = (by_name[op.attrs[name].name] for name in ("then_branch", "else_branch"))
        for use in condition.uses:
            if use.kind in SELECTS and use.operands[0] is condition:
                sides = [_number(side) for side in use.operands[1:] if side is not None]
                if sides[0] in then and sides[1] in other:
                    yield use.result, 0
