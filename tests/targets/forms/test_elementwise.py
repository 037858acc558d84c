"""Forms of elementwise ops, against LiteRT's own."""

from __future__ import annotations

import pytest

from tests.targets.forms.parity import forms_of, target_of, without

_X = "float32[3,5]"


@pytest.mark.parametrize("op, forms", [
    ("RELU_0_TO_1(%0)", ["MINIMUM", "MAXIMUM"]), ("RELU_N1_TO_1(%0)", ["MINIMUM", "MAXIMUM"]),
    ("SIGN(%0)", ["GREATER", "CAST", "LESS", "CAST", "SUB"]), ("POW(%0, float32[] 3.0)", ["MUL", "MUL"]),
    ("POW(%0, float32[] 2.0)", ["MUL"]), ("POW(%0, float32[] 4.0)", ["MUL", "MUL"]),
    ("GELU(%0) {'approximate': True}", ["MUL", "MUL", "MUL", "ADD", "MUL", "TANH", "MUL", "ADD", "MUL"]),
])  # fmt: skip
def test_on_micro(op: str, forms: list[str]) -> None:
    assert forms_of(target_of("micro"), _X, f"{_X} = tfl.{op}") == forms


def test_gelu_is_exact_but_for_rounding() -> None:
    found = forms_of(target_of("micro"), "float32[50,20]", "float32[50,20] = tfl.GELU(%0)")
    assert found[:2] == ["MUL", "MINIMUM"] and found.count("TANH") == 1 and len(found) == 19


@pytest.mark.parametrize("op, forms", [
    ("SQUARE(%0)", ["MUL"]), ("NEG(%0)", ["MUL"]), ("SQUARED_DIFFERENCE(%0, float32[] 0.5)", ["SUB", "MUL"]),
    ("HARD_SWISH(%0)", ["ADD", "MUL", "MUL"]), ("LEAKY_RELU(%0) {'alpha': 0.25}", ["MUL", "MAXIMUM"]),
    ("LEAKY_RELU(%0) {'alpha': 1.5}", ["MUL", "MINIMUM"]), ("LEAKY_RELU(%0)", ["RELU"]),
    ("LEAKY_RELU(%0) {'alpha': -0.5}", ["MUL", "MAXIMUM"]), ("RELU6(%0)", ["MINIMUM", "MAXIMUM"]),
    ("SUB(%0, float32[] 0.5)", ["ADD"]), ("SUB(float32[5] [1.0, -2.0, 3.0, 4.0, 5.0], %0)", ["MUL", "ADD"]),
    ("SUB(%0, float32[] 0.5) {'fused_activation_function': 'RELU6'}", ["ADD"]),
    ("ELU(%0)", ["MINIMUM", "MUL", "TANH", "RELU", "MUL", "SUB", "DIV", "ADD"]),
])  # fmt: skip
def test_without_it(op: str, forms: list[str]) -> None:
    assert forms_of(without(op.partition("(")[0]), _X, f"{_X} = tfl.{op}") == forms


def test_roots() -> None:
    assert forms_of(without("RSQRT"), _X, f"{_X} = tfl.RSQRT(%0)", 0.5, 4) == ["SQRT", "DIV"]
    assert forms_of(without("POW"), _X, f"{_X} = tfl.POW(%0, float32[] 0.5)", 0.5, 4) == ["SQRT"]
    assert forms_of(without("POW"), _X, f"{_X} = tfl.POW(%0, float32[] -0.5)", 0.5, 4) == ["RSQRT"]


def test_numbers_from_0_to_1_by_two_others() -> None:
    assert forms_of(target_of("coreml"), _X, f"{_X} = tfl.RELU_0_TO_1(%0)") == ["RELU", "RELU_N1_TO_1"]


@pytest.mark.parametrize("low, high", [(-1e-4, 1e-4), (-120, 1)])
def test_elu_is_as_exact_near_zero_and_far_below(low: float, high: float) -> None:
    assert "TANH" in forms_of(without("ELU"), "float32[50,20]", "float32[50,20] = tfl.ELU(%0)", low, high)


def test_a_softmax_with_a_factor() -> None:
    found = forms_of(target_of("gpu"), _X, f"{_X} = tfl.SOFTMAX(%0) {{'beta': 0.5}}")
    assert found == ["MUL", "SOFTMAX"]


@pytest.mark.parametrize("operands, op, forms", [
    ("int32[7]", "bool[7] = tfl.CAST(%0)", ["CAST", "NOT_EQUAL"]),
    ("bool[7]", "int32[7] = tfl.CAST(%0)", ["CAST", "CAST"]),
])  # fmt: skip
def test_casts_on_a_gpu(operands: str, op: str, forms: list[str]) -> None:
    assert forms_of(target_of("gpu"), operands, op, -2, 2) == forms


@pytest.mark.parametrize("operands, op, forms", [
    ("bool[2,3] float32[2,3] float32[2,3]", "float32[2,3] = tfl.SELECT_V2(%0, %1, %2)",
     ["RESHAPE", "RESHAPE", "RESHAPE", "SELECT_V2", "RESHAPE"]),
    ("bool[2,1] float32[2,3]", "float32[2,3] = tfl.SELECT_V2(%0, %1, float32[] 0.5)",
     ["RESHAPE", "RESHAPE", "SELECT_V2", "RESHAPE"]),
    ("bool[1,1] float32[1,1]", "float32[1,1] = tfl.SELECT_V2(%0, %1, float32[] 0.5)",
     ["RESHAPE", "RESHAPE", "SELECT_V2", "RESHAPE"]),
    ("bool[4,2,3] float32[3]", "float32[4,2,3] = tfl.SELECT_V2(%0, %1, float32[3] [1, 2, 3])",
     ["RESHAPE", "RESHAPE", "RESHAPE", "TILE", "SELECT_V2", "RESHAPE"]),
    ("bool[2,3] float32[4,2,3]", "float32[4,2,3] = tfl.SELECT_V2(%0, %1, float32[] 0.5)",
     ["RESHAPE", "RESHAPE", "SELECT_V2", "RESHAPE"]),
    ("bool[2,2]", "float32[2,2] = tfl.SELECT_V2(%0, float32[2,2] [1, 2, 3, 4], float32[] 0.5)",
     ["RESHAPE", "SELECT_V2", "RESHAPE"]),
])  # fmt: skip
def test_selections_on_a_gpu(operands: str, op: str, forms: list[str]) -> None:
    assert forms_of(target_of("gpu"), operands, op) == forms


def test_selections_on_micro() -> None:
    op = "float32[2,3] = tfl.SELECT(%0, %1, %2)"
    assert forms_of(target_of("micro"), "bool[2] float32[2,3] float32[2,3]", op) == ["RESHAPE", "SELECT_V2"]
    op = "int32[2,3] = tfl.SELECT_V2(%0, %1, int32[] 5)"
    found = forms_of(target_of("micro"), "bool[2,1] int32[2,3]", op)
    assert found == ["LOGICAL_NOT", "CAST", "CAST", "MUL", "MUL", "ADD"]
