"""Sizes are joined without PACK."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_size_and_a_number_are_joined() -> None:
    check_pass("pack-to-concat", """
    main {
      input %x: float32[n,3]
      %s: int32[2] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %sizes: int32[2] = tfl.PACK(%n, int32[] 4)
      %y: float32[n,4] = tfl.FILL(%sizes, float32[] 1.0)
      return %y
    }
    """, """
    main {
      input %x: float32[n,3]
      %s: int32[2] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %sizes: int32[1] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1])
      %sizes2: int32[2] = tfl.CONCATENATION(%sizes, int32[1] [4])
      %y: float32[n,4] = tfl.FILL(%sizes2, float32[] 1.0)
      return %y
    }
    """)


def test_a_number_that_is_fed_is_packed() -> None:
    check_pass("pack-to-concat", """
    main {
      input %x: float32[n,3]
      input %m: int32[]
      %s: int32[2] = tfl.SHAPE(%x)
      %n: int32[] = tfl.STRIDED_SLICE(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %sizes: int32[2] = tfl.PACK(%n, %m)
      %y: float32[n,4] = tfl.FILL(%sizes, float32[] 1.0)
      return %y
    }
    """)
