"""Transposes that cancel."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_transposes_on_both_sides_cancel() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[1,2,3]
      %a: float32[1,3,2] = tfl.TRANSPOSE(%x, int32[3] [0, 2, 1])
      %b: float32[1,3,2] = tfl.EXP(%a)
      %c: float32[1,2,3] = tfl.TRANSPOSE(%b, int32[3] [0, 2, 1])
      return %c
    }
    """, """
    main {
      input %x: float32[1,2,3]
      %b: float32[1,2,3] = tfl.EXP(%x)
      return %b
    }
    """)


def test_one_transpose_has_to_be_somewhere() -> None:
    check_pass("optimize-layout", """
    main {
      input %x: float32[1,2,3]
      %a: float32[1,3,2] = tfl.TRANSPOSE(%x, int32[3] [0, 2, 1])
      %b: float32[1,3,2] = tfl.EXP(%a)
      return %b
    }
    """)
