"""Calls, and the annotations by which functions say that they are composites: ops that are to be fused as a whole."""

from __future__ import annotations

from fuseconv.ir.graph import FuncRef, Graph, Op
from fuseconv.tf.traits import CALLS


def callee_of(op: Op, functions: dict[str, Graph]) -> Graph | None:
    """Return the function that a call calls; None if the op is no call."""
    reference = op.attrs.get("f") if op.kind in CALLS else None
    return functions.get(reference.name) if isinstance(reference, FuncRef) else None


def implements(graph: Graph) -> bool:
    """Return whether a function says which composite it is."""
    return annotation(graph) is not None


def annotation(graph: Graph) -> FuncRef | None:
    """Return the composite that a function implements, with the annotation's own attributes; None if it implements
    none."""
    found = graph.attrs.get("_implements")
    return found if isinstance(found, FuncRef) else None


def original(graph: Graph) -> str:
    """Return the model's name of the function that a kept function is a copy of."""
    return graph.name.partition("@")[0]
