"""Integers are dequantized once for each output."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_copy_of_all_is_left_out() -> None:
    check_pass("dequantize-copied", """
    main {
      input %x: int8[n,3]<0.5>
      %a: int8[n,3]<0.5> = tfl.ABS(%x)
      %b: int8[n,3]<0.5> = tfl.SLICE(%a, int32[2] [0, 0], int32[2] [-1, -1])
      %y: float32[n,3] = tfl.DEQUANTIZE(%a)
      %z: float32[n,3] = tfl.DEQUANTIZE(%b)
      return %y, %z
    }
    """, """
    main {
      input %x: int8[n,3]<0.5>
      %a: int8[n,3]<0.5> = tfl.ABS(%x)
      %y: float32[n,3] = tfl.DEQUANTIZE(%a)
      %z: float32[n,3] = tfl.DEQUANTIZE(%a)
      return %y, %z
    }
    """)


def test_parts_and_what_is_returned_as_integers_stay() -> None:
    check_pass("dequantize-copied", """
    main {
      input %x: int8[n,3]<0.5>
      %a: int8[n,3]<0.5> = tfl.ABS(%x)
      %b: int8[n,2]<0.5> = tfl.SLICE(%a, int32[2] [0, 0], int32[2] [-1, 2])
      %c: int8[n,3]<0.5> = tfl.SLICE(%a, int32[2] [0, 0], int32[2] [-1, -1])
      %z: float32[n,2] = tfl.DEQUANTIZE(%b)
      return %a, %z, %c
    }
    """)
