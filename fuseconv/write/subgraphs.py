"""The subgraphs of a file, in their order."""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.errors import FuseconvError
from fuseconv.ir.graph import FuncRef, Graph, Module, Op


def subgraphs(module: Module) -> Iterator[Graph]:
    """Return the graphs of the signatures, each once, then the functions that ops refer to, in the order of the first
    reference.

    Raises FuseconvError on a reference to what is not there."""
    found: list[Graph] = []
    for signature in module.signatures:
        if signature.graph not in found:
            found.append(signature.graph)
    for graph in found:
        yield graph
        for op in graph.ops:
            for name in _references(op):
                if name not in module.functions:
                    raise FuseconvError(f"the op {op.name} ({op.kind}) refers to a function {name} that is not there")
                if module.functions[name] not in found:
                    found.append(module.functions[name])


def _references(op: Op) -> Iterator[str]:
    for attribute in op.attrs.values():
        if isinstance(attribute, FuncRef):
            yield attribute.name
