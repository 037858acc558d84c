"""Outputs are tensors of their own."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_outputs_are_copied_where_they_are_something_else_too() -> None:
    check_pass("legalize-outputs", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.EXP(%x)
      return %y, %y, %x, float32[2] [1.0, 2.0]
    }
    """, """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.EXP(%x)
      %y2: float32[2,3] = tfl.SLICE(%y, int32[2] [0, 0], int32[2] [-1, -1])
      %x2: float32[2,3] = tfl.SLICE(%x, int32[2] [0, 0], int32[2] [-1, -1])
      %constant2: float32[2] = tfl.SLICE(float32[2] [1.0, 2.0], int32[1] [0], int32[1] [-1])
      return %y, %y2, %x2, %constant2
    }
    """)


def test_an_output_of_its_own() -> None:
    check_pass("legalize-outputs", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.EXP(%x)
      return %y
    }
    """)


def test_a_tensor_of_more_dimensions_than_slice_takes_is_copied_flat() -> None:
    check_pass("legalize-outputs", """
    main {
      input %x: float32[n,2,2,2,2,2]
      return %x
    }
    """, """
    main {
      input %x: float32[n,2,2,2,2,2]
      %f: float32[32*n] = tfl.RESHAPE(%x, int32[1] [-1])
      %s: float32[32*n] = tfl.SLICE(%f, int32[1] [0], int32[1] [-1])
      %y: float32[n,2,2,2,2,2] = tfl.RESHAPE(%s, int32[6] [-1, 2, 2, 2, 2, 2])
      return %y
    }
    """)
