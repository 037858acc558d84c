"""Extensions of Model Explorer, which imports this module where it is started with them:

    model-explorer out.tflite --extensions=fuseconv.model_explorer

Beside a file it looks for `out.json`, or `out.tflite.json`: the report of the conversion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from model_explorer import (
    Adapter,
    AdapterMetadata,
    NodeDataProvider,
    NodeDataProviderFilter,
    NodeDataProviderMetadata,
    NodeDataProviderResult,
    graph_builder,
    node_data_builder,
)

from fuseconv.errors import FuseconvError
from fuseconv.inspecting import inspect
from fuseconv.model_explorer.formats import file_graphs, model_graph, node_data
from fuseconv.report.json import read_report

_NAME = "fuseconv"


def report_beside(model: str) -> dict[str, Any] | None:
    """Return the report beside a file; None if there is none."""
    for path in (Path(model).with_suffix(".json"), Path(f"{model}.json")):
        if path.is_file():
            return read_report(path)
    return None


class FuseconvAdapter(Adapter):
    """Shows a file and, if its report lies beside it, the model that it was made of."""

    metadata = AdapterMetadata(
        id="fuseconv", name=_NAME, description="The file, and the TensorFlow graph that fuseconv made it of.",
        fileExts=["tflite"],
    )  # fmt: skip

    def convert(self, model_path: str, settings: dict[str, Any]) -> dict[str, Any]:
        graphs = file_graphs(inspect(model_path))
        report = report_beside(model_path)
        if report is not None:
            graphs.append(model_graph(report))
        return {"graphs": [_graph(graph) for graph in graphs]}


class FuseconvNodeData(NodeDataProvider):
    """Lays bytes, layers and fusions over a file's graph."""

    metadata = NodeDataProviderMetadata(
        id="fuseconv-node-data", name=_NAME, description="Bytes of weights, source layer and fusion of each op.",
        filter=NodeDataProviderFilter(modelFileExts=["tflite"]),
    )  # fmt: skip

    def get_config_editors(self, provider_id: str) -> Any:
        from model_explorer import GetConfigEditorsResult

        return GetConfigEditorsResult(configEditors=[])

    def run(self, provider_id: str, model_path: str, graph_id: str, config_values: dict, graph: Any) -> Any:
        try:
            data = node_data(inspect(model_path), report_beside(model_path))
        except FuseconvError as error:
            return NodeDataProviderResult(error=str(error))
        found = [graphs[graph_id] for graphs in data.values() if graph_id in graphs]
        return NodeDataProviderResult(result=[_overlay(each) for each in found])


def _graph(graph: dict[str, Any]) -> Any:
    return graph_builder.Graph(id=graph["id"], nodes=[_node(node) for node in graph["nodes"]])


def _node(node: dict[str, Any]) -> Any:
    builder = graph_builder
    metadata = [
        builder.MetadataItem(id=item["id"], attrs=[builder.KeyValue(**pair) for pair in item["attrs"]])
        for item in node["outputsMetadata"]
    ]
    return builder.GraphNode(
        id=node["id"], label=node["label"], namespace=node["namespace"], outputsMetadata=metadata,
        attrs=[builder.KeyValue(**pair) for pair in node["attrs"]],
        incomingEdges=[builder.IncomingEdge(**edge) for edge in node["incomingEdges"]],
    )  # fmt: skip


def _overlay(found: dict[str, Any]) -> Any:
    results = {node: node_data_builder.NodeDataResult(value=row["value"]) for node, row in found["results"].items()}
    gradient = [node_data_builder.GradientItem(**stop) for stop in found.get("gradient", ())]
    return node_data_builder.GraphNodeData(name=found["name"], results=results, gradient=gradient)
