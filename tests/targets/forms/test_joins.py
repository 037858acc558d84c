"""Forms of joins and splits, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from tests.targets.forms.parity import forms_of, target_of, without

_MANY = " ".join(["float32[1,2]"] * 23)
_ALL = ", ".join(f"%{index}" for index in range(23))


def test_unpack() -> None:
    op = "float32[2,4], float32[2,4], float32[2,4] = tfl.UNPACK(%0) {'axis': 1}"
    assert forms_of(target_of("gpu"), "float32[2,3,4]", op) == ["SPLIT", "RESHAPE", "RESHAPE", "RESHAPE"]


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
