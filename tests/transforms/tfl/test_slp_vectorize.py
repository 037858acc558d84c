"""Equal ops of all steps become one."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_one_op_for_all_steps() -> None:
    check_pass("slp-vectorize", """
    main {
      input %x: float32[2,4,3]
      %a: float32[4,3] = tfl.STRIDED_SLICE(%x, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %b: float32[4,3] = tfl.STRIDED_SLICE(%x, int32[1] [1], int32[1] [2], int32[1] [1]) {'shrink_axis_mask': 1}
      %c: float32[4,3] = tfl.EXP(%a)
      %d: float32[4,3] = tfl.EXP(%b)
      %y: float32[2,4,3] = tfl.PACK(%c, %d) {'values_count': 2, 'axis': 0}
      return %y
    }
    """, """
    main {
      input %x: float32[2,4,3]
      %y: float32[8,3] = tfl.RESHAPE(%x, int32[2] [8, 3])
      %c: float32[8,3] = tfl.EXP(%y)
      %y2: float32[2,4,3] = tfl.RESHAPE(%c, int32[3] [2, 4, 3])
      return %y2
    }
    """)


def test_steps_that_differ() -> None:
    check_pass("slp-vectorize", """
    main {
      input %x: float32[2,4,3]
      %a: float32[4,3] = tfl.STRIDED_SLICE(%x, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %b: float32[4,3] = tfl.STRIDED_SLICE(%x, int32[1] [1], int32[1] [2], int32[1] [1]) {'shrink_axis_mask': 1}
      %c: float32[4,3] = tfl.EXP(%a)
      %d: float32[4,3] = tfl.SIN(%b)
      %y: float32[2,4,3] = tfl.PACK(%c, %d) {'values_count': 2, 'axis': 0}
      return %y
    }
    """)
