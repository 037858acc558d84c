"""The JSON report: what it says, that it is stable, and that it accounts for every op."""

from __future__ import annotations

import json

from fuseconv.report.json import FATES, SCHEMA_VERSION, dumps, to_json
from fuseconv.report.records import EmittedOp, Report


def a_report() -> Report:
    report = Report("models/digits", "build/digits.tflite")
    for name, type in [
        ("lstm/call", "StatefulPartitionedCall"), ("dense/MatMul", "MatMul"), ("dense/BiasAdd", "BiasAdd"),
        ("shape", "Shape"), ("identity", "Identity"), ("identity_1", "Identity"), ("mask/call", "PartitionedCall"),
    ]:  # fmt: skip
        report.source(name, type)
    report.record("fused", "keras_lstm", ["lstm/call"], ["FILL", "FILL", "UNIDIRECTIONAL_SEQUENCE_LSTM"])
    report.record("lowered", "lower MatMul", ["dense/MatMul"], ["FULLY_CONNECTED"])
    report.record("fused", "dense_bias", ["dense/MatMul", "dense/BiasAdd"], ["FULLY_CONNECTED"])
    report.record("folded", "fold Shape", ["shape"])
    report.record("removed", "identity", ["identity", "identity_1"], why="it hands on its operand")
    report.record("refused", "keras_lstm", ["mask/call"], why="TFLite's LSTM takes no mask")
    report.emitted = [
        EmittedOp(0, 0, "UNIDIRECTIONAL_SEQUENCE_LSTM", ("lstm/call",)),
        EmittedOp(0, 1, "FULLY_CONNECTED", ("dense/MatMul", "dense/BiasAdd")),
    ]
    report.seconds = {"load": 0.0123456789, "fuse": 0.002}
    report.output_bytes = 4096
    return report


def test_the_document_says_what_its_description_promises() -> None:
    document = to_json(a_report())
    assert document["schema_version"] == SCHEMA_VERSION == 1
    assert document["generator"]["name"] == "fuseconv"
    assert (document["model"], document["output"]) == ("models/digits", {"path": "build/digits.tflite", "bytes": 4096})
    assert document["totals"] == {
        "source_ops": 7,
        "emitted_ops": 2,
        "fates": {"unsupported": 0, "fused": 3, "lowered": 0, "folded": 1, "removed": 2, "": 1},
        "emitted_by_type": {"UNIDIRECTIONAL_SEQUENCE_LSTM": 1, "FULLY_CONNECTED": 1},
    }
    assert document["sources"]["dense/MatMul"] == {"type": "MatMul", "fate": "fused"}
    assert document["records"][0] == {
        "kind": "fused",
        "rule": "keras_lstm",
        "sources": ["lstm/call"],
        "emitted": ["FILL", "FILL", "UNIDIRECTIONAL_SEQUENCE_LSTM"],
        "why": "",
    }
    assert document["emitted"][1] == {
        "subgraph": 0,
        "index": 1,
        "type": "FULLY_CONNECTED",
        "sources": ["dense/MatMul", "dense/BiasAdd"],
    }
    assert document["seconds"] == {"load": 0.012346, "fuse": 0.002}


def test_a_refused_fusion_accounts_for_nothing() -> None:
    document = to_json(a_report())
    assert document["sources"]["mask/call"]["fate"] == ""
    assert [record["why"] for record in document["records"] if record["kind"] == "refused"] == [
        "TFLite's LSTM takes no mask"
    ]


def test_the_fates_add_up_to_the_source_ops() -> None:
    totals = to_json(a_report())["totals"]
    assert sum(totals["fates"].values()) == totals["source_ops"]
    assert set(FATES) <= set(totals["fates"])


def test_the_text_depends_on_the_order_of_records_only() -> None:
    report = a_report()
    backwards = a_report()
    backwards.sources = dict(reversed(report.sources.items()))
    assert dumps(to_json(report)) == dumps(to_json(backwards))
    assert json.loads(dumps(to_json(report))) == to_json(report)


def test_every_key_is_described() -> None:
    import fuseconv.report.json as module

    for key in to_json(a_report()):
        assert f"`{key}`" in (module.__doc__ or "")


def test_numbers_that_json_does_not_have() -> None:
    document = {"a": [1.0, float("nan")], "b": {"c": float("-inf"), "d": 2}}
    assert json.loads(dumps(document)) == {"a": [1.0, "nan"], "b": {"c": "-inf", "d": 2}}
