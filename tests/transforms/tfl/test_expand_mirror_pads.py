"""Mirrors are made of rows, which are copied at once."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

PADDED = """
    main {
      input %x: float32[2,9,8]
      %y: float32[2,13,9] = tfl.MIRROR_PAD(%x, int32[3,2] [[0, 0], [1, 3], [1, 0]]) {'mode': 'REFLECT'}
      return %y
    }
    """


def test_rows_and_columns_are_gathered() -> None:
    check_pass("expand-mirror-pads", PADDED, """
    main {
      input %x: float32[2,9,8]
      %a: float32[2,13,8] = tfl.GATHER(%x, int32[13] [1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5]) {'axis': 1}
      %y: float32[2,13,9] = tfl.GATHER(%a, int32[9] [1, 0, 1, 2, 3, 4, 5, 6, 7]) {'axis': 2}
      return %y
    }
    """)


def test_many_rows_are_joined() -> None:
    check_pass("expand-mirror-pads", """
    main {
      input %x: float32[300,2]
      %y: float32[304,2] = tfl.MIRROR_PAD(%x, int32[2,2] [[1, 3], [0, 0]]) {'mode': 'REFLECT'}
      return %y
    }
    """, """
    main {
      input %x: float32[300,2]
      %a: float32[1,2] = tfl.GATHER(%x, int32[1] [1])
      %b: float32[3,2] = tfl.GATHER(%x, int32[3] [298, 297, 296])
      %y: float32[304,2] = tfl.CONCATENATION(%a, %x, %b)
      return %y
    }
    """)


def test_the_last_rows_of_an_unknown_size() -> None:
    check_pass("expand-mirror-pads", """
    main {
      input %x: int8[2,n,8]<0.5>
      %y: int8[2,n + 3,8]<0.5> = tfl.MIRROR_PAD(%x, int32[3,2] [[0, 0], [2, 1], [0, 0]]) {'mode': 'SYMMETRIC'}
      return %y
    }
    """, """
    main {
      input %x: int8[2,n,8]<0.5>
      %a: int8[2,2,8]<0.5> = tfl.GATHER(%x, int32[2] [1, 0]) {'axis': 1}
      const %p: int32[3] = [0, -1, 0]
      const %q: int32[3] = [0, -2, 0]
      const %r: int32[3] = [1, -1, 1]
      %b: int8[2,1,8]<0.5> = tfl.STRIDED_SLICE(%x, %p, %q, %r) {'begin_mask': 5, 'end_mask': 5}
      %y: int8[2,n + 3,8]<0.5> = tfl.CONCATENATION(%a, %x, %b) {'axis': 1}
      return %y
    }
    """)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float32", "int32"),
        ("[2,9,8]", "[2,3,8]"),  # the rows are too few: the runtime says so
        ("[2,9,8]", "[2,n,8]"),  # nothing would tell that they are
        ("[2,9,8]", "[?where0,9,8]"),
        ("[2,9,8]", "[1,9,5]"),  # small
        ("[0, 0], [1, 3], [1, 0]", "[0, 0], [0, 0], [0, 0]"),
    ],
)  # fmt: skip
def test_others_stay(old: str, new: str) -> None:
    result = {"int32": "int32[2,13,9]", "[2,3,8]": "float32[2,7,9]", "[2,n,8]": "float32[2,n + 4,9]"}
    result |= {"[?where0,9,8]": "float32[?where0,13,9]", "[1,9,5]": "float32[1,13,6]"}
    text = PADDED.replace(old, new).replace("float32[2,13,9]", result.get(new, "float32[2,13,9]"))
    check_pass("expand-mirror-pads", text if "[0, 0], [0, 0]" not in text else text.replace("13,9", "9,8"))
