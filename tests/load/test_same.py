"""Signatures that compute the same."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import FuncRef, Graph, Module, Op, Signature, constant
from fuseconv.load.same import drop_unreachable, merge_signatures


def wrapper(name: str, inner: str) -> Graph:
    graph = Graph(name)
    x = graph.add_input(types.FLOAT32, (symbol(f"{name}.0"), 3), "x")
    call = Op("tf.PartitionedCall", [x], {"f": FuncRef(inner)}, f"{name}_call")
    call.add_result(types.FLOAT32, None)
    graph.ops = [call]
    graph.outputs = [call.result]
    return graph


def body(name: str, weight: float = 2.0, kind: str = "tf.Mul", **attrs: object) -> Graph:
    graph = Graph(name)
    x = graph.add_input(types.FLOAT32, None, "x")
    op = Op(kind, [x, constant(np.array([weight], np.float32))], attrs, "op")
    op.add_result(types.FLOAT32, None)
    graph.ops = [op]
    graph.outputs = [op.result]
    return graph


def module(left: Graph, right: Graph, inputs: tuple[str, str] = ("x", "x")) -> Module:
    functions = {g.name: g for g in (wrapper("wrap_a", left.name), wrapper("wrap_b", right.name), left, right)}
    signatures = [
        Signature([name], wrapper(name, inner), [key], ["y"])
        for name, inner, key in zip("ab", ("wrap_a", "wrap_b"), inputs)
    ]
    return Module(signatures, functions)


@pytest.mark.parametrize("names", [("f", "f"), ("f", "g")])
def test_same_function_through_two_wrappers(names: tuple[str, str]) -> None:
    both = module(body(names[0]), body(names[1]))
    assert merge_signatures(both)
    assert [signature.names for signature in both.signatures] == [["a", "b"]]
    drop_unreachable(both)
    assert both.functions.keys() == {"wrap_a", "f"}


@pytest.mark.parametrize(
    "right",
    [body("g", weight=3), body("g", kind="tf.Add"), body("g", axis=1), body("g", table=np.zeros(2))],
)
def test_different_functions(right: Graph) -> None:
    both = module(body("f"), right)
    assert not merge_signatures(both)
    assert len(both.signatures) == 2
    drop_unreachable(both)
    assert len(both.functions) == 4


def test_different_names() -> None:
    assert not merge_signatures(module(body("f"), body("g"), ("x", "z")))


def test_recursive_functions() -> None:
    assert merge_signatures(module(wrapper("f", "f"), wrapper("g", "g")))


def test_annotations_are_no_functions() -> None:
    note = FuncRef("my_op", {"n": 1})
    assert merge_signatures(module(body("f", _implements=note), body("g", _implements=note)))
    other = FuncRef("my_op", {"n": 2})
    both = module(body("f", _implements=note), body("g", _implements=other))
    assert not merge_signatures(both)
    drop_unreachable(both)
