"""Joins of a tensor with its own rows in reverse."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

# A reflection of two rows before, then of one behind.
_ROWS = "%a: float32[n,2,3] = tf.StridedSlice(%x, int32[3] [0, 1, 0], int32[3] [0, 3, 0], int32[3] [1, 1, 1]) {'begin_mask': 5, 'end_mask': 5}"  # noqa: E501
_TURNED = "%b: float32[n,2,3] = tf.ReverseV2(%a, int32[1] [1])"
_JOINED = "%c: float32[n,6,3] = tf.ConcatV2(%b, %x, int32[] 1)"
_BEFORE = "%c: float32[n,6,3] = tf.MirrorPad(%x, int32[3,2] [[0, 0], [2, 0], [0, 0]]) {'mode': 'REFLECT'}"


def _main(*lines: str) -> str:
    return "\n".join(["main {", "input %x: float32[n,4,3]", *lines, "return %c", "}"])


def _last(begin: int, end: int, axis: int = 1, rows: str = "n,1,3") -> list[str]:
    mask = 7 - (1 << axis)
    begins, ends = ([bound if each == axis else 0 for each in range(3)] for bound in (begin, end))
    return [
        f"%d: float32[{rows}] = tf.StridedSlice(%p, int32[3] {begins}, int32[3] {ends}, int32[3] [1, 1, 1]) "
        f"{{'begin_mask': {mask}, 'end_mask': {mask}}}",
        f"%e: float32[{rows}] = tf.ReverseV2(%d, int32[1] [{axis}])",
    ]  # fmt: skip


def test_rows_before_are_a_padding() -> None:
    check_pass("simplify-stablehlo", _main(_ROWS, _TURNED, _JOINED), _main(_ROWS, _TURNED, _BEFORE))


@pytest.mark.parametrize(("begin", "end", "mode"), [(4, 5, "REFLECT"), (5, 6, "SYMMETRIC")])
def test_rows_behind_join_a_padding_of_their_mode(begin: int, end: int, mode: str) -> None:
    padded = _BEFORE.replace("%c", "%p")
    rows = _last(begin, end)
    whole = {
        "REFLECT": "tf.MirrorPad(%x, int32[3,2] [[0, 0], [2, 1], [0, 0]]) {'mode': 'REFLECT'}",
        "SYMMETRIC": "tf.MirrorPad(%p, int32[3,2] [[0, 0], [0, 1], [0, 0]]) {'mode': 'SYMMETRIC'}",
    }
    check_pass("simplify-stablehlo", _main(padded, *rows, "%c: float32[n,7,3] = tf.ConcatV2(%p, %e, int32[] 1)"),
               _main(padded, *rows, f"%c: float32[n,7,3] = {whole[mode]}"))  # fmt: skip


def test_another_dimension_joins_a_padding() -> None:
    padded, rows = _BEFORE.replace("%c", "%p"), _last(0, 2, 2, "n,6,2")
    rows = [rows[0].replace("[0, 0, 0], int32[3] [0, 0, 2]", "[0, 0, 1], int32[3] [0, 0, 3]"), rows[1]]
    whole = "tf.MirrorPad(%x, int32[3,2] [[0, 0], [2, 0], [2, 0]]) {'mode': 'REFLECT'}"
    check_pass("simplify-stablehlo", _main(padded, *rows, "%c: float32[n,6,5] = tf.ConcatV2(%e, %p, int32[] 2)"),
               _main(padded, *rows, f"%c: float32[n,6,5] = {whole}"))  # fmt: skip


def test_rows_that_are_padding_are_mirrored_again() -> None:
    padded, rows = _BEFORE.replace("%c", "%p"), _last(1, 5, rows="n,4,3")
    again = "%c: float32[n,10,3] = tf.MirrorPad(%p, int32[3,2] [[0, 0], [0, 4], [0, 0]]) {'mode': 'REFLECT'}"
    check_pass("simplify-stablehlo", _main(padded, *rows, "%c: float32[n,10,3] = tf.ConcatV2(%p, %e, int32[] 1)"),
               _main(padded, *rows, again))  # fmt: skip


@pytest.mark.parametrize("change", [
    ("[0, 1, 0], int32[3] [0, 3, 0]", "[0, 2, 0], int32[3] [0, 4, 0]"), ("(%a, int32[1] [1])", "(%a, int32[1] [2])"),
    ("(%b, %x,", "(%a, %x,"), ("(%b, %x,", "(%b, %y,"),
], ids=str)  # fmt: skip
def test_other_rows_stay(change: tuple[str, str]) -> None:
    text = _main("%y: float32[n,4,3] = tf.Neg(%x)", _ROWS, _TURNED, _JOINED)
    assert change[0] in text
    check_pass("simplify-stablehlo", text.replace(*change))
