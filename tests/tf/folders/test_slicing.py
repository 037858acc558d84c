"""Constants of slices are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_slices_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: int32[*] = tf.StridedSlice(int32[4] [1, 2, 3, 4], int32[1] [-1], int32[1] [0], int32[1] [-2]) {'end_mask': \
1}
      %b: int32[*] = tf.Slice(int32[4] [1, 2, 3, 4], int32[1] [1], int32[1] [2])
      %c: int32[*] = tf.StridedSlice(int32[4] [1, 2, 3, 4], int32[1] [2], int32[1] [3], int32[1] [1]) \
{'shrink_axis_mask': 1}
      return %a, %b, %c
    }
    """, """
    main {
      return int32[2] [4, 2], int32[2] [2, 3], int32[] 3
    }
    """)


def test_slices_that_begin_where_a_number_says_are_held_within() -> None:
    check_pass("canonicalize", """
    main {
      %a: int32[4] = tf.XlaDynamicUpdateSlice(int32[4] [1, 2, 3, 4], int32[2] [8, 9], int32[1] [1])
      %b: int32[4] = tf.XlaDynamicUpdateSlice(int32[4] [1, 2, 3, 4], int32[2] [8, 9], int32[1] [3])
      %c: int32[2] = tf.XlaDynamicSlice(int32[4] [1, 2, 3, 4], int32[1] [-5], int32[1] [2])
      return %a, %b, %c
    }
    """, """
    main {
      return int32[4] [1, 8, 9, 4], int32[4] [1, 2, 8, 9], int32[2] [1, 2]
    }
    """)
