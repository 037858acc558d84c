"""Nodes by name, and references to their outputs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from fuseconv.errors import InputError
from fuseconv.load.node_table import Nodes, function_ref, graph_ref


def node(name: str, op: str = "Identity", *refs: str) -> SimpleNamespace:
    return SimpleNamespace(name=name, op=op, input=list(refs))


def test_data_and_control_inputs_are_told_apart() -> None:
    nodes = Nodes([node("x", "Placeholder"), node("y", "Add", "x", "x:0", "^z"), node("z", "NoOp")])
    assert "y" in nodes and "w" not in nodes
    assert nodes.op("y") == "Add"
    assert nodes.inputs("y") == (["x", "x:0"], ["z"])


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="two nodes"):
        Nodes([node("x"), node("x")])


def test_references() -> None:
    assert graph_ref("x") == ("x", "", 0)
    assert graph_ref("x:2") == ("x", "", 2)
    assert function_ref("x") == ("x", "", 0)
    assert function_ref("x:out:3") == ("x", "out", 3)
    with pytest.raises(InputError, match="'x:out' is not the name of a tensor"):
        graph_ref("x:out")
