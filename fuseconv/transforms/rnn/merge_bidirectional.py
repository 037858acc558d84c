"""Merge layers of both directions: one that reads a sequence forwards and one that reads it backwards become one
composite.

The composite's function holds both calls, so that each is fused on its own where the composite is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from fuseconv.fuse.match import Fusion
from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, copy_op, detach, replace_uses
from fuseconv.ir.rewriter import add_function, erase_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tf.annotated_functions import annotation, callee_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import is_reversal
from fuseconv.tf.side_effects import has_effect
from fuseconv.tf.traits import CALLS

# The operands and results of the composite of one direction that stand in that of both, in this order, by their places
# there; the place of all outputs among the results; those of the operands for which a pair has no place.
_INTERFACES = {
    "lstm": ((1, 2, 3, 4, 5, 8, 9), 4, (6, 7)),
    "rnn": ((1, 2, 3, 4), 3, ()),
}
_SEQUENCE = 1


class _Direction(NamedTuple):
    """A call of the composite of one direction."""

    op: Op
    kind: str
    backwards: bool
    time_axis: int
    others: tuple[tuple[str, object], ...]

    @property
    def x(self) -> Value:
        assert self.op.operands[0] is not None
        return self.op.operands[0]

    def operands(self) -> list[Value | None]:
        """Return the operands behind x."""
        return [self.op.operands[i] if i < len(self.op.operands) else None for i in _INTERFACES[self.kind][0]]

    def fits(self, other: _Direction) -> bool:
        """Return whether the other layer is alike, the other way round."""
        return self.backwards != other.backwards and self.traits() == other.traits()

    def traits(self) -> tuple:
        """Return what an op of both directions has only once: the LSTM's allows for one number of units."""
        sizes = [value.shape for value in self.operands()[3:4] if value is not None and self.kind == "lstm"]
        return self.x, self.kind, self.time_axis, self.others, sizes


@module_pass("merge-bidirectional")
def merge_bidirectional(module: Module, fusions: Iterable[Fusion]) -> None:
    """Merge layers of both directions: lstm_f(x), lstm_b(x; go_backwards) -> bidirectional_lstm(x).

    This is done if any of the fusions makes an op of it.

    The composite's operands are x and then, for the forward layer and for the backward one, what the composite of one
    direction has behind x. Its results are, for both in turn, the last output, all outputs and the states. All outputs
    of both stand in the order of x: readers that reverse those of the second read the result itself, and a pair with
    other readers is none. Attributes are those of the two, without go_backwards."""
    names = {name.removesuffix("_*") for fusion in fusions for name in fusion.annotations}
    for graph in list(module.graphs()):
        waiting: dict[Value, list[_Direction]] = {}
        for op in [op for op in graph.ops if op.kind in CALLS]:
            this = _direction(op, module)
            if this is None or f"bidirectional_{this.kind}" not in names:
                continue
            others = waiting.setdefault(this.x, [])
            first = next((other for other in others if other.fits(this)), None)
            if first is not None and _pair(graph, first, this, module):
                others.remove(first)
            else:
                others.append(this)


def _direction(op: Op, module: Module) -> _Direction | None:
    """Return a call of an annotated recurrent layer as one direction of a pair; None for any other op, for a layer with
    other results read than a pair has, and for one that runs backwards and whose results are not turned around."""
    callee = callee_of(op, module.functions)
    implemented = annotation(callee) if callee is not None else None
    if callee is None or implemented is None or not op.operands or op.operands[0] is None:
        return None
    kind = implemented.name.partition("_")[0]
    if kind not in _INTERFACES:
        return None
    _, count, absent = _INTERFACES[kind]
    if len(op.results) < count or any(result.uses for result in op.results[count:]):
        return None
    if any(value is not None and i in absent for i, value in enumerate(op.operands)):
        return None
    of_function = {name: callee.attrs[name] for name in ("time_major", "go_backwards") if name in callee.attrs}
    attrs: dict[str, object] = of_function | implemented.attrs
    backwards, time_major = (bool(attrs.pop(name, False)) for name in ("go_backwards", "time_major"))
    direction = _Direction(op, kind, backwards, 0 if time_major else 1, tuple(sorted(attrs.items())))
    if backwards and not all(is_reversal(reader, direction.time_axis) for reader in op.results[_SEQUENCE].uses):
        return None
    return direction


def _pair(graph: Graph, first: _Direction, second: _Direction, module: Module) -> bool:
    """Put the call of both in the place of the second one; False, with nothing changed, if it cannot stand there."""
    start, end = graph.ops.index(first.op), graph.ops.index(second.op)
    after: list[Op] = []
    made = set(first.op.results)
    for op in graph.ops[start + 1 : end + 1]:
        if any(value in made for value in op.operands if value is not None):
            after.append(op)
            made.update(op.results)
    if second.op in after or any(has_effect(op, module, {}) for op in after):
        return False
    between = [op for op in graph.ops[start + 1 : end] if op not in after]
    forward, backward = (second, first) if first.backwards else (first, second)
    reversals = list(backward.op.results[_SEQUENCE].uses)
    call = _call(forward, backward, reversals, module)
    count = _INTERFACES[forward.kind][1]
    for old, new in zip((*forward.op.results[:count], *backward.op.results[:count]), call.results):
        replace_uses(old, new)
    for op in reversals:
        replace_uses(op.result, call.results[count + _SEQUENCE])
    for op in (first.op, second.op):
        detach(op)
    graph.ops[start : end + 1] = [*between, call, *after]
    erase_ops(graph, reversals)
    return True


def _call(forward: _Direction, backward: _Direction, reversals: list[Op], module: Module) -> Op:
    """Build the call of both, and its function, which makes their calls and does the reversals."""
    name = f"bidirectional_{forward.kind}_paired"
    attrs = dict(forward.others) | {"time_major": forward.time_axis == 0}
    function = Graph(f"{forward.op.name}/{name}", {"_implements": FuncRef(name, attrs)})
    called = add_function(module, function)
    operands = [forward.x, *forward.operands(), *backward.operands()]
    ops = (forward.op, backward.op, *reversals)
    sources = tuple(dict.fromkeys(source for op in ops for source in op.sources))
    call = Op("tf.PartitionedCall", operands, {"f": called}, forward.op.name, sources)
    inputs = [
        function.add_input(types.FLOAT32, None, f"x{number}")
        if value is None
        else function.add_input(value.dtype, value.shape, f"x{number}")
        for number, value in enumerate(operands)
    ]
    places, count, _ = _INTERFACES[forward.kind]
    for direction, start in ((forward, 1), (backward, 1 + len(places))):
        old = direction.op
        given = {0: inputs[0]} | {place: inputs[start + number] for number, place in enumerate(places)}
        taken = [None if value is None else given[place] for place, value in enumerate(old.operands)]
        inner = copy_op(old, taken)
        for result in old.results:
            inner.add_result(result.dtype, result.shape)
        function.ops.append(inner)
        results = inner.results[:count]
        if direction.backwards:
            tf = TfBuilder(function.ops, reversals[0] if reversals else inner)
            results[_SEQUENCE] = tf.ReverseV2(results[_SEQUENCE], [direction.time_axis])
            results[_SEQUENCE].shape = old.results[_SEQUENCE].shape
        for result in results:
            call.add_result(result.dtype, result.shape)
        function.outputs = [*function.outputs, *results]
    return call
