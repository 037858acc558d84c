"""Optimize layouts: transposes and reshapes around a group of ops -> none, and the ops in the form that they have
inside.

A group grows from a transpose, or a reshape that adds or drops a dimension of size 1, up and down through ops that can
work in its form. It changes if that takes away more transposes and reshapes, at its edges, than it adds. It stays if
more of them would move elements then: beside a transpose of a large tensor, reshapes cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.ir.rewriter import replace_uses_except
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tfl.builder import Builder, with_shape
from fuseconv.tfl.layout_rules import Arranged, Form, arranged, moves_only_units, put_on, taken_off
from fuseconv.tfl.opdef import TABLE
from fuseconv.tfl.traits import LAYOUT_CHANGES

# So many ops of groups are looked at in a graph; groups that overlap could be as many as its ops, and as large.
_MOST_VISITS = 1 << 17


@module_pass("optimize-layout", requires=(TFL_ONLY,))
def optimize_layout(module: Module, report: Report) -> bool:
    """Move transposes and unit reshapes where they cancel: TRANSPOSE(f(TRANSPOSE(x))) -> f(x).

    Returns whether any moved."""
    changed = False
    for graph in module.graphs():
        walk = _Groups(graph, report, _MOST_VISITS)
        while walk.run():
            changed = True
            walk = _Groups(graph, report, walk.left)
    return changed


class _Group:
    """Ops that can be computed in a form.

    reach: how far it grows down: from no value; from those that are in the form already; from those too that have to be
    put into it. known: what ops become in the form, None where they cannot; kept from one reach to the next. ops: those
    of the group, with what they become. inputs: the values from outside that they need in the form; results: theirs
    that are in the form."""

    def __init__(self, form: Form, start: Value, reach: int, known: dict[Op, Arranged | None]) -> None:
        self.form = form
        self.reach = reach
        self.known = known
        self.ops: dict[Op, Arranged] = {}
        self.inputs: dict[Value, None] = {}
        self.wanted = {start}
        pending = [start]
        while pending:
            for value in self._beside(pending.pop()):
                if value not in self.wanted:
                    self.wanted.add(value)
                    pending.append(value)
        self.results = [op.result for op, found in self.ops.items() if not found.plain]

    def _beside(self, value: Value) -> Iterator[Value]:
        """Take in the op of a value that is wanted in the form, and its readers; return the values that must be so
        then."""
        made = value.op is not None and (value.op in self.ops or self._take(value.op, plain=False))
        if made:
            yield from self._wanted(value.op)  # type: ignore[arg-type]
        else:
            self.inputs[value] = None
        if self.reach == 2 or (self.reach == 1 and (made or self.is_free(value))):
            for reader in list(value.uses):
                if reader in self.ops or self._take(reader, plain=True):
                    yield from self._wanted(reader)
                    if not self.ops[reader].plain:
                        yield reader.result

    def _take(self, op: Op, plain: bool) -> bool:
        if op not in self.known:
            self.known[op] = arranged(op, self.form)
        found = self.known[op]
        if found is None or (found.plain and not plain):
            return False
        self.ops[op] = found
        return True

    def _wanted(self, op: Op) -> Iterator[Value]:
        for value, wanted in zip(op.operands, self.ops[op].operands):
            if wanted is True and value is not None:
                yield value

    def is_free(self, value: Value) -> bool:
        """Return whether the value is one in the form, transposed or reshaped."""
        return value.op is not None and taken_off(value.op) == self.form

    def reads(self, op: Op) -> bool:
        """Return whether a reader takes the value in the form: an op of the group, or one that puts it into the
        form."""
        return op in self.ops or put_on(op) == self.form

    def reads_any(self, op: Op) -> bool:
        """Return whether a reader does not mind the dimension that the form adds or drops."""
        return self.reads(op) or (self.form.reshapes and op.kind == "tfl.RESHAPE")

    @property
    def profit(self) -> int:
        """Return how many ops fewer there will be."""
        return sum(saved for _, saved in self._edges())

    @property
    def moves(self) -> int:
        """Return how many ops more there will be that move elements, and not dimensions of size 1 alone."""
        return -sum(saved for value, saved in self._edges() if not self._is_view(value))

    def _is_view(self, value: Value) -> bool:
        """Return whether what puts a value into the form, or out of it, moves no element."""
        order = self.form.order
        return self.form.reshapes or (value.shape is not None and moves_only_units(value.shape, list(order)))  # type: ignore[arg-type]

    def _edges(self) -> Iterator[tuple[Value, int]]:
        """Yield the values at the edges of the group, and how many ops fewer there will be at each."""
        for value in self.inputs:
            if self.is_free(value):
                yield value, all(map(self.reads, value.uses))
            elif not self.is_reshaped(value):
                yield value, -1
        for value in self.results:
            gone = sum(put_on(reader) == self.form for reader in value.uses)
            yield value, gone - (not all(map(self.reads_any, value.uses)))

    def is_reshaped(self, value: Value) -> bool:
        """Return whether a reshape makes the value, for this group alone, and can as well make it in the form."""
        alone = op_of(value, "tfl.RESHAPE") is not None and all(op in self.ops for op in value.uses)
        if not alone or value.shape is None or Builder([]).static_shape(value.shape) is None:
            return False
        return self.form.reshapes or moves_only_units(value.shape, self.form.order)

    @property
    def is_buildable(self) -> bool:
        """Return whether the reshapes at the edges can be written, and no input is made of a result, which changes its
        form: as in ADD(y, TRANSPOSE(y)), where y is TRANSPOSE(x)."""
        free = [value.op for value in self.inputs if self.is_free(value)]
        if not {op.operands[0] for op in free if op is not None}.isdisjoint(self.results):
            return False
        static = Builder([]).static_shape
        return not self.form.reshapes or all(static(v.shape) is not None for v in (*self.inputs, *self.results))


class _Groups:
    """One walk over a graph. left: how many ops of groups may yet be looked at."""

    def __init__(self, graph: Graph, report: Report, left: int) -> None:
        self.graph = graph
        self.left = left - len(graph.ops)
        self.report = report
        self.places = {op: place for place, op in enumerate(graph.ops)}
        self.before: dict[Op, list[Op]] = {}
        self.behind: dict[Op, list[Op]] = {}
        self.gone: set[Op] = set()

    def run(self) -> bool:
        """Change the groups that pay; return whether any did."""
        seen: set[tuple[Form, Value]] = set()
        changed = False
        for op in self.graph.ops:
            for form, value in self._starts(op):
                if (form, value) in seen or op in self.gone or self.left < 0:
                    continue
                known: dict[Op, Arranged | None] = {}
                groups = [_Group(form, value, reach, known) for reach in range(3)]
                seen.update((form, wanted) for wanted in groups[-1].wanted)
                self.left -= len(known)
                best = max(groups, key=lambda group: group.profit)
                if (best.ops and best.profit > 0 and best.moves <= 0 and best.is_buildable
                        and best.ops.keys() <= self.places.keys()):  # fmt: skip
                    self._change(best)
                    changed = True
        if changed:
            self.graph.ops = [
                part
                for op in self.graph.ops
                for part in (*self.before.get(op, ()), op, *self.behind.get(op, ()))
                if part not in self.gone
            ]
        return changed

    def _starts(self, op: Op) -> list[tuple[Form, Value]]:
        """Return the values before and behind a transpose or reshape, and the forms that they would have without it."""
        if op in self.gone or op.type not in LAYOUT_CHANGES:
            return []
        forms = ((put_on(op), op.operands[0]), (taken_off(op), op.result))
        return [(form, value) for form, value in forms if form is not None and value is not None]

    def _change(self, group: _Group) -> None:
        """Put the ops of a group on tensors in its form, with what changes these at its inputs and results."""
        ordered = sorted(group.ops, key=self.places.__getitem__)
        inputs = {value: self._put(group, value, ordered) for value in group.inputs}
        for op in ordered:
            found = group.ops[op]
            for index, wanted in enumerate(found.operands):
                if isinstance(wanted, Value):
                    op.set_operand(index, wanted)
                elif wanted:
                    op.set_operand(index, inputs.get(op.operands[index], op.operands[index]))  # type: ignore[arg-type]
            defaults = TABLE[op.type].defaults
            op.attrs = {name: held for name, held in (op.attrs | found.attrs).items() if held != defaults[name]}
        for value in group.results:
            self._take_off(group, value)
        for value in group.inputs:
            if value.op is not None and value.op.type in LAYOUT_CHANGES and not value.uses:
                self._remove(value.op)

    def _put(self, group: _Group, value: Value, ordered: list[Op]) -> Value:
        """Return a value from outside, in the form."""
        if group.is_free(value):
            return value.op.operands[0]  # type: ignore[union-attr,return-value]
        reader = next(op for op in ordered if op in value.uses)
        tfl = Builder(self.before.setdefault(reader, []), value.name, reader.sources)
        shape = group.form.shape(value.shape)  # type: ignore[arg-type]
        if not group.is_reshaped(value):
            return _moved(tfl, value, shape, group.form.order)
        tfl.sources = value.op.sources  # type: ignore[union-attr]
        return _reshaped(tfl, value.op.operands[0], shape)  # type: ignore[union-attr,arg-type]

    def _take_off(self, group: _Group, value: Value) -> None:
        """Give a result its new shape; its other readers read it as it was."""
        op, shape, form = value.op, value.shape, group.form
        assert op is not None and shape is not None
        readers = [reader for reader in value.uses if reader not in group.ops]
        put = [reader for reader in readers if put_on(reader) == form]
        others = [reader for reader in readers if not group.reads_any(reader)]
        value.shape = form.shape(shape)
        if others:
            tfl = Builder([], value.name, op.sources)
            back = _moved(tfl, value, shape, [form.place(axis) for axis in range(form.rank)])
            replace_uses_except(value, back, {*value.uses} - {*others})
            # In front of what an earlier group put there, which may be a reader.
            self.behind[op] = [*tfl.out, *self.behind.get(op, ())]
        # Then, as a reader may read both: x + TRANSPOSE(x).
        for reader in put:
            replace_uses(reader.result, value)
            self._remove(reader)

    def _remove(self, op: Op) -> None:
        self.report.removed(op, "optimize-layout", "what is around it is computed in another form")
        detach(op)
        self.gone.add(op)


def _moved(tfl: Builder, value: Value, shape: Shape, order: Sequence[int | None]) -> Value:
    """Return the value with its dimensions in this order, or reshaped where there is one more or less."""
    if None not in order and len(order) == value.rank:
        return tfl.transpose(value, np.array(order, np.int32))  # type: ignore[no-any-return]
    return _reshaped(tfl, value, shape)


def _reshaped(tfl: Builder, value: Value, shape: Shape) -> Value:
    return with_shape(tfl.reshape(value, tfl.static_shape(shape)), shape)
