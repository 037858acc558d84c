"""Slices of all elements of a dimension become one UNPACK, of equal parts one SPLIT."""

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


def _parts(shape: str, *bounds: tuple[int, int]) -> str:
    """Return a graph that reads these columns of a matrix of any height, several at a time."""
    mask = "{'begin_mask': 1, 'end_mask': 1}"
    lines = [
        f"%y{i}: float32[n,{end - begin}] = tfl.STRIDED_SLICE(%x, int32[2] [0, {begin}], int32[2] [0, {end}], "
        f"int32[2] [1, 1]) {mask}\n%z{i}: float32[n,{end - begin}] = tfl.NEG(%y{i})"
        for i, (begin, end) in enumerate(bounds)
    ]
    values = ", ".join(f"%z{i}" for i in range(len(bounds)))
    return "\n".join(["main {", f"input %x: {shape}", *lines, f"return {values}", "}"])


def test_equal_parts_are_split() -> None:
    check_pass("unpack-slices", _parts("float32[n,6]", (0, 2), (4, 6), (2, 4)), """
    main {
      input %x: float32[n,6]
      %y0: float32[n,2]; %y2: float32[n,2]; %y1: float32[n,2] = tfl.SPLIT(int32[] 1, %x) {'num_splits': 3}
      %z0: float32[n,2] = tfl.NEG(%y0)
      %z1: float32[n,2] = tfl.NEG(%y1)
      %z2: float32[n,2] = tfl.NEG(%y2)
      return %z0, %z1, %z2
    }
    """)


def test_other_parts_stay() -> None:
    check_pass("unpack-slices", _parts("float32[n,6]", (0, 2), (2, 4)))  # the last is not read
    check_pass("unpack-slices", _parts("float32[n,6]", (0, 2), (2, 6)))
    check_pass("unpack-slices", _parts("float32[n,6]", (0, 3), (2, 5)))
    check_pass("unpack-slices", _parts("float32[n,10]", *((i, i + 2) for i in range(0, 10, 2))))
