"""The names of tensors in the file: those of values, each once in all subgraphs."""

from __future__ import annotations

import time

import pytest
from ai_edge_litert import schema_py_generated as schema

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Signature, Value
from fuseconv.tfl.builder import Builder
from fuseconv.write.flatbuffer_export import to_bytes


def read(data: bytes) -> schema.ModelT:
    return schema.ModelT.InitFromPackedBuf(data, 0)


def test_names_are_those_of_values_and_unique():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2,), "name")
    tfl = Builder(graph.ops, "name")
    graph.outputs = [tfl.neg(tfl.abs(x))]
    graph.outputs[0].name = "result"
    model = read(to_bytes(Module([Signature(["serve"], graph, ["in"], ["out"])])))
    assert [tensor.name for tensor in model.subgraphs[0].tensors] == [b"name", b"name;1", b"result"]
    signature = model.signatureDefs[0]
    assert [(entry.name, entry.tensorIndex) for entry in signature.inputs] == [(b"in", 0)]
    assert [(entry.name, entry.tensorIndex) for entry in signature.outputs] == [(b"out", 2)]


def test_names_of_all_subgraphs_are_unique():
    def more(tfl: Builder, step: Value) -> Value:
        return tfl.less(tfl.reduce_max(step, [0, 1]), 3.0)

    graph = Graph("main")
    module = Module([Signature(["serve"], graph, ["in"], ["out"])])
    x = graph.add_input(types.FLOAT32, (2, 2), "x")
    graph.outputs = Builder(graph.ops, "loop", (), module.functions).loop(more, lambda tfl, y: [tfl.add(y, 1.0)], [x])
    model = read(to_bytes(module))
    names = [tensor.name for subgraph in model.subgraphs for tensor in subgraph.tensors]
    assert len(model.subgraphs) == 3 and len(names) == len({*names})


def test_names_leave_out_calls_that_nobody_named():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2,), "x")
    tfl = Builder(graph.ops, "StatefulPartitionedCall_1/PartitionedCall/model/dense/Relu")
    graph.outputs = [tfl.relu(x)]
    model = read(to_bytes(Module([Signature(["serve"], graph, ["in"], ["out"])])))
    assert [tensor.name for tensor in model.subgraphs[0].tensors] == [b"x", b"model/dense/Relu"]


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("decode/while/decode/while/add", "decode/while/add"),
        ("PartitionedCall/while/while/while_1/while/while_1/add", "while/while_1/add"),
        ("model/while/while/add", "model/while/add"),
        ("block/block_1/block/add", "block/block_1/block/add"),
        ("while/while", "while/while"),
        ("ab/b/add", "ab/b/add"),
    ],
)
def test_names_leave_out_scopes_behind_themselves(name: str, short: str):
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2,), "x")
    graph.outputs = [Builder(graph.ops, name).relu(x)]
    model = read(to_bytes(Module([Signature(["serve"], graph, ["in"], ["out"])])))
    assert [tensor.name.decode() for tensor in model.subgraphs[0].tensors] == ["x", short]


def test_long_names_take_no_longer_than_they_are_long():
    graph = Graph("main")
    x = graph.add_input(types.FLOAT32, (2,), "x")
    graph.outputs = [Builder(graph.ops, "/".join([*(str(place) for place in range(20_000)), "0", "add"])).relu(x)]
    start = time.process_time()
    to_bytes(Module([Signature(["serve"], graph, ["in"], ["out"])]))
    assert time.process_time() - start < 1
