"""A file and what others tell of it, for the tests of what is handed over."""

from __future__ import annotations

from typing import Any


def inspection(name: str = "main") -> dict[str, Any]:
    """Return what `inspect` tells of y = relu(x @ w): two ops."""
    tensor = {"type": "FLOAT32", "shape": [1, 4], "shape_signature": None, "buffer": 0, "size": 0}
    tensors = [
        {**tensor, "name": "x"}, {**tensor, "name": "net/dense/w", "buffer": 1, "size": 64},
        {**tensor, "name": "net/dense/MatMul"}, {**tensor, "name": "net/relu/Relu"},
    ]  # fmt: skip
    ops = [
        {"op": "FULLY_CONNECTED", "operands": [0, 1, -1], "results": [2], "options": {"keep_num_dims": False}},
        {"op": "RELU", "operands": [2], "results": [3], "options": {}},
    ]
    graph = {"name": name, "inputs": [0], "outputs": [3], "tensors": tensors, "ops": ops}
    return {"subgraphs": [graph], "signatures": [{"key": "serve", "subgraph": 0}]}


def report() -> dict[str, Any]:
    op: dict[str, Any] = {"subgraph": 0, "sources": []}
    return {
        "model": "net", "schema_version": 2,
        "nodes": [
            {"name": "PartitionedCall/net/dense/MatMul", "type": "MatMul", "fate": "lowered", "inputs": [1]},
            {"name": "w", "type": "Const", "fate": "folded"}, {"name": "made up", "type": "", "fate": ""},
        ],
        "ops": [
            {**op, "index": 0, "type": "FULLY_CONNECTED", "layer": "told", "fusions": ["a", "b"]},
            {**op, "index": 1, "type": "RELU", "layer": "", "fusions": []},
        ],
    }  # fmt: skip


def profile() -> dict[str, Any]:
    rows = ((0, 1.5e-6), (1, None))
    return {"seconds": {}, "ops": [{"subgraph": 0, "index": index, "seconds": seconds} for index, seconds in rows]}


def quantization() -> dict[str, Any]:
    rows = (("net/relu/Relu", {"relative": 0.25}), ("net/dense/MatMul", None), ("gone", {"relative": 1.0}))
    return {"samples": {}, "ops": [{"tensor": tensor, "error": error} for tensor, error in rows]}
