"""What modules say of the sizes of their arguments."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, symbol
from fuseconv.load.stablehlo.attributes import TensorType
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var, read_bytecode
from fuseconv.load.stablehlo.shape_facts import argument_shapes
from tests.load.stablehlo.modules import cases, check_case

B = symbol("b")


def _shapes(name: str) -> list[Shape | None]:
    functions = read_bytecode(cases()[name].data, name).functions
    return argument_shapes(functions["main"], functions)


def test_equal_sizes_are_one_symbol_by_its_name() -> None:
    assert _shapes("models/equal_sizes") == [(B, 3), (B, 3)]


def test_a_size_is_an_expression_of_another() -> None:
    assert _shapes("models/twice_the_size") == [(B, 3), (B * 2, 3)]


def test_sizes_that_are_known_stay() -> None:
    assert _shapes("models/composite_rms_norm") == [(3, 4), (4,)]


def test_functions_that_are_not_called_tell_nothing() -> None:
    main = read_bytecode(cases()["models/equal_sizes"].data, "m").functions["main"]
    a, b = argument_shapes(main, {})
    assert a == b == (symbol("args_0.0"), 3)


@pytest.mark.parametrize("name", ["models/equal_sizes", "models/twice_the_size"])
def test_no_shape_is_computed_where_sizes_are_equal(name: str, tmp_path: Path) -> None:
    assert sum(check_case(name, tmp_path).values()) == 2


class _Function:
    """A function of vectors of unknown sizes, whose ops are written one by one."""

    def __init__(self, arguments: int) -> None:
        self.held: list[Any] = []
        self.module: Any = SimpleNamespace(attributes=SimpleNamespace(attribute=self.held.__getitem__))
        self.region = Region([Var(TensorType(types.FLOAT32, (None,))) for _ in range(arguments)])
        self.sizes = [self.op("get_dimension_size", var, dimension=0) for var in self.region.arguments]

    def op(self, name: str, *operands: Var, **attributes: Any) -> Var:
        result = Var(TensorType(types.INT32, ()))
        places = {key: len(self.held) + index for index, key in enumerate(attributes)}
        self.held += attributes.values()
        result.op = Operation(name, 1, [*operands], [result], [], self.module, 0, places)
        self.region.ops.append(result.op)
        return result

    def claim(self, a: Var, b: Var) -> None:
        equal = self.op("compare", a, b, comparison_direction="EQ")
        self.op("custom_call", equal, call_target_name="shape_assertion")

    def shapes(self) -> list[Shape | None]:
        return argument_shapes(Operation("func", 1, [], [], [self.region], self.module, 0, {}), {})


def test_what_is_learned_late_holds_of_what_was_learned_before() -> None:
    """a = b, d = b + c, then b = 2c: a is 2c, too, and d is 3c."""
    function = _Function(4)
    a, b, c, d = function.sizes
    function.claim(a, b)
    function.claim(d, function.op("add", b, c))
    two = function.op("constant", value=np.array(2, np.int32))
    function.claim(b, function.op("multiply", c, two))
    size = symbol("args_2.0")
    assert function.shapes() == [(size * 2,), (size * 2,), (size,), (size * 3,)]


def test_a_size_is_not_made_of_itself() -> None:
    function = _Function(2)
    a, b = function.sizes
    function.claim(a, b)
    function.claim(b, function.op("add", a, b))
    assert function.shapes() == [(symbol("args_1.0"),)] * 2


def test_no_more_is_learned_than_takes_little() -> None:
    function = _Function(400)
    for a, b in itertools.pairwise(function.sizes):
        function.claim(a, b)
    assert len(set(function.shapes())) == 400 - 256
