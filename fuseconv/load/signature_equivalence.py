"""Equivalence of signatures, decided on the model's protobufs before anything is built from them.

Exporters write one function under several names (Keras: "serve" and "serving_default"), each with placeholders, a call
and a wrapper function of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fuseconv.ir import budget
from fuseconv.load.annotation import KEYS, annotation
from fuseconv.load.node_table import Nodes

# Some seconds; a model of more nodes may take longer.
_LEAST_NODES, _MOST_NODES = 1 << 19, 1 << 22
_Pair = tuple[str, str]


class SignatureComparison:
    """Compare signatures by the computations of their outputs. nodes: of the main graph; library: the model's
    FunctionDefs by name. Once too many nodes were compared for a model of its size, no more signatures are the same."""

    def __init__(self, nodes: Nodes, library: Mapping[str, Any]) -> None:
        self.nodes = nodes
        self.library = library
        self._left = max(_LEAST_NODES, budget.most_operations(_MOST_NODES))

    def same(self, a: Any, b: Any) -> bool:
        """Return whether two SignatureDefs have inputs and outputs of the same names, types and shapes, and compute the
        same node by node. Nodes of functions must have the same names too, as those of two traces of one function
        have."""
        self._left -= 1
        if self._left < 0 or a.inputs.keys() != b.inputs.keys() or a.outputs.keys() != b.outputs.keys():
            return False
        pairs = [(a.inputs[key], b.inputs[key]) for key in a.inputs]
        if not all(p.dtype == q.dtype and p.tensor_shape == q.tensor_shape for p, q in pairs):
            return False
        fed = {_tensor(p.name): _tensor(q.name) for p, q in pairs}
        functions: dict[_Pair, None] = {}
        outputs = ((a.outputs[key].name, b.outputs[key].name) for key in a.outputs)
        return self._main_graph(outputs, fed, functions) and self._functions(functions)

    def same_nodes(self, ours: Sequence[Any], theirs: Sequence[Any], renamed: Mapping[str, str]) -> bool:
        """Return whether two graphs have equivalent nodes of the same names in the same order, as two traces of one
        function have. renamed: those of our nodes that have other names, and these."""
        functions: dict[_Pair, None] = {}
        return self._node_lists(ours, theirs, functions, renamed) and self._functions(functions)

    def _main_graph(self, outputs: Iterable[_Pair], fed: dict[str, str], functions: dict[_Pair, None]) -> bool:
        """Return whether pairs of tensors are computed by equivalent nodes, from these down to `fed`: inputs of one
        signature, and the other's in their places. Pairs of functions are left in `functions` to compare."""
        fed_too, known = set(fed.values()), self.nodes.by_name
        pending = [(_tensor(x), _tensor(y)) for x, y in outputs]
        seen: set[_Pair] = set()
        while pending:
            x, y = pending.pop()
            if x in fed or y in fed_too:
                if fed.get(x) != y:
                    return False
                continue
            (p, _, output), (q, _, other_output) = x.partition(":"), y.partition(":")
            if output != other_output or p not in known or q not in known:
                return False
            if (p, q) in seen:
                continue
            self._left -= 1
            if self._left < 0:
                return False
            seen.add((p, q))
            ours, theirs = self.nodes.inputs(p), self.nodes.inputs(q)
            if p != q and not self._node(self.nodes.by_name[p], self.nodes.by_name[q], functions):
                return False
            for refs, others in zip(ours, theirs, strict=True):
                if len(refs) != len(others):
                    return False
                pairs = [(_tensor(x), _tensor(y)) for x, y in zip(refs, others)]
                pending += [(x, y) for x, y in pairs if x != y or x in fed or x in fed_too or not self._is_source(x)]
        return True

    def _is_source(self, tensor: str) -> bool:
        """Return whether a node reads nothing, as the handles of variables do that a function is given."""
        return tensor in self.nodes and self.nodes.read(tensor)[1:] == ([], [])

    def _functions(self, pending: dict[_Pair, None]) -> bool:
        """Return whether the functions of each pair are equivalent, with all functions that they call."""
        done: set[_Pair] = set()
        while pending:
            pair, _ = pending.popitem()
            if pair[0] == pair[1] or pair in done:
                continue
            done.add(pair)
            if not self._function(self.library[pair[0]], self.library[pair[1]], pending):
                return False
        return True

    def _function(self, f: Any, g: Any, pending: dict[_Pair, None]) -> bool:
        """Return whether two functions are equivalent but for those that they call, which are left in `pending`."""
        self._left -= len(f.node_def)
        if self._left < 0 or not (
            f.signature.input_arg == g.signature.input_arg
            and f.signature.output_arg == g.signature.output_arg
            and f.signature.is_stateful == g.signature.is_stateful
            and dict(f.ret) == dict(g.ret)
            and dict(f.control_ret) == dict(g.control_ret)
            and _says(f) == _says(g)
            and _shapes(f) == _shapes(g)
        ):
            return False
        return f.node_def == g.node_def or self._node_lists(f.node_def, g.node_def, pending, {})

    def _node_lists(
        self, ours: Sequence[Any], theirs: Sequence[Any], functions: dict[_Pair, None], renamed: Mapping[str, str]
    ) -> bool:
        return len(ours) == len(theirs) and all(
            renamed.get(p.name, p.name) == q.name
            and [renamed.get(ref, ref) for ref in p.input] == q.input
            and self._node(p, q, functions)
            for p, q in zip(ours, theirs)
        )

    def _node(self, p: Any, q: Any, functions: dict[_Pair, None]) -> bool:
        """Return whether two nodes are of one op with the same attributes. Functions that these name are left to
        compare."""
        if p.op != q.op:
            if p.op not in self.library or q.op not in self.library:
                return False
            functions[p.op, q.op] = None
        keys = {key for attr in (p.attr, q.attr) for key in attr if key[0] != "_" or key in KEYS}
        return all(key in p.attr and key in q.attr and self._attr(p.attr[key], q.attr[key], functions) for key in keys)

    def _attr(self, value: Any, other: Any, functions: dict[_Pair, None]) -> bool:
        if value == other:
            return True
        ours, theirs = ([x.func] if x.HasField("func") else list(x.list.func) for x in (value, other))
        if not ours or len(ours) != len(theirs):
            return False
        for f, g in zip(ours, theirs, strict=True):
            if f.name not in self.library or g.name not in self.library or dict(f.attr) != dict(g.attr):
                return False
            functions[f.name, g.name] = None
        return True


def _tensor(ref: str) -> str:
    """Return a reference to a tensor, or to a node, in the one form in which both can be compared."""
    return ref[:-2] if ref.endswith(":0") else ref


def _says(function: Any) -> tuple[Any, ...]:
    """Return a function's attributes for comparison: the names of those that differ with each trace, and the
    annotation."""
    return set(function.attr) - set(KEYS), annotation(function.attr)


def _shapes(function: Any) -> dict[int, Any]:
    shapes = ((index, arg.attr.get("_output_shapes")) for index, arg in function.arg_attr.items())
    return {index: shape for index, shape in shapes if shape is not None}
