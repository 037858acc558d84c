"""Signatures, and files without any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ai_edge_litert import schema_py_generated as schema

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Signature
from fuseconv.load.tflite.reader import module_of_bytes
from fuseconv.write.flatbuffer_export import to_bytes
from tests.load.tflite.files import changed, changed_dense
from tests.tfl.interpret import module_of


def read(data: bytes) -> list[Signature]:
    return module_of_bytes(data, "it").signatures


def two() -> Module:
    first = module_of(lambda tfl, x, y: [tfl.add(x, y), tfl.sub(x, y)], *[(types.FLOAT32, (2,))] * 2)
    second = module_of(lambda tfl, x: tfl.neg(x), (types.FLOAT32, (2,)))
    second.signatures[0].graph.name = "second"
    second.signatures[0].names = ["b", "c"]
    return Module([*first.signatures, *second.signatures])


def test_names_in_the_order_of_the_ends():
    first, second = read(to_bytes(two()))
    assert (first.names, first.inputs, first.outputs) == (["serve"], ["x0", "x1"], ["y0", "y1"])
    assert (second.names, second.inputs) == (["b", "c"], ["x0"])


def test_a_signature_may_list_its_ends_in_another_order():
    def change(model: Any) -> None:
        signature = model.signatureDefs[0]
        signature.inputs, signature.outputs = signature.inputs[::-1], signature.outputs[::-1]

    first, _ = read(changed(to_bytes(two()), change))
    assert (first.inputs, first.outputs) == (["x0", "x1"], ["y0", "y1"])


def test_two_signatures_of_a_subgraph_with_names_of_their_own():
    def change(model: Any) -> None:
        model.signatureDefs[2].inputs[0].name = b"other"

    data = changed(to_bytes(two()), change)
    _, second, third = read(data)
    assert [(each.names, each.inputs) for each in (second, third)] == [(["b"], ["x0"]), (["c"], ["other"])]
    assert second.graph is third.graph
    again = module_of_bytes(to_bytes(module_of_bytes(data, "it")), "it")
    assert [each.names for each in again.signatures] == [["serve"], ["b"], ["c"]]


def test_a_file_without_signatures():
    def change(model: Any) -> None:
        model.signatureDefs = None

    data = changed(to_bytes(two()), change)
    first, second = read(data)
    assert (first.names, first.inputs, first.outputs) == ([], ["x0", "x1"], ["op", "op;1"])
    assert second.names == [] and len(second.outputs) == 1
    model = schema.ModelT.InitFromPackedBuf(to_bytes(module_of_bytes(data, "it")), 0)
    assert not model.signatureDefs and len(model.subgraphs) == 2


def test_the_first_subgraph_stays_the_first():
    def change(model: Any) -> None:
        model.signatureDefs = model.signatureDefs[1:]

    assert [each.names for each in read(changed(to_bytes(two()), change))] == [[], ["b", "c"]]


def _weights(model: Any) -> None:
    model.signatureDefs[0].inputs[0].tensorIndex = 1


def _inner(model: Any) -> None:
    model.signatureDefs[0].inputs[0].tensorIndex = 3


def _nothing(model: Any) -> None:
    model.signatureDefs[0].outputs[0].tensorIndex = 99


def _fewer(model: Any) -> None:
    model.signatureDefs[0].inputs = []


def _left_out(model: Any) -> None:
    model.signatureDefs[0].outputs = []


def _elsewhere(model: Any) -> None:
    model.signatureDefs[0].subgraphIndex = 5


@pytest.mark.parametrize(
    ("change", "match"),
    [(_fewer, "has other inputs"), (_left_out, "has other outputs"), (_elsewhere, "subgraph that is not there"),
     (_weights, "damaged .* tensor 1 among its inputs"), (_inner, "damaged .* tensor 3 among its inputs"),
     (_nothing, "damaged .* tensor 99 among its outputs")],
)  # fmt: skip
def test_what_is_refused(change: Callable[[Any], None], match: str) -> None:
    with pytest.raises(InputError, match=match):
        read(changed_dense(change))
