"""Find the tensors of a signature by the names that users know: of nodes, of layers, or the ends of either."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fuseconv.errors import InputError, suggestion
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.tf.annotated_functions import callee_of
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import TF1_CONTROL_FLOW

_MOST_LISTED = 4
# Comparing a misspelt name with all of a large model's would take minutes.
_MOST_COMPARED = 4000


class Place(NamedTuple):
    """Where an op stands: `calls` are the calls of annotated functions around it, outermost first, and `block` the loop
    or branch that runs it, if any; in a loop or branch of TF1, the op itself."""

    op: Op
    calls: tuple[Op, ...]
    block: Op | None


class Tensor(NamedTuple):
    """A tensor that was found by its name, and the calls whose bodies it is in."""

    value: Value
    calls: tuple[Op, ...]

    @property
    def name(self) -> str:
        """Return its name in full, as TensorFlow writes it, "node:0"; that of an input is the signature's."""
        return f"{self.value.op.name}:{self.value.index}" if self.value.op is not None else self.value.name


def places(module: Module, graph: Graph) -> Iterator[Place]:
    """Yield each op of a graph and of the functions that it runs, with where it stands."""
    framed = _framed(graph)
    pending = [Place(op, (), op if op in framed else None) for op in reversed(graph.ops)]
    while pending:
        place = pending.pop()
        yield place
        op, calls, block = place.op, place.calls, place.block
        if callee_of(op, module.functions) is not None:
            calls = (*calls, op)
        else:
            block = block or op
        for body, _ in bodies(op, module):
            pending += [Place(inner, calls, block) for inner in reversed(body.ops)]


def _framed(graph: Graph) -> set[Op]:
    """Return the ops in loops and branches of TF1, which are no functions."""
    if all(op.kind not in TF1_CONTROL_FLOW for op in graph.ops):
        return set()
    depths: dict[Op, int] = {}
    for op in graph.ops:
        makers = [value.op for value in op.operands if value is not None and value.op is not None]
        depths[op] = max((depths.get(maker, 0) for maker in makers), default=0) + _step(op, makers)
    return {op for op, depth in depths.items() if depth > 0}


def _step(op: Op, makers: list[Op]) -> int:
    """Return how much deeper in loops and branches the results of an op are than its operands."""
    kind = op.type.removeprefix("Ref")
    of_loop = any(maker.type.removeprefix("Ref") in ("LoopCond", "NextIteration") for maker in makers)
    if kind in ("Switch", "Merge") and of_loop:
        return 0
    return {"Switch": 1, "Merge": -1, "Enter": 1, "Exit": -1}.get(kind, 0)


class TensorNames:
    """Looks names up in the graph of a signature, whose calls are inlined: an op of a body is named "call/op".

    constants: the names of the model's constants, which are no ops."""

    def __init__(self, module: Module, graph: Graph, constants: Iterable[str] = ()) -> None:
        self.graph = graph
        self.places = list(places(module, graph))
        self.constants = constants
        self.by_name: dict[str, list[Place]] = {}
        for place in self.places:
            self.by_name.setdefault(place.op.name, []).append(place)

    def find(self, name: str, option: str) -> Tensor:
        """Find the tensor of a name: "node", "node:1", the last parts of a node's name, or a layer, a name scope, which
        stands for what other nodes read of it.

        A layer "a" may have the scope "a_1", as a scope is renamed that is entered again: Keras 3 does so with every
        one, and "a_1" with a number more. So one of these is taken only if there are no others; "a/" is "a" alone.
        Raises InputError, which names the option, if there is none or several, or it is made in a loop or branch."""
        node, _, index = name.rpartition(":")
        if not node or not index.isdecimal():
            node, index = name, ""
        found = self.by_name.get(node) or [place for place in self.places if place.op.name.endswith(f"/{node}")]
        if not found and not index:
            tensors = self._of_layer(node, option)
        else:
            tensors = [self._result(place, int(index or 0), name, option) for place in found]
        if not tensors:
            raise InputError(f"{option} {name}: {self._nothing(node)}")
        if len(tensors) > 1:
            there = _some([tensor.name for tensor in tensors])
            raise InputError(f"{option} {name}: several tensors go by that name; name one of them in full: {there}")
        return tensors[0]

    def _result(self, place: Place, index: int, name: str, option: str) -> Tensor:
        op = place.op
        if place.block is not None:
            raise InputError(
                f"{option} {name}: it is made in a step of a loop, or in a branch ('{place.block.name}'); name what "
                "goes into that or comes out of it"
            )
        if index >= len(op.results):
            raise InputError(f"{option} {name}: the node '{op.name}' ({op.type}) makes {len(op.results)} tensors")
        return Tensor(op.results[index], place.calls)

    def _of_layer(self, name: str, option: str) -> list[Tensor]:
        """Return the tensors that leave a layer."""
        number = "" if name.endswith("/") else r"(?:_\d+)*"
        pattern = re.compile(rf"((?:.*?/)??{re.escape(name.rstrip('/'))}{number}/)")
        scopes: dict[str, list[Place]] = {}
        for place in self.places:
            match = pattern.match(place.op.name)
            if match:
                scopes.setdefault(match[1], []).append(place)
        # The handles of a layer's variables are outside of it.
        scopes = {scope: found for scope, found in scopes.items() if any(_makes_tensors(place.op) for place in found)}
        if len(scopes) > 1:
            raise InputError(
                f"{option} {name}: several layers may be meant; name one of them in full, with the slash: "
                f"{_some(list(scopes))}"
            )
        inside = {place.op for found in scopes.values() for place in found}
        found = []
        for place in (place for places in scopes.values() for place in places):
            # What a call in the layer returns tells of its body.
            if place.block is None and not (place.calls and place.calls[-1] in inside):
                found += [
                    Tensor(result, place.calls)
                    for result in place.op.results
                    if not result.dtype.is_handle and any(reader not in inside for reader in result.uses)
                ]
        return found

    def _nothing(self, node: str) -> str:
        """Say that there is no such tensor, and which ones have names like it."""
        if any(name == node or name.endswith(f"/{node}") for name in self.constants):
            return "that is a constant of the model, which cannot be fed or read; name a tensor that is computed"
        nodes = [place.op.name for place in self.places if place.block is None and _makes_tensors(place.op)]
        alike = [name for name in nodes if len(node) > 2 and node.lower() in name.lower()]
        if alike:
            return f"the model has no tensor or layer of that name; there are {_some(alike)}"
        help = suggestion(node, nodes[:_MOST_COMPARED]) if "/" in node else ""
        parts = dict.fromkeys(part for name in nodes for part in name.split("/"))
        known = [*dict.fromkeys(name.rpartition("/")[2] for name in nodes), *parts]
        help = help or suggestion(node.rpartition("/")[2], dict.fromkeys(known[:_MOST_COMPARED]))
        return f"the model has no tensor or layer of that name{help or f'; there are {_some(nodes)}'}"


def _makes_tensors(op: Op) -> bool:
    """Return whether an op makes more than handles."""
    return any(not result.dtype.is_handle for result in op.results)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return ", ".join(names[:_MOST_LISTED]) + more
