"""What comparators and reducers compute."""

from __future__ import annotations

import pytest

from fuseconv.load.stablehlo.bytecode import Operation, read_bytecode
from fuseconv.load.stablehlo.scalar_function import Key, extreme_and_index, sort_keys
from tests.load.stablehlo.modules import cases


def _op(case: str, name: str) -> Operation:
    functions = read_bytecode(cases()[case].data, "it").functions.values()
    (found,) = [op for function in functions for op in function.regions[0].ops if op.name == name]
    return found


@pytest.mark.parametrize(("case", "keys"), [
    ("sort", [Key(0, False)]), ("sort_values", [Key(0, False)]), ("sort_two_keys", [Key(0, False), Key(1, False)]),
])  # fmt: skip
def test_a_comparator_is_a_lexicographic_order(case: str, keys: list[Key]) -> None:
    op = _op(f"sorting/{case}", "sort")
    assert sort_keys(op.regions[0], len(op.operands)) == keys


def test_the_order_of_arguments_is_the_direction() -> None:
    region = _op("sorting/sort", "sort").regions[0]
    region.arguments.reverse()
    assert sort_keys(region, 1) == [Key(0, True)]


def test_a_comparator_of_another_kind_has_no_keys() -> None:
    region = _op("sorting/sort", "sort").regions[0]
    region.ops[-1].operands = [region.ops[0].results[0]]  # x == 0
    assert sort_keys(region, 1) is None


@pytest.mark.parametrize(("case", "kind"), [("argmax", "ArgMax"), ("argmin", "ArgMin"), ("argmax_int", "ArgMax")])
def test_a_reducer_keeps_the_index_of_the_extreme(case: str, kind: str) -> None:
    region = _op(f"sorting/{case}", "reduce").regions[0]
    assert extreme_and_index(region) == kind
    region.arguments[1], region.arguments[3] = region.arguments[3], region.arguments[1]
    assert extreme_and_index(region) == ""
