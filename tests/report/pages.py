"""Reports that the tests of pages show: of a large model, of one whose names attack the page."""

from __future__ import annotations

from typing import Any

from fuseconv.report.json import to_json
from fuseconv.report.records import EmittedOp, Report

ATTACK = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def chain(ops: int, name: str = "net/block_{}/conv") -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the report and the inspection of a chain of convolutions, each made of four nodes of the model."""
    report = Report("model", "model.tflite", output_bytes=ops * 1000)
    for index in range(ops):
        scope = name.format(index)
        nodes = [f"{scope}/{part}" for part in ("Conv2D", "BiasAdd", "Relu", "kernel")]
        for node in nodes:
            report.source(node, node.rpartition("/")[2])
        report.edges[nodes[1]] = (nodes[0],)
        report.record("fused", "conv_bias", nodes[:3], ["CONV_2D"])
        report.record("folded", "constant", nodes[3:])
        report.record("refused", "patches", nodes[:1], why="the filter is no identity matrix")
        report.emitted.append(EmittedOp(0, index, "CONV_2D", tuple(nodes[:3]), 1000))
    tensor = {
        "type": "FLOAT32", "shape_signature": None, "quantisation": None, "is_variable": False, "size": 0, "buffer": 0
    }  # fmt: skip
    tensors = [
        *({**tensor, "name": name.format(index - 1), "shape": [1, 8, 8, 4]} for index in range(ops + 1)),
        {**tensor, "name": "kernel", "shape": [4, 3, 3, 4], "size": 400_000, "buffer": 1},
    ]
    graph = {
        "name": "main", "inputs": [0], "outputs": [ops], "tensors": tensors,
        "ops": [
            {"op": "CONV_2D", "version": 1, "operands": [index, ops + 1], "results": [index + 1], "options": {}}
            for index in range(ops)
        ],
    }  # fmt: skip
    inspection = {"subgraphs": [graph], "custom_ops": [], "flex_ops": [], "file": {"size": ops * 1000 + 400_000}}
    return to_json(report), inspection
