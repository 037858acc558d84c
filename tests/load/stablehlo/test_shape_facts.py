"""What modules say of the sizes of their arguments."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuseconv.ir.dims import Shape, symbol
from fuseconv.load.stablehlo.bytecode import read_bytecode
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
