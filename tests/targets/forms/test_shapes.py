"""Forms of shapes, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from tests.targets.forms.parity import forms_of, target_of, without


@pytest.mark.parametrize("operands, op, forms", [
    ("float32[2,3]", "float32[2,1,3] = tfl.EXPAND_DIMS(%0, int32[] 1)", ["RESHAPE"]),
    ("float32[2,1,3]", "float32[2,3] = tfl.SQUEEZE(%0) {'squeeze_dims': [1]}", ["RESHAPE"]),
    ("float32[1,1]", "float32[] = tfl.RESHAPE(%0, int32[0] [])", ["SUM"]),
    ("int32[1]", "int32[] = tfl.SQUEEZE(%0) {'squeeze_dims': [0]}", ["SUM"]),
    ("float32[3]", "float32[2,3] = tfl.BROADCAST_TO(%0, int32[2] [2, 3])", ["RESHAPE", "TILE"]),
    ("float32[]", "float32[2,3] = tfl.FILL(int32[2] [2, 3], %0)", ["RESHAPE", "TILE"]),
])  # fmt: skip
def test_on_a_gpu(operands: str, op: str, forms: list[str]) -> None:
    assert forms_of(target_of("gpu"), operands, op) == forms


@pytest.mark.parametrize("operands, op, forms", [
    ("float32[2,1]", "float32[2,3] = tfl.BROADCAST_TO(%0, int32[2] [2, 3])", ["RESHAPE", "MUL"]),
    ("int32[3]", "int32[2,3] = tfl.BROADCAST_TO(%0, int32[2] [2, 3])", ["RESHAPE", "MUL"]),
    ("bool[3]", "bool[2,3] = tfl.BROADCAST_TO(%0, int32[2] [2, 3])", ["RESHAPE", "LOGICAL_OR"]),
])  # fmt: skip
def test_without_copies(operands: str, op: str, forms: list[str]) -> None:
    assert forms_of(without("BROADCAST_TO", "TILE"), operands, op) == forms


@pytest.mark.parametrize("operands, op", [
    ("float32[2,3]", "float32[4,9] = tfl.TILE(%0, int32[2] [2, 3])"),
    ("float32[1,3]", "float32[4,3] = tfl.TILE(%0, int32[2] [4, 1])"),
    ("int32[2,1,2]", "int32[2,5,4] = tfl.TILE(%0, int32[3] [1, 5, 2])"),
])  # fmt: skip
def test_tiles(operands: str, op: str) -> None:
    assert forms_of(target_of("micro"), operands, op) == ["RESHAPE", "BROADCAST_TO", "RESHAPE"]


def test_what_is_known_is_a_constant() -> None:
    many = without("FILL", "SHAPE", "ZEROS_LIKE")
    assert forms_of(many, "float32[2]", "float32[2,3] = tfl.FILL(int32[2] [2, 3], float32[] 1.5)") == []
    assert forms_of(many, "float32[2,3]", "int32[2] = tfl.SHAPE(%0)") == []
    assert forms_of(many, "float32[2,3]", "float32[2,3] = tfl.ZEROS_LIKE(%0)") == []
