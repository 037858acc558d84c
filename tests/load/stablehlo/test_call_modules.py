"""XlaCallModule, as JAX's SavedModels hold it."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Op, Signature
from fuseconv.load.stablehlo.call_modules import import_call_modules
from tests.load.stablehlo.modules import cases


def _module(name: str, calls: int = 1, **attrs: Any) -> Module:
    graph = Graph("serving_default")
    value = graph.add_input(types.FLOAT32, (3, 5), "x")
    for index in range(calls):
        op = Op("tf.XlaCallModule", [value], {"module": cases()[name].data, "version": 10, **attrs}, f"call_{index}")
        graph.ops.append(op)
        value = op.add_result(types.FLOAT32, None)
    graph.outputs = [value]
    return Module([Signature(["serving_default"], graph, ["x"], ["y"])])


def test_each_call_has_functions_of_its_own() -> None:
    module = _module("elementwise/tanh", calls=2, platforms=[b"CPU"])
    import_call_modules(module)
    graph = module.signatures[0].graph
    assert [(op.kind, op.attrs["f"].name) for op in graph.ops] == [
        ("tf.PartitionedCall", "call_0/main"), ("tf.PartitionedCall", "call_1/main"),
    ]  # fmt: skip
    assert sorted(module.functions) == ["call_0/main", "call_1/main"]


@pytest.mark.parametrize(("attrs", "why"), [
    ({"version": 11}, "version 11"), ({"has_token_input_output": True}, "has_token_input_output=True"),
    ({"module": ""}, "damaged"), ({"module": 3}, "holds no module"), ({"function_list": ["f"]}, "function_list"),
])  # fmt: skip
def test_what_is_not_read_is_named(attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        import_call_modules(_module("elementwise/tanh", **attrs))


def test_a_call_with_other_types_is_damage() -> None:
    with pytest.raises(InputError, match="calls its module with other types than it takes"):
        import_call_modules(_module("elementwise/add"))
