"""The JSON report: what it says, that it is stable, and that it accounts for every op."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from fuseconv.errors import InputError
from fuseconv.ir.graph import Op
from fuseconv.report.json import FATES, REPORT_VERSION, dumps, read_document, schema, to_json
from fuseconv.report.records import EmittedOp, Ends, Report, Tensor
from fuseconv.tfl.arena import Node, Subgraph


def check_schema(document: dict) -> None:
    """Hold a report to its schema; keys that the schema does not tell of fail too."""
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(document, _closed(schema()), jsonschema.Draft202012Validator)


def _closed(part: Any) -> Any:
    if isinstance(part, list):
        return [_closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    closed = {key: _closed(item) for key, item in part.items()}
    return {"additionalProperties": False, **closed} if isinstance(part.get("properties"), dict) else closed


def a_report() -> Report:
    report = Report("models/digits", "build/digits.tflite")
    for name, type in [
        ("lstm/call", "StatefulPartitionedCall"), ("dense/MatMul", "MatMul"), ("dense/BiasAdd", "BiasAdd"),
        ("shape", "Shape"), ("identity", "Identity"), ("identity_1", "Identity"), ("mask/call", "PartitionedCall"),
    ]:  # fmt: skip
        report.source(name, type)
    report.record("fused", "keras_lstm", ["lstm/call"], ["UNIDIRECTIONAL_SEQUENCE_LSTM", "FILL", "FILL"])
    report.record("lowered", "lower MatMul", ["dense/MatMul"], ["FULLY_CONNECTED"])
    report.record("fused", "dense_bias", ["dense/MatMul", "dense/BiasAdd"], ["FULLY_CONNECTED"])
    report.record("folded", "fold Shape", ["shape"])
    report.record("removed", "identity", ["identity", "identity_1"], why="it hands on its operand")
    report.refused("keras_lstm", ["mask/call"], "TFLite's LSTM takes no mask", expected=True)
    report.emitted = [
        EmittedOp(0, 0, "UNIDIRECTIONAL_SEQUENCE_LSTM", ("lstm/call",), 400),
        EmittedOp(0, 1, "FULLY_CONNECTED", ("dense/MatMul", "dense/BiasAdd"), 44),
    ]
    report.seconds = {"load": 0.0123456789, "fuse": 0.002}
    report.output_bytes = 4096
    report.edges = {"dense/MatMul": ("lstm/call",)}
    ends = [Tensor("x", "float32", (-1, 28, 28))], [Tensor("class", "float32", None)]
    report.signatures = [Ends(("serving_default",), *ends)]
    return report


def test_the_document_says_what_its_schema_promises() -> None:
    document = to_json(a_report())
    check_schema(document)
    assert document["schema_version"] == REPORT_VERSION == 2
    assert document["generator"]["name"] == "fuseconv"
    assert (document["model"], document["output"]) == ("models/digits", {"path": "build/digits.tflite", "bytes": 4096})
    assert document["totals"] == {
        "source_ops": 7,
        "emitted_ops": 2,
        "fates": {"unsupported": 0, "fused": 3, "lowered": 0, "folded": 1, "removed": 2, "": 1},
        "emitted_by_type": {"UNIDIRECTIONAL_SEQUENCE_LSTM": 1, "FULLY_CONNECTED": 1},
    }
    assert document["signatures"] == [{
        "names": ["serving_default"], "inputs": [{"name": "x", "type": "float32", "shape": [-1, 28, 28]}],
        "outputs": [{"name": "class", "type": "float32", "shape": None}],
    }]  # fmt: skip
    assert document["layers"] == [{"layer": "lstm", "ops": 1, "bytes": 400}, {"layer": "dense", "ops": 1, "bytes": 44}]
    assert document["nodes"][1] == {"name": "dense/MatMul", "type": "MatMul", "fate": "fused", "inputs": [0]}
    assert document["records"][0] == {
        "kind": "fused",
        "rule": "keras_lstm",
        "sources": [0],
        "emitted": ["UNIDIRECTIONAL_SEQUENCE_LSTM", "FILL", "FILL"],
        "why": "",
        "expected": False,
    }
    assert document["ops"][1] == {
        "subgraph": 0, "index": 1, "type": "FULLY_CONNECTED", "layer": "dense", "fusions": ["dense_bias"], "bytes": 44,
        "sources": [1, 2],
    }  # fmt: skip
    assert document["seconds"] == {"load": 0.012346, "fuse": 0.002}
    assert document["arena"] is None


def test_what_activations_take() -> None:
    report = a_report()
    report.subgraphs = [Subgraph([0], [2], [Node([0], [1]), Node([1], [2])], [16, 32, 64])]
    assert to_json(report)["arena"] == {"bytes": 96, "peak": 96, "subgraph": 0, "index": 1, "dynamic": False}


def test_what_activations_take_by_a_plan_of_the_file() -> None:
    report = a_report()
    report.subgraphs = [Subgraph([0], [3], [Node([0], [1]), Node([1], [2]), Node([2], [3])], [32, 16, 32, 32])]
    report.plans_arena = True
    assert to_json(report)["arena"]["bytes"] == 64
    del report.arena
    report.plans_arena = False
    assert to_json(report)["arena"]["bytes"] == 80


def test_what_the_model_does_not_have_stands_behind_its_nodes() -> None:
    report = a_report()
    report.quantize(Op("tfl.ADD", sources=("made/up", "dense/MatMul")), "", "int8")
    document = to_json(report)
    check_schema(document)
    assert document["nodes"][7] == {"name": "made/up", "type": "", "fate": ""}
    assert document["quantized"][0]["sources"] == [7, 1]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"schema_version": 1}, "2 was expected"),
        ({"nodes": [{"name": "x", "type": "Add"}]}, "'fate' is a required property"),
        ({"ops": [{"subgraph": -1}]}, "-1"),
        ({"new": 1}, "'new' was unexpected"),
    ],
)
def test_the_schema_refuses_what_is_wrong(wrong: dict, why: str) -> None:
    with pytest.raises(jsonschema.ValidationError, match=why):
        check_schema(to_json(a_report()) | wrong)


def test_a_refused_fusion_accounts_for_nothing() -> None:
    document = to_json(a_report())
    assert next(node["fate"] for node in document["nodes"] if node["name"] == "mask/call") == ""
    assert [record["why"] for record in document["records"] if record["kind"] == "refused"] == [
        "TFLite's LSTM takes no mask"
    ]


def test_the_fates_add_up_to_the_source_ops() -> None:
    totals = to_json(a_report())["totals"]
    assert sum(totals["fates"].values()) == totals["source_ops"]
    assert set(FATES) <= set(totals["fates"])


def test_the_text_is_the_document_in_lines_that_can_be_read() -> None:
    document = to_json(a_report())
    text = dumps(document)
    assert json.loads(text) == document and text == dumps(json.loads(text))
    assert ' {"fate": "folded", "name": "shape", "type": "Shape"},\n' in text
    numbers = list(range(999))
    assert len(dumps({"a": numbers, "b": ["x" * 99] * 3}).splitlines()) == 8


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"ops": 1}', '{"ops": [1]}', '{"ops": [{}]}', '{"ops": null}', '{"ops": [{"type": []}]}',
             '{"ops": [{"type": "ADD", "of": [1, "a"]}]}', '{"ops": [{"type": "ADD", "of": 1}]}', "[" * 100_000]
)
def test_what_is_no_document_of_ours(text: str, tmp_path: Path) -> None:
    path, columns = tmp_path / "it.json", {"ops": {"type": str, "of": [int]}}
    path.write_text(text)
    with pytest.raises(InputError, match=r"it\.json is no table"):
        read_document(path, columns, "table")
    path.write_text('{"ops": [{"type": "ADD", "of": [1, 2], "more": 3}]}')
    assert read_document(path, columns, "table")["ops"]


def test_numbers_that_json_does_not_have() -> None:
    document = {"a": [1.0, float("nan")], "b": {"c": float("-inf"), "d": 2}}
    assert json.loads(dumps(document)) == {"a": [1.0, "nan"], "b": {"c": "-inf", "d": 2}}
