"""Nodes of a GraphDef or FunctionDef by name, and the references between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Value
from fuseconv.load import graph_validation

# A node's op, the references to tensors that it reads, and the names of the nodes that must run before.
_Read = tuple[str, list[str], list[str]]


class _Reader(dict[str, _Read]):
    """What was read of the nodes, each when it is first asked for."""

    def __init__(self, by_name: dict[str, Any]) -> None:
        super().__init__()
        self.by_name = by_name

    def __missing__(self, name: str) -> _Read:
        node = self.by_name.get(name)
        if node is None:
            what = f"The model reads the node '{name}', which it does not contain"
            raise InputError(f"{what}: {graph_validation.DAMAGED}")
        # A slice is a list at once; what iterates over a repeated field ends with an exception.
        data, control = node.input[:], []
        if "^" in "".join(data):
            control = [ref[1:] for ref in data if ref[:1] == "^"]
            data = [ref for ref in data if ref[:1] != "^"]
        found = self[name] = node.op, data, control
        return found


class Nodes:
    """The nodes of one GraphDef or FunctionDef by name, in the file's order, each field read once.

    read: returns a node's op, the references to tensors that it reads, and the names of the nodes that must run before.
    """

    def __init__(self, nodes: Iterable[Any]) -> None:
        nodes = list(nodes)
        self.by_name = {node.name: node for node in nodes}
        if len(self.by_name) != len(nodes):
            graph_validation.unique((node.name for node in nodes), "nodes", "The model")
        self.constants: dict[str, Value] = {}
        # The dict's own method: nodes are read more often than anything else is done with them.
        self.read: Callable[[str], _Read] = _Reader(self.by_name).__getitem__

    def __contains__(self, name: str) -> bool:
        return name in self.by_name

    def op(self, name: str) -> str:
        """Return the op of a node."""
        return self.read(name)[0]

    def inputs(self, name: str) -> tuple[list[str], list[str]]:
        """Return the operands of a node: references to tensors, and the names of its control inputs."""
        return self.read(name)[1:]


Ref = tuple[str, str, int]  # node, name of the output (in functions; else empty), index


def graph_ref(text: str) -> Ref:
    """Parse a reference of a GraphDef: "node" or "node:index"."""
    node, _, index = text.partition(":")
    return node, "", _index(index, text)


def function_ref(text: str) -> Ref:
    """Parse a reference of a FunctionDef: "node:output:index", or the name of an argument."""
    node, _, place = text.partition(":")
    output, _, index = place.partition(":")
    return node, output, _index(index, text)


def _index(digits: str, text: str) -> int:
    if not digits or digits == "0":
        return 0
    if not digits.isdecimal():
        raise InputError(f"'{text}' is not the name of a tensor.")
    return int(digits)
