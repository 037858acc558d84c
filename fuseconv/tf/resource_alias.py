"""Alias analysis of resource handles: the variables or tables that each may refer to."""

from __future__ import annotations

from collections.abc import Collection

from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.tf.side_effects import bodies, callers
from fuseconv.tf.traits import FORWARDS, VARIABLES

# Ops on a handle that leave the variable as it is.
_READERS = FORWARDS | {"tf.ReadVariableOp", "tf.VarIsInitializedOp", "ir.return"}


def are_read(module: Module, kinds: Collection[str]) -> bool:
    """Return whether anything reads the handles of ops of these kinds; the handles of frozen variables have no uses."""
    return any(op.result.uses for graph in module.graphs() for op in ops_of_kinds(graph, kinds))


def aliases(module: Module, kinds: Collection[str]) -> dict[Value, set[str]]:
    """Return the names of the variables or tables that each handle value may refer to.

    kinds: of the ops whose handles are followed, by their attribute `shared_name`, through identities, calls, loops and
    branches into the functions that they are handed to."""
    names: dict[Value, set[str]] = {}
    pending: list[Value] = []

    def add(value: Value, more: set[str]) -> None:
        known = names.setdefault(value, set())
        if not more <= known:
            known |= more
            pending.append(value)

    for graph in module.graphs():
        for op in ops_of_kinds(graph, kinds):
            add(op.result, {op.attrs["shared_name"]})
    runners = callers(module)
    while pending:
        value = pending.pop()
        more = names[value]
        for op in value.uses:
            if op in runners:
                for output, result in zip(op.operands, runners[op].results):
                    if output is value:
                        add(result, more)
            if op.kind in FORWARDS and value.dtype.is_handle:
                for operand, result in zip(op.operands, op.results):
                    if operand is value:
                        add(result, more)
            for body, offset in bodies(op, module):
                for index, operand in enumerate(op.operands[offset:]):
                    if operand is value:
                        add(body.inputs[index], more)
    return names


class VariableUses:
    """Which variables the ops of a module read and write. names: those that each handle may refer to."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.names = aliases(module, VARIABLES)
        self._of_functions: dict[str, tuple[set[str], set[str]]] = {}

    def name(self, handle: Value | None) -> str | None:
        """Return the one variable that a handle is of; None if it may be of several."""
        known = self.names.get(handle, set())  # type: ignore[arg-type]
        return next(iter(known)) if len(known) == 1 else None

    def by(self, op: Op) -> tuple[set[str], set[str]]:
        """Return the variables that an op may read, and those that it may write, itself or in functions that it runs.

        A variable that an unknown op is given may be both."""
        read: set[str] = set()
        written: set[str] = set()
        functions = bodies(op, self.module)
        for body, _ in functions:
            also_read, also_written = self._by_function(body)
            read |= also_read
            written |= also_written
        if not functions:
            for operand in op.operands:
                known = self.names.get(operand, set())  # type: ignore[arg-type]
                read |= known
                written |= known if op.kind not in _READERS else set()
        return read, written

    def _by_function(self, body: Graph) -> tuple[set[str], set[str]]:
        if body.name not in self._of_functions:
            read, written = self._of_functions[body.name] = (set(), set())
            for op in body.ops:
                also_read, also_written = self.by(op)
                read |= also_read
                written |= also_written
        return self._of_functions[body.name]
