"""What comparators and reducers compute."""

from __future__ import annotations

from typing import Any

import pytest

from fuseconv.load.stablehlo.bytecode import Operation, Var, read_bytecode
from fuseconv.load.stablehlo.scalar_function import Key, extreme_and_index, sort_keys
from tests.load.stablehlo.modules import cases, operation, region


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


def test_minus_zero_is_less_than_zero_in_the_total_order_of_many_keys() -> None:
    body = region("float32[] float32[] " * 3 + "-> bool[]")

    def put(kind: str, *operands: Var, **attributes: Any) -> Var:
        op = operation(f"{kind} -> bool[]", **attributes)
        op.operands[:] = operands
        body.ops.insert(-1, op)
        return op.results[0]

    def compare(direction: str, *operands: Var) -> Var:
        return put("compare", *operands, comparison_direction=direction, compare_type="TOTALORDER")

    *pairs, last = (body.arguments[place : place + 2] for place in (0, 2, 4))
    made = compare("LT", *last)
    for pair in reversed(pairs):
        made = put("or", compare("LT", *pair), put("and", compare("EQ", *pair), made))
    body.ops[-1].operands[:] = [made]
    assert sort_keys(body, 3) == [Key(index, False, total=True) for index in range(3)]


@pytest.mark.parametrize(("case", "kind"), [("argmax", "ArgMax"), ("argmin", "ArgMin"), ("argmax_int", "ArgMax")])
def test_a_reducer_keeps_the_index_of_the_extreme(case: str, kind: str) -> None:
    region = _op(f"sorting/{case}", "reduce").regions[0]
    assert extreme_and_index(region) == kind
    region.arguments[1], region.arguments[3] = region.arguments[3], region.arguments[1]
    assert extreme_and_index(region) == ""
