"""Copies of floats are made by an op that XNNPACK takes."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_copies_of_floats() -> None:
    check_pass("delegate-copies", """
    main {
      input %x: float32[n,3]
      %y: float32[n,3] = tfl.SLICE(%x, int32[2] [0, 0], int32[2] [-1, -1])
      return %y
    }
    """, """
    main {
      input %x: float32[n,3]
      %y: float32[n,3] = tfl.STRIDED_SLICE(%x, int32[2] [0, 0], int32[2] [0, 0], int32[2] [1, 1]) {'begin_mask': 3, 'end_mask': 3}
      return %y
    }
    """)  # noqa: E501


def test_slices_other_types_and_constants_stay() -> None:
    check_pass("delegate-copies", """
    main {
      input %x: float32[n,3]
      input %i: int32[n,3]
      %a: float32[n,2] = tfl.SLICE(%x, int32[2] [0, 1], int32[2] [-1, -1])
      %b: float32[n,2] = tfl.SLICE(%x, int32[2] [0, 0], int32[2] [-1, 2])
      %c: int32[n,3] = tfl.SLICE(%i, int32[2] [0, 0], int32[2] [-1, -1])
      %d: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      return %a, %b, %c, %d
    }
    """)
