"""Restore and initialization graphs: the values they assign to variables and tables, found by reading them.

Nothing runs. A reference is followed through identities and function calls to the node that made it, in its scope;
the ops that assign are found, and told with what they assign.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from fuseconv.errors import InputError
from fuseconv.load.graph_importer import CALLS
from fuseconv.load.node_table import Nodes
from fuseconv.tf.traits import TABLE_IMPORTS, node_ops

ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
TABLE_WRITES = node_ops(TABLE_IMPORTS)
_IDENTITIES = frozenset({"Identity", "IdentityN", "StopGradient"})
# No restore or init graph of TensorFlow's own comes near these; a malicious one could make us walk for ever.
_MAX_WORK = 10_000_000
_WORK_OF_A_CALL = 1_000
_MAX_STEPS = 100_000


class Scope:
    """The nodes of the main graph, or of a function as one call sees it.

    arguments: what the function's arguments are, as references in the caller's scope."""

    def __init__(self, nodes: Nodes, function: Any = None, caller: Scope | None = None, call: str = "") -> None:
        self.nodes = nodes
        self.function = function
        self.caller = caller
        self.arguments: dict[str, str] = {}
        if caller is not None:
            names = (arg.name for arg in function.signature.input_arg)
            self.arguments = dict(zip(names, caller.nodes.inputs(call)[0]))


@dataclass(slots=True)
class Source:
    """A node that makes a value, and which of its outputs: `output` by name in functions, `index` within it."""

    scope: Scope
    node: str
    output: str = ""
    index: int = 0

    @property
    def op(self) -> str:
        return self.scope.nodes.op(self.node)

    @property
    def proto(self) -> Any:
        return self.scope.nodes.by_name[self.node]

    def operand(self, index: int) -> str:
        return _operand(self.node, self.scope.nodes.read(self.node)[1], index)


class Effects:
    """library: the model's FunctionDefs by name."""

    def __init__(self, library: dict[str, Any]) -> None:
        self.library = library
        self._calls_or_writes = ASSIGNMENTS | TABLE_WRITES | CALLS | library.keys()
        self._bodies: dict[str, Nodes] = {}
        # The nodes of each body that write, or call what may.
        self._acting: dict[str, list[str]] = {}
        self._calls: dict[tuple[Scope, str], Scope] = {}
        self._work = 0

    def of(self, main: Scope, root: str) -> Iterator[Source]:
        """Yield the nodes that write a variable or table when the node `root` of the main graph runs."""
        stack = [(main, root)]
        seen: set[str] = set()
        while stack:
            scope, name = stack.pop()
            if scope is main:
                if name in seen:
                    continue
                seen.add(name)
                if name not in main.nodes:
                    raise InputError(f"the model has no node '{name}', which its restore or init graph names.")
                data, control = main.nodes.inputs(name)
                stack += [(main, ref.partition(":")[0]) for ref in (*data, *control)]
            op = scope.nodes.op(name)
            if op in ASSIGNMENTS or op in TABLE_WRITES:
                yield Source(scope, name)
            elif op in CALLS or op in self.library:
                inner = self._enter(scope, name)
                stack += [(inner, node) for node in self._acting[inner.function.signature.name]]

    def source(self, scope: Scope, ref: str) -> Source | None:
        """Return the node and output that `ref` names in `scope`; None if the model does not have it."""
        for _ in range(_MAX_STEPS):
            if ref in scope.arguments and scope.caller is not None:
                scope, ref = scope.caller, scope.arguments[ref]
                continue
            name, _, place = ref.partition(":")
            if name not in scope.nodes.by_name:
                return None
            output, index = "", 0
            if place:
                if scope.function is not None:
                    output, _, place = place.partition(":")
                index = int(place) if place.isdigit() else 0
            op, data, _ = scope.nodes.read(name)
            if op in _IDENTITIES:
                ref = _operand(name, data, index)
            elif op in CALLS or op in self.library:
                inner = self._enter(scope, name)
                outputs = [arg.name for arg in inner.function.signature.output_arg]
                if (op in CALLS or not output) and index < len(outputs):
                    output = outputs[index]
                ref = inner.function.ret.get(output, "")
                scope = inner
            else:
                return Source(scope, name, output, index)
        raise InputError(f"the model's references form a cycle through '{ref}'.")

    def operand(self, source: Source, index: int) -> Source | None:
        """Return the source of operand `index` of a node."""
        return self.source(source.scope, source.operand(index))

    def _enter(self, scope: Scope, name: str) -> Scope:
        """Return the body of the function that a node calls as a scope of its own, the same for the same call. Raises
        InputError for a function that the model lacks, and when too much was entered."""
        inner = self._calls.get((scope, name))
        if inner is None:
            node = scope.nodes.by_name[name]
            function = node.op if node.op in self.library else node.attr["f"].func.name
            proto = self.library.get(function)
            if proto is None:
                raise InputError(f"the node '{name}' calls the function '{function}', which the model lacks.")
            body = self._bodies.get(function)
            if body is None:
                body = self._bodies[function] = Nodes(proto.node_def)
                self._acting[function] = [
                    name for name, node in body.by_name.items() if node.op in self._calls_or_writes
                ]
            self._work += _WORK_OF_A_CALL + len(body.by_name)
            if self._work > _MAX_WORK:
                raise InputError(f"the functions that restore the model call each other without end ('{name}').")
            inner = self._calls[scope, name] = Scope(body, proto, scope, name)
        return inner


def _operand(name: str, data: list[str], index: int) -> str:
    if index >= len(data):
        raise InputError(f"the node '{name}' has {len(data)} operands, too few for its op: the model file is damaged.")
    return data[index]
