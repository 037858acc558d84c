"""Each piece of advice is given where it helps, and not where it does not."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.report.advice import advice


def document(*ops: str, type: str = "FLOAT32", bytes: int = 0, rank: int = 4, **more: Any) -> dict[str, Any]:
    """Return what `inspect` tells of a chain of ops; the first reads a constant of so many bytes."""
    tensors: list[dict[str, Any]] = [
        {"name": f"net/while/net/while/{index}", "size": 0, "buffer": 0, "type": "FLOAT32", "shape": [1] * rank}
        for index in range(len(ops) + 1)
    ]
    tensors.append({"name": "weights", "size": bytes, "buffer": 1, "type": type})
    rows: list[dict[str, Any]] = [
        {"op": op, "operands": [index], "results": [index + 1], "options": {"body_subgraph_index": 0}}
        for index, op in enumerate(ops)
    ]
    rows[0]["operands"] = [0, len(ops) + 1]
    graph = {"tensors": tensors, "ops": rows, "inputs": [0], "outputs": [len(ops)]}
    return {"subgraphs": [graph], "custom_ops": [], "flex_ops": [], "file": {"size": bytes + 1000}} | more


@pytest.mark.parametrize(
    ("inspection", "what", "ops"),
    [
        (document("ADD", bytes=10**6), "1.0 MB of 1.0 MB are weights in float32", []),
        (document("ADD", type="INT8", bytes=10**6), "One constant takes 1.0 MB, 100%", [(0, 0)]),
        (document("ADD", "WHILE"), "1 WHILE", [(0, 1)]),
        (document("BIDIRECTIONAL_SEQUENCE_RNN", "ADD"), "1 fused recurrent ops", [(0, 0)]),
        (document("ADD", "Acme", custom_ops=["Acme"]), "Acme: custom ops", [(0, 1)]),
        (document("ADD", "FlexSvd", flex_ops=["Svd"]), "Svd: run by TensorFlow's kernels", [(0, 1)]),
        (document("SHAPE"), "1 SHAPE", [(0, 0)]),
        (document(*["TRANSPOSE"] * 3), "3 TRANSPOSE of images", [(0, 0), (0, 1), (0, 2)]),
        (document("QUANTIZE", "ADD", "DEQUANTIZE", "COS", "QUANTIZE", "ADD", "DEQUANTIZE"),
         "2 QUANTIZE and DEQUANTIZE inside", [(0, 2), (0, 4)]),
    ],
)  # fmt: skip
def test_what_is_said(inspection: dict[str, Any], what: str, ops: list[tuple[int, int]]) -> None:
    found = [item for item in advice(inspection, {}) if item.what.startswith(what)]
    assert len(found) == 1 and found[0].ops == ops and found[0].do


@pytest.mark.parametrize("inspection", [document("ADD", bytes=5000), document("TRANSPOSE", "ADD"),
                                        document(*["TRANSPOSE"] * 3, rank=3),
                                        document("QUANTIZE", "ADD", "DEQUANTIZE")])  # fmt: skip
def test_what_needs_no_word(inspection: dict[str, Any]) -> None:
    assert advice(inspection, {}) == []


@pytest.mark.parametrize(("chain", "said"), [
    (["MINIMUM", "RESHAPE"], True), (["CAST"], False), (["NEG", "MINIMUM"], False),
])  # fmt: skip
def test_ids_that_need_not_be_in_the_table(chain: list[str], said: bool) -> None:
    inspection = document(*chain, "GATHER", bytes=4, signatures=[{"subgraph": 0, "inputs": {"ids": 0}}])
    graph = inspection["subgraphs"][0]
    graph["tensors"].append({"name": "table", "size": 80, "buffer": 2, "type": "FLOAT32", "shape": [20, 1]})
    graph["ops"][-1]["operands"] = [len(graph["tensors"]) - 1, len(chain)]
    found = advice(inspection, {})
    assert [item.do.split()[1] for item in found] == (["ids=0:19"] if said else [])


def test_an_op_that_does_most_of_the_work() -> None:
    found = advice(document("CONV_2D", "CONV_2D"), {(0, 0): 10**6, (0, 1): 9 * 10**6})
    what = "CONV_2D net/while/…/2 does 90% of all multiply-adds."
    assert [(item.what, item.ops) for item in found] == [(what, [(0, 1)])]


def test_the_price_of_writing_no_loop() -> None:
    (found,) = advice(document("ADD", "MUL", "WHILE"), {})
    assert "--rnn unroll" in found.do and "at a price: 3 ops for each step" in found.do
