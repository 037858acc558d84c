"""Windows that are joined element by element: how many, and by which functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Value
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var
from fuseconv.load.stablehlo.ops.folds import Windows, folded, parts
from fuseconv.load.stablehlo.scope import RefusedError, Scope

_SCALAR = TensorType(types.FLOAT32, ())


def scope(functions: dict[str, Any]) -> tuple[Scope, Value, Value]:
    """Return a scope of these functions, with a matrix and the number that its reductions begin with."""
    graph = Graph("main")
    made = Scope(graph, SimpleNamespace(module=SimpleNamespace(functions=functions)))  # type: ignore[arg-type]
    return made, graph.add_input(types.FLOAT32, (2, 4), "x"), graph.add_input(types.FLOAT32, (), "start")


def region(name: str, callee: str = "") -> Region:
    """Return a function of two scalars: one op of both."""
    first, second = Var(_SCALAR), Var(_SCALAR)
    module: Any = SimpleNamespace(attributes=SimpleNamespace(attribute=lambda index: callee))
    op = Operation(name, 1, [first, second], [], [], module, 0, {"callee": 0})
    op.results = [Var(_SCALAR, op, 0)]
    end = Operation("return", 1, list(op.results), [], [], module, 0, {})
    made = Region()
    made.arguments, made.ops = [first, second], [op, end]
    return made


def test_the_window_along_dimensions() -> None:
    windows = Windows.whole([2, 4, 3], [1])
    assert windows.sizes == [1, 4, 1] and windows.ends == [(0, 0)] * 3
    assert [windows.touches(axis) for axis in range(3)] == [False, True, False]


@pytest.mark.parametrize("change", [
    {"sizes": [2]}, {"strides": [2]}, {"spread": [2]}, {"ends": [(0, 1)]}, {"ends": [(1, 0)]},
], ids=str)  # fmt: skip
def test_what_changes_a_dimension(change: dict[str, list]) -> None:
    assert Windows.whole([3], [])._replace(**change).touches(0)


def test_elements_are_joined_in_turn() -> None:
    tf, x, start = scope({"f": SimpleNamespace(regions=[region("power")])})
    made = folded(tf, region("call", "f"), [x], [start], (2, 4), Windows.whole([2, 4], [1]))
    assert [value.dtype for value in made] == [types.FLOAT32]
    assert [op.type for op in tf.graph.ops if op.type in ("StridedSlice", "Pow")] == ["StridedSlice"] * 4 + ["Pow"] * 4


@pytest.mark.parametrize(("body", "why"), [
    (region("call", "itself"), "is not there, or deep"), (region("call", "nothing"), "is not there, or deep"),
    (region("dot_general"), "it does dot_general to elements"),
])  # fmt: skip
def test_other_functions_are_refused(body: Region, why: str) -> None:
    tf, x, start = scope({"itself": SimpleNamespace(regions=[region("call", "itself")])})
    with pytest.raises(RefusedError, match=why):
        folded(tf, body, [x], [start], (2, 4), Windows.whole([2, 4], [1]))


def test_windows_of_many_elements_are_refused() -> None:
    tf, x, start = scope({})
    with pytest.raises(RefusedError, match="windows of 129 elements"):
        parts(tf, x, start, (2, 129), Windows.whole([2, 129], [1]))
    with pytest.raises(RefusedError, match="windows that take 2000 ops"):
        folded(tf, region("power"), [x], [start], (2, 1000), Windows.whole([2, 1000], [1]))
    with pytest.raises(RefusedError, match="windows that take 0 ops"):
        folded(tf, region("power"), [x], [start], (2, 0), Windows.whole([2, 0], [1]))
