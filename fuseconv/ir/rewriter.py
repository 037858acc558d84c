"""Rewrite graphs: the changes that passes make to the IR, each in one place."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Sequence
from types import TracebackType

from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Value, detach, replace_uses

# Takes an op and the list that new ops go to; returns what stands for the op's results, or None if it stays.
Rewrite = Callable[[Op, list[Op]], "Sequence[Value] | None"]


def rewrite_ops(graph: Graph, kinds: Collection[str], rewrite: Rewrite, revisit: bool = False) -> bool:
    """Replace ops of these kinds by what `rewrite(op, out)` appends to `out`; return whether any was replaced.

    `rewrite` returns what stands for the op's results, or None if the op is to stay, behind what was appended. An empty
    sequence means that it has redirected the readers itself, or that there are none. `out` holds all ops that come
    before. revisit: new ops are rewritten in turn.
    """
    if not has_kind(graph, kinds):
        return False
    changed = False
    out: list[Op] = []
    keep = out.append
    ops, graph.ops = graph.ops, out
    for op in ops:
        if op.kind not in kinds:
            keep(op)
            continue
        pending = [op]
        while pending:
            op = pending.pop()
            count = len(out)
            values = rewrite(op, out) if op.kind in kinds else None
            if values is None:
                keep(op)
                continue
            changed = True
            replace_op(op, values)
            if revisit:
                pending += reversed(out[count:])
                del out[count:]
    return changed


def has_kind(graph: Graph, kinds: Collection[str]) -> bool:
    """Return whether a graph has an op of one of these kinds."""
    return not graph.kinds.isdisjoint(kinds)


def ops_of_kinds(graph: Graph, kinds: Collection[str]) -> list[Op]:
    """Return the ops of a graph that are of one of these kinds, in order."""
    return [op for op in graph.ops if op.kind in kinds] if has_kind(graph, kinds) else []


def replace_op(op: Op, values: Sequence[Value]) -> None:
    """Let the readers of an op's results read these values, as many as there are, and detach the op."""
    for old, new in zip(op.results, values):
        replace_uses(old, new)
    detach(op)


def replace_uses_except(old: Value, new: Value, kept: Container[Op | None]) -> None:
    """Let every reader of `old` but the ops `kept` read `new`."""
    for reader in [op for op in old.uses if op not in kept]:
        for index, operand in enumerate(reader.operands):
            if operand is old:
                reader.set_operand(index, new)


def erase_ops(graph: Graph, ops: Collection[Op]) -> None:
    """Erase ops whose results nothing reads: detach them, and take them out of the graph. ops: a set, if there are
    many."""
    if ops:
        for op in ops:
            detach(op)
        graph.ops = [op for op in graph.ops if op not in ops]


def add_function(module: Module, graph: Graph) -> FuncRef:
    """Add a graph to the functions of a module, under another name if its own is taken; return a reference to it."""
    while graph.name in module.functions:
        graph.name += "'"
    module.functions[graph.name] = graph
    return FuncRef(graph.name)


class Speculative:
    """Ops and functions that are built on trial: kept, or undone as if they had never been.

        with Speculative(module.functions) as trial:
            value = TfBuilder(trial.ops, op).AddV2(x, y)
            if is_better(value):
                trial.keep()

    Leaving the block, by an exception too, undoes what was not kept: the ops leave the use lists of their operands, and
    functions that were added meanwhile leave `functions`. Without a block, the trial stays unless `undo` is called.
    """

    __slots__ = ("_before", "_kept", "functions", "ops")

    def __init__(self, functions: dict[str, Graph] | None = None, ops: list[Op] | None = None) -> None:
        self.ops: list[Op] = [] if ops is None else ops
        self.functions = functions
        self._before = len(functions) if functions else 0
        self._kept = False

    def keep(self) -> None:
        """Let what was built stay. The caller puts the ops into a graph."""
        self._kept = True

    def undo(self) -> None:
        """Take back all that was built since the trial began."""
        for op in self.ops:
            detach(op)
        self.ops.clear()
        functions = self.functions
        if functions is not None:
            for name in list(functions)[self._before :]:
                erase_function(functions, name)

    def __enter__(self) -> Speculative:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        if not self._kept:
            self.undo()


def erase_function(functions: dict[str, Graph], name: str) -> None:
    """Take a function that nothing refers to out of a module, and its ops out of the use lists."""
    graph = functions.pop(name)
    for op in (*graph.ops, graph.terminator):
        detach(op)
