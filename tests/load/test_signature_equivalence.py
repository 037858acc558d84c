"""Signatures that compute the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import text_format

from fuseconv.load import signature_equivalence
from fuseconv.load.node_table import Nodes
from fuseconv.load.protos import classes
from fuseconv.load.signature_equivalence import SignatureComparison


def _parse(kind: str, text: str) -> Any:
    return text_format.Parse(text, classes[kind]())


def _call(function: str) -> str:
    return f"""op: "PartitionedCall" attr {{ key: "f" value {{ func {{ name: "{function}" }} }} }}"""


def _function(name: str, node: str, attr: str = "", shape: int = 3, ret: str = "y:y:0") -> Any:
    return _parse("FunctionDef", f"""
        signature {{
          name: "{name}" input_arg {{ name: "x" type: 1 }} output_arg {{ name: "y" type: 1 }} }}
        arg_attr {{ key: 0 value {{
          attr {{ key: "_user_specified_name" value {{ s: "{name}" }} }}
          attr {{ key: "_output_shapes" value {{ list {{ shape {{ dim {{ size: {shape} }} }} }} }} }} }} }}
        node_def {{ name: "y" input: "x" {node} }} ret {{ key: "y" value: "{ret}" }} {attr}""")


MUL = 'op: "Scale" attr { key: "by" value { f: 2 } }'


def _same(
    library: list[Any], functions: str = "fg", inputs: str = "xx", edit: Callable[[Any], None] | None = None
) -> bool:
    """Compares two signatures that are a placeholder, a variable and a call each."""
    calls = [f"""
        node {{ name: "{sig}_in" op: "Placeholder" }}
        node {{ name: "{sig}" input: "{sig}_in" input: "v" input: "^start" {_call(function)} }}
        """ for sig, function in zip("ab", functions)]  # fmt: skip
    shared = ['node { name: "v" op: "VarHandleOp" }', 'node { name: "start" op: "NoOp" }']
    graph = _parse("GraphDef", "".join(calls + shared))
    if edit is not None:
        edit({node.name: node for node in graph.node})
    signatures = [
        _parse("SignatureDef", f"""
            inputs {{ key: "{key}" value {{ name: "{sig}_in:0" dtype: 1 }} }}
            outputs {{ key: "y" value {{ name: "{sig}:0" }} }}""")
        for sig, key in zip("ab", inputs)
    ]  # fmt: skip
    return SignatureComparison(Nodes(graph.node), {f.signature.name: f for f in library}).same(*signatures)


def test_one_function_under_two_names() -> None:
    assert _same([_function("f", MUL)], "ff")


def test_wrappers_that_differ_in_names_only() -> None:
    assert _same([_function("f", _call("h")), _function("g", _call("h")), _function("h", MUL)])


def test_two_traces_of_one_function() -> None:
    library = [_function("f", _call("h")), _function("g", _call("i")), _function("h", MUL), _function("i", MUL)]
    assert _same(library)
    assert _same([_function("f", 'op: "h"'), _function("g", 'op: "i"'), *library[2:]])


@pytest.mark.parametrize(
    "other",
    [
        _function("g", MUL.replace("2", "3")),
        _function("g", MUL.replace("Scale", "Shift")),
        _function("g", 'op: "Scale"'),
        _function("g", MUL, shape=4),
        _function("g", MUL, ret="x"),
        _function("g", MUL, 'attr { key: "_implements" value { s: "addons:Scale" } }'),
        _function("g", _call("h")),
    ],
)
def test_different_functions(other: Any) -> None:
    assert not _same([_function("f", MUL), other, _function("h", MUL)])


def test_different_functions_in_a_call() -> None:
    inner = [_function("h", MUL), _function("i", MUL.replace("2", "3"))]
    assert not _same([_function("f", _call("h")), _function("g", _call("i")), *inner])


def _annotated(name: str, note: str) -> Any:
    return _function(name, MUL, f'attr {{ key: "api_implements" value {{ s: "{note}" }} }}')


def test_annotations() -> None:
    assert _same([_annotated("f", "lstm_1"), _annotated("g", "lstm_1")])
    assert not _same([_annotated("f", "lstm_1"), _annotated("g", "gru_1")])


def test_different_names_of_inputs() -> None:
    assert not _same([_function("f", MUL)], "ff", "xz")


def test_recursive_functions() -> None:
    assert _same([_function("f", _call("f")), _function("g", _call("g"))])


def _reads_the_others_placeholder(nodes: Any) -> None:
    nodes["b"].input[0] = "a_in"


def _reads_another_variable(nodes: Any) -> None:
    nodes["b"].input[1] = "start"


def _runs_nothing_before(nodes: Any) -> None:
    del nodes["b"].input[2]


def _reads_another_result(nodes: Any) -> None:
    nodes["b"].input[1] = "v:1"


@pytest.mark.parametrize(
    "edit", [_reads_the_others_placeholder, _reads_another_variable, _runs_nothing_before, _reads_another_result]
)
def test_different_operands(edit: Callable[[Any], None]) -> None:
    assert not _same([_function("f", MUL)], "ff", edit=edit)


def test_comparing_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may have thousands of signatures that differ in their last node."""
    monkeypatch.setattr(signature_equivalence, "_LEAST_NODES", 3)
    monkeypatch.setattr(signature_equivalence, "_MOST_NODES", 3)
    info = _parse("SignatureDef", 'inputs { key: "x" value { name: "x" } } outputs { key: "y" value { name: "y" } }')
    graph = _parse("GraphDef", 'node { name: "x" op: "Placeholder" } node { name: "y" op: "Sin" input: "x" }')
    comparison = SignatureComparison(Nodes(graph.node), {})
    assert [comparison.same(info, info) for _ in range(3)] == [True, False, False]
