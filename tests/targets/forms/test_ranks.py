"""Operands of as many dimensions as delegates take them for, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from tests.targets.forms.parity import forms_of, target_of

_FOUR = "float32[4,3] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]"


@pytest.mark.parametrize("operands, op, forms", [
    ("float32[4,3]", f"float32[4,3] = tfl.ADD(%0, {_FOUR})", ["RESHAPE", "ADD", "RESHAPE"]),
    ("float32[4,3]", f"bool[4,3] = tfl.GREATER(%0, {_FOUR})", ["RESHAPE", "GREATER", "RESHAPE"]),
    ("float32[3]", "float32[3] = tfl.SUB(float32[3] [1, 2, 3], %0)", ["RESHAPE", "SUB", "RESHAPE"]),
    ("float32[2,3]", "float32[2,3] = tfl.MUL(%0, float32[2,1] [1, 2]) {'fused_activation_function': 'RELU'}",
     ["RESHAPE", "MUL", "RESHAPE"]),
    ("float32[4,2,3,1]", "float32[4,2,3,1] = tfl.ADD(%0, float32[4,1,3,1] [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])",
     ["RESHAPE", "ADD", "RESHAPE"]),
    ("float32[2,3,1,2]", "float32[2,3,1,2] = tfl.MUL(float32[2,1,1,1] [1, 2], %0)", ["RESHAPE", "MUL", "RESHAPE"]),
    ("float32[2,4,3] float32[3]", "float32[2,4,3] = tfl.SUB(%0, %1)", ["RESHAPE", "SUB"]),
    ("float32[4,3] float32[2,4,3]", "float32[2,4,3] = tfl.DIV(%0, %1)", ["RESHAPE", "DIV"]),
    ("float32[2,3]", "float32[2,5] = tfl.CONCATENATION(%0, float32[2,2] [1, 2, 3, 4]) {'axis': -1}",
     ["RESHAPE", "CONCATENATION", "RESHAPE"]),
    ("float32[3]", "float32[2,3] = tfl.PACK(%0, float32[3] [1, 2, 3]) {'axis': 0, 'values_count': 2}",
     ["RESHAPE", "RESHAPE", "CONCATENATION", "RESHAPE"]),
    ("float32[2,5,3]", "float32[2,3,3] = tfl.STRIDED_SLICE(%0, int32[3] [0, 0, 0], int32[3] [2, 5, 3], "
     "int32[3] [1, 2, 1])", ["RESHAPE", "STRIDED_SLICE", "RESHAPE"]),
    ("float32[2,5,3]", "float32[2,7,3] = tfl.PAD(%0, int32[3,2] [0, 0, 1, 1, 0, 0])", ["RESHAPE", "PAD", "RESHAPE"]),
    ("float32[2,3] float32[3]", "float32[2,3] = tfl.PRELU(%0, %1)", ["RELU", "MINIMUM", "RESHAPE", "MUL", "ADD"]),
])  # fmt: skip
def test_on_gpus(operands: str, op: str, forms: list[str]) -> None:
    assert forms_of(target_of("gpu"), operands, op, 0.5, 4) == forms
