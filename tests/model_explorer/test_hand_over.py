"""`inspect --model-explorer` writes a file for each thing that is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fuseconv.model_explorer.hand_over import hand_over
from tests.test_cli import fails, run

TESTDATA = Path(__file__).parents[2] / "testdata"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "lstm.tflite"
    assert run("convert", TESTDATA / "keras2_lstm", "-o", path, "--report", path.with_suffix(".json")).exit_code == 0
    return path


def test_all_is_written(file: Path, tmp_path: Path) -> None:
    profile = tmp_path / "profile.json"
    profile.write_text(run("profile", file, "--runs", 1, "--json").stdout)
    shown = run("inspect", file, "--model-explorer", tmp_path / "new" / "me", "--report", file.with_suffix(".json"),
                "--profile", profile)  # fmt: skip
    assert shown.exit_code == 0 and f"model-explorer {file} --node_data_paths=" in shown.stdout
    documents = {path.stem: json.loads(path.read_text()) for path in (tmp_path / "new" / "me").iterdir()}
    assert set(documents) == {"weight_bytes", "source_layer", "fusion", "latency", "model_graph"}
    assert documents["fusion"]["serving_default"]["results"]["5"] == {"value": "keras_lstm"}
    (graph,) = documents["model_graph"]["graphs"]
    ids = {node["id"] for node in graph["nodes"]}
    edges = [edge["sourceNodeId"] for node in graph["nodes"] for edge in node["incomingEdges"]]
    assert len(edges) > 50 and ids.issuperset(edges)


def test_without_a_report(file: Path, tmp_path: Path) -> None:
    assert sorted(path.name for path in hand_over(file, tmp_path)) == ["source_layer.json", "weight_bytes.json"]
    listed = json.loads(run("inspect", file, "--model-explorer", tmp_path, "--json").stdout)["model_explorer"]
    assert listed == [str(tmp_path / name) for name in ("weight_bytes.json", "source_layer.json")]


def test_documents_of_another_kind_or_file(file: Path, tmp_path: Path) -> None:
    report = file.with_suffix(".json")
    explore = ["inspect", file, "--model-explorer", tmp_path / "me"]
    assert "is no document of profile --json" in fails(2, *explore, "--profile", report)
    assert "is no JSON of --quantize-report" in fails(2, *explore, "--quantize-report", file)
    assert "are for --model-explorer: add it" in fails(2, "inspect", file, "--profile", report)
    document = json.loads(report.read_text())
    document["ops"][0]["type"] = "ADD"
    (tmp_path / "other.json").write_text(json.dumps(document))
    assert "tells of another file" in fails(2, *explore, "--report", tmp_path / "other.json")
    assert "cannot write into" in fails(2, "inspect", file, "--model-explorer", file)
    assert not (tmp_path / "me").exists()
