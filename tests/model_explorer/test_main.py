"""The extensions, against classes with the fields of Model Explorer 0.1.34, which is no dependency of ours."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.model_explorer import documents

FIELDS = {
    "Graph": {"id", "nodes"}, "GraphNode": {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"},
    "MetadataItem": {"id", "attrs"}, "KeyValue": {"key", "value"},
    "IncomingEdge": {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"}, "NodeDataResult": {"value"},
    "GradientItem": {"stop", "bgColor"}, "GraphNodeData": {"name", "results", "gradient"},
    "AdapterMetadata": {"id", "name", "description", "fileExts"},
    "NodeDataProviderMetadata": {"id", "name", "description", "filter"}, "NodeDataProviderFilter": {"modelFileExts"},
    "NodeDataProviderResult": {"result", "error"}, "GetConfigEditorsResult": {"configEditors"},
}  # fmt: skip


def _class(name: str) -> Any:
    def make(**fields: Any) -> SimpleNamespace:
        assert set(fields) <= FIELDS[name], f"{name} has no such field"
        return SimpleNamespace(**fields)

    return make


@pytest.fixture
def extensions(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    package: Any = ModuleType("model_explorer")
    package.Adapter, package.NodeDataProvider = type("Adapter", (), {}), type("NodeDataProvider", (), {})
    package.graph_builder = package.node_data_builder = package
    for name in FIELDS:
        setattr(package, name, _class(name))
    monkeypatch.setitem(sys.modules, "model_explorer", package)
    monkeypatch.setattr("fuseconv.inspecting.inspect", lambda path: documents.inspection())
    yield importlib.import_module("fuseconv.model_explorer.main")
    del sys.modules["fuseconv.model_explorer.main"]


def test_the_adapter_shows_the_file_and_the_model_beside_it(extensions: Any, tmp_path: Path) -> None:
    adapter = extensions.FuseconvAdapter()
    assert adapter.metadata.fileExts == ["tflite"]
    path = tmp_path / "net.tflite"
    assert [graph.id for graph in adapter.convert(str(path), {})["graphs"]] == ["main"]
    path.with_suffix(".json").write_text(json.dumps(documents.report()))
    file, model = adapter.convert(str(path), {})["graphs"]
    assert [node.label for node in file.nodes] == ["FULLY_CONNECTED", "RELU"]
    assert model.nodes[0].incomingEdges[0].sourceNodeId == "1"


def test_node_data_of_one_graph(extensions: Any, tmp_path: Path) -> None:
    provider = extensions.FuseconvNodeData()
    path = tmp_path / "net.tflite"
    Path(f"{path}.json").write_text(json.dumps(documents.report()))
    found = provider.run("fuseconv-node-data", str(path), "main", {}, None).result
    assert [each.name for each in found] == ["weight bytes", "source layer", "fusion"]
    assert found[2].results["0"].value == "a + b"
    assert provider.run("fuseconv-node-data", str(path), "other", {}, None).result == []
    assert provider.get_config_editors("fuseconv-node-data").configEditors == []


def test_a_report_of_another_version_is_told(extensions: Any, tmp_path: Path) -> None:
    path = tmp_path / "net.tflite"
    path.with_suffix(".json").write_text(json.dumps(documents.report() | {"schema_version": 1}))
    result = extensions.FuseconvNodeData().run("fuseconv-node-data", str(path), "main", {}, None)
    assert "is of version 1" in result.error
