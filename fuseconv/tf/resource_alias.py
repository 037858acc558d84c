"""Alias analysis of resource handles: the variables or tables that each may refer to."""

from __future__ import annotations

from collections.abc import Collection

from fuseconv.ir.graph import Module, Value
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.tf.side_effects import bodies, callers
from fuseconv.tf.traits import FORWARDS


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
