"""The signatures of a file, and the subgraphs that are run without one."""

from __future__ import annotations

from typing import Any

from fuseconv.errors import InputError
from fuseconv.ir.graph import Graph, Module, Signature, Value
from fuseconv.load.tflite.table_decoder import DamagedError, Table
from fuseconv.load.tflite.tensors import Tensors


def add_signatures(
    module: Module, root: Table, graphs: list[Graph], tensors: list[Tensors], called: set[str]
) -> None:
    """Add a signature for each subgraph that one names, and one without a name for each other that no op runs: what
    an interpreter runs is the first subgraph, whether or not it has a signature.

    called: the names of subgraphs that ops run."""
    by_graph: dict[int, list[Signature]] = {index: [] for index in range(len(graphs))}
    for table in root.tables("signature_defs", "SignatureDef"):
        number, key = table.number("subgraph_index"), table.text("signature_key") or ""
        if number >= len(graphs):
            raise DamagedError(f"the signature {key!r} names a subgraph that is not there")
        inputs = _names(table, "inputs", graphs[number].inputs, tensors[number], key)
        outputs = _names(table, "outputs", graphs[number].outputs, tensors[number], key)
        _add(by_graph[number], Signature([key], graphs[number], inputs, outputs))
    for index, graph in enumerate(graphs):
        if by_graph[index] or index == 0 or graph.name not in called:
            if graph.name in called:
                raise InputError(f"the subgraph {graph.name} is run by an op and by itself, which is not read")
            module.signatures += by_graph[index] or [_nameless(graph)]


def _add(there: list[Signature], new: Signature) -> None:
    """Add a signature, or its name to one that is the same but for it."""
    for signature in there:
        if (signature.inputs, signature.outputs) == (new.inputs, new.outputs):
            signature.names += new.names
            return
    there.append(new)


def _nameless(graph: Graph) -> Signature:
    """Return a signature of a subgraph that has none: its ends are known by the names of their tensors."""
    ends = []
    for kind, values in (("input", graph.inputs), ("output", graph.outputs)):
        names: dict[str, None] = {}
        for index, value in enumerate(values):
            name = value.name or f"{kind}_{index}"
            names[f"{name}_{index}" if name in names else name] = None
        ends.append(list(names))
    return Signature([], graph, *ends)


def _names(table: Table, field: str, values: list[Value], tensors: Tensors, key: str) -> list[str]:
    """Return the names that a signature gives to the ends of its subgraph, in the order of these. Raises DamagedError
    where a runtime would write into what is no input, such as weights, or read what nothing makes."""
    left: dict[Any, list[str]] = {}
    for pair in table.tables(field, "TensorMap"):
        index = pair.number("tensor_index")
        value = tensors.values.get(index)
        if value is None or (field == "inputs" and value not in values):
            raise DamagedError(f"the signature {key!r} has the tensor {index} among its {field}, which is none")
        left.setdefault(value, []).append(pair.text("name") or "")
    if [*map(len, left.values())] != [values.count(value) for value in left] or len(left) != len(set(values)):
        raise InputError(f"the signature {key!r} has other {field} than its subgraph, which is not read")
    names = [left[value].pop(0) for value in values]
    if len(set(names)) != len(names):
        raise DamagedError(f"the signature {key!r} gives one name to several {field}")
    return names
