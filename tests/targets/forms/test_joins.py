"""Forms of joins and splits, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from tests.targets.forms.parity import forms_of, target_of, without

_MANY = " ".join(["float32[1,2]"] * 23)
_ALL = ", ".join(f"%{index}" for index in range(23))


def test_unpack() -> None:
    op = "float32[2,4], float32[2,4], float32[2,4] = tfl.UNPACK(%0) {'axis': 1}"
    assert forms_of(target_of("gpu"), "float32[2,3,4]", op) == ["SPLIT", "RESHAPE", "RESHAPE", "RESHAPE"]


@pytest.mark.parametrize(("shape", "axis", "part"), [
    ("[3,1,4]", 0, "[1,4]"), ("[1,3,4]", 1, "[1,4]"), ("[2,1,3]", 2, "[2,1]"), ("[3,1]", 0, "[1]"),
])  # fmt: skip
def test_unpack_beside_a_dimension_of_one(shape: str, axis: int, part: str) -> None:
    parts = ", ".join([f"float32{part}"] * 3)
    op = f"{parts} = tfl.UNPACK(%0) {{'axis': {axis}}}"
    assert forms_of(target_of("gpu"), f"float32{shape}", op) == ["RESHAPE", "SPLIT"]


@pytest.mark.parametrize(("part", "axis", "shape"), [
    ("[1,4]", 0, "[2,1,4]"), ("[1,4]", 1, "[1,2,4]"), ("[2,1]", -1, "[2,1,2]"), ("[1]", 0, "[2,1]"),
])  # fmt: skip
def test_pack_beside_a_dimension_of_one(part: str, axis: int, shape: str) -> None:
    op = f"float32{shape} = tfl.PACK(%0, %1) {{'axis': {axis}}}"
    assert forms_of(target_of("mediatek"), f"float32{part} float32{part}", op) == ["CONCATENATION", "RESHAPE"]


def test_unpack_of_truths() -> None:
    """LiteRT's SPLIT has no kernel for them."""
    op = "bool[2,4], bool[2,4] = tfl.UNPACK(%0) {'axis': 1}"
    assert forms_of(target_of("gpu"), "bool[2,2,4]", op) == ["SLICE", "SLICE", "RESHAPE", "RESHAPE"]


def test_pack() -> None:
    op = "float32[2,3,4] = tfl.PACK(%0, %1, %2) {'axis': -2}"
    found = forms_of(target_of("mediatek"), "float32[2,4] float32[2,4] float32[2,4]", op)
    assert found == ["RESHAPE", "RESHAPE", "RESHAPE", "CONCATENATION"]


def test_a_join_of_many() -> None:
    op = f"float32[23,2] = tfl.CONCATENATION({_ALL}) {{'axis': 0}}"
    assert forms_of(target_of("micro"), _MANY, op) == ["CONCATENATION"] * 4


@pytest.mark.parametrize("op", [
    "float32[2,2], float32[2,2], float32[2,2] = tfl.SPLIT(int32[] -1, %0) {'num_splits': 3}",
    "float32[2,1], float32[2,2], float32[2,3] = tfl.SPLIT_V(%0, int32[3] [1, 2, 3], int32[] 1)",
])  # fmt: skip
def test_splits(op: str) -> None:
    assert forms_of(without("SPLIT", "SPLIT_V"), "float32[2,6]", op) == ["SLICE"] * 3


def test_a_sum_of_three() -> None:
    op = "float32[2,3] = tfl.ADD_N(%0, %1, %2)"
    assert forms_of(target_of("gpu"), "float32[2,3] float32[2,3] float32[2,3]", op) == ["ADD", "ADD"]


def test_a_short_axis_is_reversed() -> None:
    op = "float32[2,3] = tfl.REVERSE_V2(%0, int32[1] [1])"
    assert forms_of(target_of("mediatek"), "float32[2,3]", op) == ["SPLIT", "CONCATENATION"]


def test_dimensions_are_reversed_in_turn() -> None:
    op = "float32[2,3,4] = tfl.REVERSE_V2(%0, int32[2] [-1, 1])"
    assert forms_of(target_of("qnn"), "float32[2,3,4]", op) == ["REVERSE_V2", "REVERSE_V2"]
