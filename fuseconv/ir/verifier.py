"""Check that IR is well formed: what every stage takes and leaves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from fuseconv.errors import FuseconvError
from fuseconv.ir.graph import Graph, Module, Op, Value

# Where a loop of TF1 joins its back edge, whose value is made later.
_LOOP_HEADS = frozenset({"tf.Merge", "tf.RefMerge"})


class Fact(NamedTuple):
    """A property of a module that passes require or ensure, by name.

    violation: what in a module contradicts it, as the end of a sentence; empty if the fact holds."""

    name: str
    violation: Callable[[Module], str]


class MalformedError(FuseconvError):
    """A stage left IR that breaks a rule; a defect of ours (or of a plug-in)."""


def check(module: Module, dialect: str | None = None) -> None:
    """Raise MalformedError unless each operand is made before it is read, the use lists are true, constants have the
    type of their array, and (if `dialect` is given) each op is of that dialect."""
    names = {graph.name for graph in module.graphs()}
    if len(names) != len(list(module.graphs())):
        raise MalformedError("two graphs have the same name")
    for graph in module.graphs():
        _check_graph(graph, dialect)


def _check_graph(graph: Graph, dialect: str | None) -> None:
    """Hold the ops of a graph to their order, their operands and, if it is given, a dialect."""
    made: set[Value] = set(graph.inputs)
    for op in (*graph.ops, graph.terminator):
        if dialect is not None and op is not graph.terminator and op.dialect != dialect:
            raise MalformedError(f"{op} in {graph.name} is not of the dialect {dialect}")
        operands = op.operands
        # A Counter takes longer to make than a few operands to count.
        few = len(operands) <= 8
        counts = {operand: operands.count(operand) for operand in operands} if few else Counter(operands)
        for operand, count in counts.items():
            if operand is not None:
                _check_operand(graph, op, operand, count, made)
        for index, result in enumerate(op.results):
            if result.op is not op or result.index != index:
                raise MalformedError(f"result {index} of {op} in {graph.name} names another op as its maker")
            made.add(result)


def _check_operand(graph: Graph, op: Op, operand: Value, count: int, made: set[Value]) -> None:
    """Hold an operand to its use list, its array if it is a constant, and to `made`, what the ops before have made."""
    if operand.uses.get(op) != count:
        raise MalformedError(f"the use list of {operand} does not tell how often {op} in {graph.name} reads it")
    array = operand.stored
    if array is not None:
        if array.shape != operand.shape:
            raise MalformedError(f"the constant {operand} holds an array of shape {array.shape}")
        if array.dtype != operand.dtype.numpy:
            raise MalformedError(f"the constant {operand} holds an array of {array.dtype}")
    elif operand.variable and operand.op is None:
        return  # a tensor that keeps what an op leaves in it
    elif operand not in made and op.kind not in _LOOP_HEADS:
        raise MalformedError(f"{op} in {graph.name} reads {operand} before anything makes it")
