"""Signatures that compute the same -> one signature with several names.

Exporters write one function under several names (Keras: "serve" and "serving_default"), each through a wrapper function
of its own, so graphs are compared by structure.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Signature, Value


def merge_signatures(module: Module) -> bool:
    """Joins equal signatures, under the names of both, to the first. Returns whether there were any."""
    kept: list[Signature] = []
    comparison = _Comparison(module)
    for signature in module.signatures:
        for other in kept:
            same_names = signature.inputs == other.inputs and signature.outputs == other.outputs
            if same_names and comparison.graphs(signature.graph, other.graph):
                other.names += signature.names
                break
        else:
            kept.append(signature)
    merged = len(kept) < len(module.signatures)
    module.signatures = kept
    return merged


def drop_unreachable(module: Module) -> None:
    """Takes away the functions that no signature reaches."""
    reached: dict[str, None] = {}
    pending = [signature.graph for signature in module.signatures]
    while pending:
        for op in pending.pop().ops:
            for ref in references(op):
                if ref.name not in reached:
                    reached[ref.name] = None
                    pending.append(module.functions[ref.name])
    module.functions = {name: graph for name, graph in module.functions.items() if name in reached}


def references(op: Op) -> list[FuncRef]:
    """The functions that an op's attributes name."""
    found = []
    for key, value in op.attrs.items():
        if key != "_implements":  # an annotation, which need not be a function
            found += [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, FuncRef)]
    return found


class _Comparison:
    def __init__(self, module: Module) -> None:
        self.functions = module.functions
        self.pairs: set[tuple[str, str]] = set()

    def graphs(self, a: Graph, b: Graph) -> bool:
        """Whether two graphs do the same, node by node. Pairs of functions met on the way are compared in turn."""
        self.pairs = set()
        pending = [(a, b)]
        while pending:
            a, b = pending.pop()
            if a.attrs.keys() != b.attrs.keys() or not self._bodies(a, b, pending):
                return False
        return True

    def _bodies(self, a: Graph, b: Graph, pending: list[tuple[Graph, Graph]]) -> bool:
        if len(a.ops) != len(b.ops) or len(a.inputs) != len(b.inputs):
            return False
        partner: dict[int, Value] = {}
        for x, y in zip(a.inputs, b.inputs, strict=True):
            if x.dtype is not y.dtype or _sizes(x) != _sizes(y):
                return False
            partner[id(x)] = y
        for p, q in zip(a.ops, b.ops, strict=True):
            if p.kind != q.kind or p.attrs.keys() != q.attrs.keys() or len(p.results) != len(q.results):
                return False
            if not all(self._attrs(value, q.attrs[key], pending) for key, value in p.attrs.items()):
                return False
            for x, y in zip(p.results, q.results, strict=True):
                if x.dtype is not y.dtype:
                    return False
                partner[id(x)] = y
        readers = zip((*a.ops, a.terminator), (*b.ops, b.terminator), strict=True)
        return all(self._operands(p, q, partner) for p, q in readers)

    def _operands(self, p: Op, q: Op, partner: dict[int, Value]) -> bool:
        if len(p.operands) != len(q.operands):
            return False
        for x, y in zip(p.operands, q.operands, strict=True):
            if x is y or x is None or y is None:
                if x is not y:
                    return False
            elif x.data is not None and y.data is not None:
                if x.dtype is not y.dtype or not _same_array(x.data, y.data):
                    return False
            elif partner.get(id(x)) is not y:
                return False
        return True

    def _attrs(self, a: Any, b: Any, pending: list[tuple[Graph, Graph]]) -> bool:
        if isinstance(a, FuncRef) and isinstance(b, FuncRef) and a.name in self.functions and b.name in self.functions:
            if a.name != b.name and (a.name, b.name) not in self.pairs:
                self.pairs.add((a.name, b.name))
                pending.append((self.functions[a.name], self.functions[b.name]))
            return a.attrs == b.attrs
        if isinstance(a, list) and isinstance(b, list):
            return len(a) == len(b) and all(self._attrs(x, y, pending) for x, y in zip(a, b, strict=True))
        if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
            return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and _same_array(a, b)
        return bool(a == b)


def _sizes(value: Value) -> list[Any] | None:
    """A shape whose unknown dimensions are all alike: a function's are named for the function."""
    return None if value.shape is None else [dim if isinstance(dim, int) else None for dim in value.shape]


def _same_array(a: np.ndarray, b: np.ndarray) -> bool:
    return a is b or (a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes())
