"""Node data and graphs as Model Explorer reads them: ids of nodes are places of ops."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.model_explorer.formats import file_graphs, graph_ids, model_graph, node_data
from tests.model_explorer.documents import inspection, profile, quantization, report


def values(data: dict[str, Any], title: str) -> dict[str, Any]:
    (graph,) = data[title].values()
    assert graph["name"] == title
    return {node: row["value"] for node, row in graph["results"].items()}


def test_what_the_file_tells_itself() -> None:
    data = node_data(inspection())
    assert set(data) == {"weight bytes", "source layer"} and list(data["weight bytes"]) == ["main"]
    assert values(data, "weight bytes") == {"0": 64}
    assert values(data, "source layer") == {"0": "net/dense", "1": "net/relu"}
    assert "gradient" in data["weight bytes"]["main"] and "gradient" not in data["source layer"]["main"]


def test_what_other_documents_tell() -> None:
    data = node_data(inspection(), report(), profile(), quantization())
    assert values(data, "source layer") == {"0": "told", "1": "net/relu"}
    assert values(data, "fusion") == {"0": "a + b"}
    assert values(data, "latency") == {"0": 1.5}
    assert values(data, "quantization error") == {"1": 0.25}


@pytest.mark.parametrize(
    ("name", "signatures", "expected"),
    [("net", [{"key": "serve", "subgraph": 0}], "net"), ("", [{"key": "serve", "subgraph": 0}], "serve"),
     ("", [], "main")],
)  # fmt: skip
def test_graphs_are_called_as_its_reader_calls_them(name: str, signatures: list, expected: str) -> None:
    assert graph_ids({**inspection(name), "signatures": signatures}) == [expected]


def test_the_graph_of_the_model() -> None:
    graph = model_graph(report())
    assert [(node["id"], node["label"], node["namespace"]) for node in graph["nodes"]] == [
        ("0", "MatMul", "net/dense"), ("1", "Const", ""),
    ]  # fmt: skip
    assert graph["nodes"][0]["incomingEdges"] == [
        {"sourceNodeId": "1", "sourceNodeOutputId": "0", "targetNodeInputId": "0"}
    ]
    assert {"key": "became", "value": "lowered"} in graph["nodes"][0]["attrs"]


def test_the_graph_of_the_file() -> None:
    (graph,) = file_graphs(inspection())
    dense, relu = graph["nodes"]
    assert dense["incomingEdges"] == [] and dense["attrs"] == [{"key": "keep_num_dims", "value": "False"}]
    assert [edge["sourceNodeId"] for edge in relu["incomingEdges"]] == ["0"]
    assert relu["outputsMetadata"][0]["attrs"][1] == {"key": "tensor_shape", "value": "float32[1,4]"}
