"""The elements of a sequence are found in the order of their places, whatever way each is taken."""

from __future__ import annotations

import pytest

from fuseconv.transforms.rnn.rows import has_rows, rows_of
from tests.tf.text_cases import module_of

_TAKEN: dict[str, str] = {
    "unpacked": "%a: float32[2,4]; %b: float32[2,4]; %c: float32[2,4] = tf.Unpack(%x) {'num': 3, 'axis': 1}",
    "picked": """
        %c: float32[2,4] = tf.StridedSlice(%x, int32[2] [0, 2], int32[2] [0, 3], int32[2] [1, 1])
            {'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}
        %a: float32[2,4] = tf.StridedSlice(%x, int32[2] [0, 0], int32[2] [0, 1], int32[2] [1, 1])
            {'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}
        %b: float32[2,4] = tf.StridedSlice(%x, int32[2] [0, -2], int32[2] [0, -1], int32[2] [1, 1])
            {'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}""",
    "sliced and reshaped": """
        %s: float32[2,1,4] = tf.Slice(%x, int32[3] [0, 0, 0], int32[3] [-1, 1, -1])
        %a: float32[2,4] = tf.Reshape(%s, int32[2] [2, 4])
        %t: float32[2,1,4] = tf.Slice(%x, int32[3] [0, 1, 0], int32[3] [2, 1, 4])
        %b: float32[2,4] = tf.Squeeze(%t) {'squeeze_dims': [1]}
        %u: float32[2,1,4] = tf.Slice(%x, int32[3] [0, 2, 0], int32[3] [-1, 1, -1])
        %c: float32[2,4] = tf.Reshape(%u, int32[2] [2, 4])""",
}


def _text(lines: str, returned: str = "%a, %b, %c", x: str = "float32[2,3,4]") -> str:
    joined = " ".join(lines.split()).replace(" %", "\n%").replace(",\n%", ", %").replace(";\n%", "; %")
    return f"main {{\ninput %x: {x}\n{joined}\nreturn {returned}\n}}"


@pytest.mark.parametrize("lines", _TAKEN.values(), ids=_TAKEN)
def test_all_elements_along_a_dimension(lines: str) -> None:
    graph = module_of(_text(lines))[0].signatures[0].graph
    (rows,) = rows_of(graph)
    assert rows.x is graph.inputs[0]
    assert rows.axis == 1
    assert list(rows.elements) == graph.outputs
    assert has_rows(graph)


_PICK = "tf.StridedSlice(%x, int32[1] [{}], int32[1] [{}], int32[1] [{}]) {}"
_SHRINK = "{'shrink_axis_mask': 1}"


@pytest.mark.parametrize("lines", [
    # one is not taken
    f"%a: float32[3,4] = {_PICK.format(0, 1, 1, _SHRINK)} %b: float32[3,4] = {_PICK.format(1, 2, 1, _SHRINK)}",
    # the dimension stays
    f"%a: float32[1,3,4] = {_PICK.format(0, 1, 1, '{}')} %b: float32[1,3,4] = {_PICK.format(1, 2, 1, '{}')}",
    # several at once, or every other one
    f"%a: float32[2,3,4] = {_PICK.format(0, 2, 1, '{}')} %b: float32[1,3,4] = {_PICK.format(0, 3, 2, '{}')}",
], ids=["one is left", "with the dimension", "several"])  # fmt: skip
def test_others_are_no_rows(lines: str) -> None:
    graph = module_of(_text(lines, "%a, %b", "float32[3,3,4]"))[0].signatures[0].graph
    assert not has_rows(graph)


def test_of_two_elements_no_period_can_be_told() -> None:
    lines = "%a: float32[3,4]; %b: float32[3,4] = tf.Unpack(%x) {'num': 2}"
    assert not has_rows(module_of(_text(lines, "%a, %b", "float32[2,3,4]"))[0].signatures[0].graph)
