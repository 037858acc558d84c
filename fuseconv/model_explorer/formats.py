"""Model Explorer's formats: values of nodes that it lays over the graph of a file, and graphs.

Node data is `{graph id: {"name", "results": {node id: {"value"}}, "gradient"}}`. The ids are those of Model Explorer's
reader of .tflite files: a graph is called as its subgraph is, or as its signature, and a node by the index of its op.
A graph is `{"id", "nodes": [{"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"}]}`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fuseconv.report.inspection import type_text
from fuseconv.report.layers import layer_of, plain

# From little to much.
_GRADIENT = [{"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f4a259"}]
Document = Mapping[str, Any]
Place = tuple[int, int]  # of an op: its subgraph, and its index there


def node_data(
    inspection: Document, report: Document | None = None, profile: Document | None = None,
    quantization: Document | None = None,
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """Return node data by what it tells of: "weight bytes" and "source layer", and with the documents of others
    "fusion" (of the conversion's report), "latency" in microseconds (of `profile --json`) and "quantization error" as a
    part of the range (of `--quantize-report`)."""
    rows: dict[str, dict[Place, Any]] = {"weight bytes": dict(_bytes(inspection)), "source layer": _layers(inspection)}
    if report is not None:
        ops = [((op["subgraph"], op["index"]), op) for op in report["ops"]]
        rows["source layer"] |= {place: op["layer"] for place, op in ops if op["layer"]}
        rows["fusion"] = {place: " + ".join(op["fusions"]) for place, op in ops if op["fusions"]}
    if profile is not None:
        rows["latency"] = {
            (op["subgraph"], op["index"]): round(op["seconds"] * 1e6, 3)
            for op in profile["ops"] if op["seconds"] is not None
        }  # fmt: skip
    if quantization is not None:
        rows["quantization error"] = dict(_errors(inspection, quantization))
    ids = graph_ids(inspection)
    return {title: _data(title, values, ids) for title, values in rows.items() if values}


def _data(title: str, values: Mapping[Place, Any], ids: list[str]) -> dict[str, Any]:
    graphs: dict[str, Any] = {}
    for (subgraph, index), value in values.items():
        if subgraph >= len(ids):
            continue  # of a report of another file
        graph = graphs.setdefault(ids[subgraph], {"name": title, "results": {}})
        graph["results"][str(index)] = {"value": value}
        if not isinstance(value, str):
            graph["gradient"] = _GRADIENT
    return graphs


def graph_ids(inspection: Document) -> list[str]:
    """Return what Model Explorer calls each subgraph."""
    keys = {signature["subgraph"]: signature["key"] for signature in reversed(inspection["signatures"])}
    return [
        graph["name"] or keys.get(number) or (f"subgraph_{number}" if number else "main")
        for number, graph in enumerate(inspection["subgraphs"])
    ]


def _bytes(inspection: Document) -> Iterator[tuple[Place, int]]:
    """Yield the bytes of the constants that an op is the first to read."""
    counted = set()
    for place, op, tensors in _ops(inspection):
        total = 0
        for tensor in (tensors[operand] for operand in op["operands"] if operand >= 0):
            if tensor["size"] and tensor["buffer"] not in counted:
                counted.add(tensor["buffer"])
                total += tensor["size"]
        if total:
            yield place, total


def _layers(inspection: Document) -> dict[Place, str]:
    """Return the layers that the names of tensors tell."""
    names = ((place, _first_result(op, tensors)) for place, op, tensors in _ops(inspection))
    return {place: layer for place, name in names if (layer := layer_of([name]))}


def _errors(inspection: Document, quantization: Document) -> Iterator[tuple[Place, float]]:
    """Yield the largest error of each op's result, as a part of its range, by the names of tensors."""
    errors = {row["tensor"]: row["error"] for row in quantization["ops"]}
    for place, op, tensors in _ops(inspection):
        error = errors.get(_first_result(op, tensors))
        if error and isinstance(error.get("relative"), (int, float)):
            yield place, error["relative"]


def _ops(inspection: Document) -> Iterator[tuple[Place, Document, list[Document]]]:
    for number, graph in enumerate(inspection["subgraphs"]):
        for index, op in enumerate(graph["ops"]):
            yield (number, index), op, graph["tensors"]


def _first_result(op: Document, tensors: list[Document]) -> str:
    return tensors[op["results"][0]]["name"] if op["results"] else ""


def model_graph(report: Document) -> dict[str, Any]:
    """Return the graph of the model before it was converted, as the report of `convert --report FILE.json` has it:
    a node's id is its place there, and its scope the layers that it stands in."""
    return {"id": "model", "nodes": [
        {
            "id": str(place), "label": node["type"], "namespace": plain(node["name"]).rpartition("/")[0],
            "attrs": [_pair("name", node["name"]), _pair("became", node["fate"])],
            "incomingEdges": [_edge(str(source), 0, slot) for slot, source in enumerate(_inputs(node))],
            "outputsMetadata": [],
        }
        for place, node in enumerate(report["nodes"]) if node["type"]
    ]}  # fmt: skip


def _inputs(node: Document) -> list[Any]:
    inputs = node.get("inputs")
    return inputs if isinstance(inputs, list) else []


def file_graphs(inspection: Document) -> list[dict[str, Any]]:
    """Return the graph of each subgraph of a file, whose nodes are its ops."""
    return [
        {"id": name, "nodes": [_op_node(index, op, graph) for index, op in enumerate(_with_makers(graph))]}
        for name, graph in zip(graph_ids(inspection), inspection["subgraphs"])
    ]


def _with_makers(graph: Document) -> Iterator[tuple[Document, Callable[[int], tuple[int, int] | None]]]:
    """Yield each op, with a function from a tensor to the op that makes it and the place among its results."""
    makers = {
        tensor: (index, slot) for index, op in enumerate(graph["ops"]) for slot, tensor in enumerate(op["results"])
    }
    for op in graph["ops"]:
        yield op, makers.get


def _op_node(index: int, op: tuple[Document, Callable], graph: Document) -> dict[str, Any]:
    row, maker = op
    edges = ((slot, maker(tensor)) for slot, tensor in enumerate(row["operands"]))
    return {
        "id": str(index), "label": row["op"], "namespace": layer_of([_first_result(row, graph["tensors"])]),
        "attrs": [_pair(key, str(value)) for key, value in row["options"].items()],
        "incomingEdges": [_edge(str(made[0]), made[1], slot) for slot, made in edges if made is not None],
        "outputsMetadata": [
            {"id": str(slot), "attrs": [_pair("tensor_name", graph["tensors"][tensor]["name"]),
                                        _pair("tensor_shape", type_text(graph["tensors"][tensor]))]}
            for slot, tensor in enumerate(row["results"])
        ],
    }  # fmt: skip


def _pair(key: str, value: str) -> dict[str, str]:
    return {"key": key, "value": value}


def _edge(source: str, output: int, slot: int) -> dict[str, str]:
    return {"sourceNodeId": source, "sourceNodeOutputId": str(output), "targetNodeInputId": str(slot)}
