"""The subgraphs of the file that a module becomes, in their order there."""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.errors import FuseconvError
from fuseconv.ir.graph import FuncRef, Graph, Module, Op


def subgraphs(module: Module) -> Iterator[Graph]:
    """Yield the graphs of the signatures, each once, then the functions that ops refer to, in the order of the first
    reference. Raises FuseconvError for a function that is not there."""
    found: list[Graph] = []
    for signature in module.signatures:
        if signature.graph not in found:
            found.append(signature.graph)
    for graph in found:
        yield graph
        for op in graph.ops:
            for name in _functions(op):
                if name not in module.functions:
                    raise FuseconvError(f"the op {op.name} ({op.kind}) refers to a function {name} that is not there")
                if module.functions[name] not in found:
                    found.append(module.functions[name])


def _functions(op: Op) -> Iterator[str]:
    for attribute in op.attrs.values():
        if isinstance(attribute, FuncRef):
            yield attribute.name
