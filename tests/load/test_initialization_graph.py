"""Restore graphs that call functions."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.load import protos
from fuseconv.load.initialization_graph import Effects, Scope
from fuseconv.load.node_table import Nodes

AttrValue = protos.classes["AttrValue"]


def node(name: str, op: str, *inputs: str, f: str = "") -> Any:
    return protos.classes["NodeDef"](
        name=name, op=op, input=inputs, attr={"f": AttrValue(func={"name": f})} if f else {}
    )


def function(name: str, nodes: list[Any], arguments: list[str], returns: dict[str, str]) -> Any:
    proto = protos.classes["FunctionDef"](node_def=nodes, ret=returns)
    proto.signature.name = name
    for arg in arguments:
        proto.signature.input_arg.add(name=arg)
    for arg in returns:
        proto.signature.output_arg.add(name=arg)
    return proto


def writes(nodes: list[Any], library: list[Any], root: str) -> list[tuple[str, str, int]]:
    """(variable, node that makes the value, its output) of each assignment."""
    effects = Effects({f.signature.name: f for f in library})
    found = []
    for write in effects.of(Scope(Nodes(nodes)), root):
        handle, value = effects.operand(write, 0), effects.operand(write, 1)
        found.append((handle.node if handle else "", value.node if value else "", value.index if value else 0))
    return sorted(found)


def test_groups_and_identities() -> None:
    nodes = [
        node("v", "VariableV2"), node("w", "VariableV2"), node("r", "RestoreV2"),
        node("i", "Identity", "r:1"), node("set_v", "Assign", "v", "r"), node("set_w", "Assign", "w", "i"),
        node("unrelated", "Assign", "w", "r"), node("all", "NoOp", "^set_v", "^set_w"), node("end", "Identity", "all"),
    ]  # fmt: skip
    assert writes(nodes, [], "end") == [("v", "r", 0), ("w", "r", 1)]


def test_through_nested_functions() -> None:
    """The handle goes in, the value comes out of a call within a call."""
    restore = function("restore", [node("r", "RestoreV2")], [], {"a": "r:tensors:0", "output": "r:tensors:4"})
    inner = function(
        "inner",
        [
            node("got", "PartitionedCall", f="restore"),
            node("direct", "restore"),
            node("set", "AssignVariableOp", "h", "got:output:1"),
            node("again", "AssignVariableOp", "h", "direct:a:0"),
        ],
        ["unused", "h"],
        {},
    )
    outer = function("outer", [node("c", "StatefulPartitionedCall", "h", "h", f="inner")], ["h"], {})
    nodes = [node("v", "VarHandleOp"), node("root", "StatefulPartitionedCall", "v", f="outer")]
    assert writes(nodes, [restore, inner, outer], "root") == [("v", "r", 0), ("v", "r", 4)]


def test_a_placeholder_is_made_by_itself() -> None:
    nodes = [node("v", "VarHandleOp"), node("p", "Placeholder"), node("set", "AssignVariableOp", "v", "p")]
    assert writes(nodes, [], "set") == [("v", "p", 0)]


def test_hostile_graphs() -> None:
    endless = function("f", [node("c", "f"), node("d", "f")], [], {"out": "c:out:0"})
    with pytest.raises(InputError, match=r"without end"):
        writes([node("root", "f")], [endless], "root")
    circle = [node("a", "Identity", "b"), node("b", "Identity", "a"), node("set", "Assign", "a", "b")]
    with pytest.raises(InputError, match=r"cycle"):
        writes(circle, [], "set")
    with pytest.raises(InputError, match=r"'nowhere'"):
        writes([], [], "nowhere")
    with pytest.raises(InputError, match=r"'set'"):
        writes([node("set", "Assign")], [], "set")
