"""Forms of slices and paddings, against LiteRT's own ops."""

from __future__ import annotations

import pytest

from fuseconv.targets.conditions import rank
from fuseconv.targets.target import Target, table, takes
from tests.targets.forms.parity import forms_of, target_of, without

_AROUND = ["RESHAPE", "STRIDED_SLICE", "RESHAPE"]


@pytest.mark.parametrize("operands, result, bounds", [
    ("float32[4,6]", "float32[2,3]", "int32[2] [1, 0], int32[2] [3, 6], int32[2] [1, 2]) {}"),
    ("float32[4,6]", "float32[6]", "int32[1] [-1], int32[1] [0], int32[1] [1]) {'shrink_axis_mask': 1}"),
    ("float32[4,6]", "float32[4,1,2]", "int32[3] [0, 0, 1], int32[3] [0, 0, 3], int32[3] [1, 1, 1]) "
     "{'ellipsis_mask': 1, 'new_axis_mask': 2}"),
    ("float32[2,3,4,5]", "float32[2,3,5]", "int32[3] [0, 0, 2], int32[3] [0, 0, 3], int32[3] [1, 1, 1]) "
     "{'begin_mask': 3, 'end_mask': 3, 'shrink_axis_mask': 4}"),
    ("float32[7]", "float32[2]", "int32[1] [-4], int32[1] [100], int32[1] [2]) {}"),
])  # fmt: skip
def test_strided_slices(operands: str, result: str, bounds: str) -> None:
    made = f"{result} = tfl.STRIDED_SLICE(%0, {bounds}".replace(" {}", "")
    assert forms_of(target_of("gpu"), operands, made) == _AROUND


def test_whole_dimensions_merge() -> None:
    flat = table(takes("STRIDED_SLICE PAD", rank(0, 3, 4)))
    target = Target("flat", "a test", flat, others=True)
    bounds = "int32[5] [0, 0, 0, 0, 1], int32[5] [2, 2, 3, 2, 3], int32[5] [1, 1, 1, 1, 1]"
    assert forms_of(target, "float32[2,2,3,2,4]", f"float32[2,2,3,2,2] = tfl.STRIDED_SLICE(%0, {bounds})") == _AROUND
    op = "float32[2,2,3,2,4] = tfl.PAD(%0, int32[5,2] [0, 0, 0, 0, 1, 0, 0, 0, 0, 0])"
    assert forms_of(target, "float32[2,2,2,2,4]", op) == ["RESHAPE", "PAD", "RESHAPE"]


def test_slices() -> None:
    op = "float32[2,3] = tfl.SLICE(%0, int32[2] [1, 2], int32[2] [2, -1])"
    assert forms_of(target_of("gpu"), "float32[4,5]", op) == ["RESHAPE", "SLICE", "RESHAPE"]


def test_slices_in_steps_of_one_may_be_of_either_kind() -> None:
    op = "float32[2,1,2] = tfl.STRIDED_SLICE(%0, int32[3] [0, 1, 2], int32[3] [2, 2, 4], int32[3] [1, 1, 1])"
    assert forms_of(without("STRIDED_SLICE"), "float32[2,3,4]", op) == ["RESHAPE", "SLICE", "RESHAPE"]


@pytest.mark.parametrize("operands, op", [
    ("float32[2,3]", "float32[3,6] = tfl.PAD(%0, int32[2,2] [1, 0, 1, 2])"),
    ("float32[2,3]", "float32[3,6] = tfl.PADV2(%0, int32[2,2] [1, 0, 1, 2], float32[] 1.5)"),
    ("float32[2,3]", "float32[3,5] = tfl.MIRROR_PAD(%0, int32[2,2] [1, 0, 1, 1]) {'mode': 'REFLECT'}"),
])  # fmt: skip
def test_paddings(operands: str, op: str) -> None:
    kind = op.partition("tfl.")[2].partition("(")[0]
    assert forms_of(target_of("gpu"), operands, op) == ["RESHAPE", kind, "RESHAPE"]


@pytest.mark.parametrize("operands, op", [
    ("float32[1,4,5,2]", "float32[4,3,3,2] = tfl.SPACE_TO_BATCH_ND(%0, int32[2] [2, 2], int32[2,2] [2, 0, 1, 0])"),
    ("float32[1,4,2]", "float32[2,3,2] = tfl.SPACE_TO_BATCH_ND(%0, int32[1] [2], int32[1,2] [1, 1])"),
])  # fmt: skip
def test_micro_pads_before_what_it_takes_apart(operands: str, op: str) -> None:
    assert forms_of(target_of("micro"), operands, op) == ["PAD", "SPACE_TO_BATCH_ND"]
