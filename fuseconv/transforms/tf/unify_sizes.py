"""Give sizes of inputs that must be equal one name: where inputs are joined, they have one batch.

Each input of a signature has a batch of its own, as far as its shape tells. Sizes of two batches may broadcast, and are
computed in each run: what a gradient is sliced to, which dimensions it is summed over. A model that joins its inputs
(features by columns, the coordinates and the time of a differential equation) runs on one batch alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.ir.dims import Dim, Sym, plain_names, substitute_dim, symbol
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass

_CONCAT = "tf.ConcatV2"
_JOINS = frozenset({_CONCAT, "tf.Pack", "tf.AddN"})


@module_pass("unify-sizes", kinds=_JOINS)
def unify_sizes(module: Module) -> bool:
    """Let inputs that are joined have one size: ConcatV2(x[n,1], y[m,1], 1) -> ConcatV2(x[n,1], y[n,1], 1).

    Only ops that run whenever the signature does tell, none in branches and loops. Requires inferred shapes, which are
    to be inferred anew. Returns whether anything changed."""
    changed = [_unify(graph) for graph in dict.fromkeys(signature.graph for signature in module.signatures)]
    return any(changed)


def _unify(graph: Graph) -> bool:
    """Give sizes of a graph's inputs that are equal the name of the first of them. Return whether any were."""
    names = {dim: None for value in graph.inputs for dim in value.shape or () if len(plain_names(dim)) == 1}
    if len(names) < 2:
        return False
    order = {name: place for place, dim in enumerate(names) for name in plain_names(dim)}
    first = {name: name for name in order}
    for op in ops_of_kinds(graph, _JOINS):
        for a, b in _equal(op):
            pair = [_found(first, name) for dim in (a, b) for name in plain_names(dim) if name in first]
            if len(pair) == 2:
                kept, other = sorted(pair, key=order.__getitem__)
                first[other] = kept
    sizes: dict[str, Dim] = {name: symbol(_found(first, name)) for name in first if first[name] != name}
    for value in graph.inputs if sizes else ():
        if value.shape is not None:
            value.shape = tuple(substitute_dim(dim, sizes) for dim in value.shape)
    return bool(sizes)


def _found(first: dict[str, str], name: str) -> str:
    while first[name] != name:
        name = first[name]
    return name


def _equal(op: Op) -> Iterator[tuple[Sym, Sym]]:
    """Yield the unknown sizes of joined tensors that differ by name alone."""
    parts: list[Value | None] = op.operands
    along = None
    if op.kind == _CONCAT:
        *parts, axis = op.operands
        if axis is None or axis.data is None or axis.data.size != 1:
            return
        along = int(axis.data.item())
    known = [part.shape for part in parts if part is not None and part.shape is not None]
    rank = len(known[0]) if known else 0
    for shape in known[1:]:
        if len(shape) != rank:
            return  # it cannot run
        for place, (a, b) in enumerate(zip(known[0], shape)):
            if a != b and isinstance(a, Sym) and isinstance(b, Sym) and (along is None or place != along % rank):
                yield a, b
