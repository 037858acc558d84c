"""Constants are returned as they are, equal ones once."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_constant_is_returned_without_a_copy() -> None:
    check_pass("return-constants", """
    main {
      input %x: float32[n,3]
      %y: float32[n,3] = tfl.EXP(%x)
      %a: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      %b: int32[] = tfl.RESHAPE(int32[] 7, int32[0] [])
      return %a, %y, %b
    }
    """, """
    main {
      input %x: float32[n,3]
      %y: float32[n,3] = tfl.EXP(%x)
      return float32[2] [1.0, 2.0], %y, int32[] 7
    }
    """)


def test_of_equal_constants_which_are_one_tensor_the_second_stays_a_copy() -> None:
    check_pass("return-constants", """
    main {
      input %x: float32[2]
      %a: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      %b: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      return %a, %b
    }
    """, """
    main {
      input %x: float32[2]
      %b: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      return float32[2] [1.0, 2.0], %b
    }
    """)


def test_parts_inputs_what_is_empty_and_what_others_read_stay() -> None:
    check_pass("return-constants", """
    main {
      input %x: float32[n]
      %a: float32[1] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [1])
      %b: float32[n] = tfl.SLICE(%x, int32[1] [0], int32[1] [-1])
      %d: float32[0,2] = tfl.SLICE(float32[0,2] [], int32[2] [0, 0], int32[2] [-1, -1])
      %e: float32[3] = tfl.RESHAPE(float32[3] [1.0, 2.0, 3.0], int32[1] [3])
      %f: float32[3] = tfl.EXP(%e)
      return %a, %b, %d, %e, %f
    }
    """)
