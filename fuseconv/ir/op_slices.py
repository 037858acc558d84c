"""Find the ops that values depend on, and those that depend on values: slices of a graph, to any depth."""

from __future__ import annotations

from collections.abc import Container, Iterable

from fuseconv.ir.graph import Op, Value


def backward_slice(values: Iterable[Value | None]) -> set[Op]:
    """Return the ops that make values, those that make what these read, and so on."""
    found: set[Op] = set()
    pending = [*values]
    while pending:
        value = pending.pop()
        if value is not None and value.op is not None and value.op not in found:
            found.add(value.op)
            pending += value.op.operands
    return found


def forward_slice(values: Iterable[Value], stops: Container[Op] = ()) -> set[Op]:
    """Return the ops that read values, those that read what these make, and so on; none that only stops lead to."""
    found: set[Op] = set()
    pending = [*values]
    while pending:
        for op in pending.pop().uses:
            if op not in found and op not in stops:
                found.add(op)
                pending += op.results
    return found
