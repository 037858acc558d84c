"""Slices of all elements of a dimension become one UNPACK."""

from __future__ import annotations

from tests.check_pass import check_pass

_PICK = "{'begin_mask': 1, 'end_mask': 1, 'shrink_axis_mask': 2}"


def _columns(shape: str, result: str, places: list[int]) -> str:
    """Return a graph that reads these columns of a matrix."""
    lines = [
        f"%y{i}: {result} = tfl.STRIDED_SLICE(%x, int32[2] [0, {i}], int32[2] [0, {i + 1}], int32[2] [1, 1]) {_PICK}"
        for i in places
    ]
    values = ", ".join(f"%z{i}" for i in places)
    negated = [f"%z{i}: {result} = tfl.NEG(%y{i})" for i in places]
    return "\n".join(["main {", f"input %x: {shape}", *lines, *negated, f"return {values}", "}"])


def test_most_columns_are_unpacked() -> None:
    check_pass("unpack-slices", _columns("float32[5,3]", "float32[5]", [0, 2]), """
    main {
      input %x: float32[5,3]
      %y0: float32[5]; %y1: float32[5]; %y2: float32[5] = tfl.UNPACK(%x) {'num': 3, 'axis': 1}
      %z0: float32[5] = tfl.NEG(%y0)
      %z2: float32[5] = tfl.NEG(%y2)
      return %z0, %z2
    }
    """)  # fmt: skip


def test_few_columns_stay() -> None:
    check_pass("unpack-slices", _columns("float32[5,4]", "float32[5]", [0, 2]))
    check_pass("unpack-slices", _columns("float32[5,1]", "float32[5]", [0]))


def test_data_that_may_be_empty_stays() -> None:
    check_pass("unpack-slices", _columns("float32[n,3]", "float32[n]", [0, 1, 2]))
    check_pass("unpack-slices", _columns("float32[0,3]", "float32[0]", [0, 1, 2]))


def test_what_may_be_sizes_stays() -> None:
    check_pass("unpack-slices", _columns("int32[5,3]", "int32[5]", [0, 1, 2]))


def test_rows_and_columns_are_apart() -> None:
    row = "%r: float32[3] = tfl.STRIDED_SLICE(%x, int32[2] [1, 0], int32[2] [2, 0], int32[2] [1, 1]) "
    mask = "{'begin_mask': 2, 'end_mask': 2, 'shrink_axis_mask': 1}"
    text = _columns("float32[5,3]", "float32[5]", [1]).replace("return ", f"{row}{mask}\nreturn %r, ")
    check_pass("unpack-slices", text)
