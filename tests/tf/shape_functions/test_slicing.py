"""Shapes of slices."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_slices() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,8,3]
      %a: float32[*] = tf.Slice(%x, int32[3] [0, 2, 0], int32[3] [-1, 4, 3])
      %b: float32[*] = tf.StridedSlice(%x, int32[2] [0, 1], int32[2] [0, 8], int32[2] [1, 3]) {'begin_mask': 1, \
'end_mask': 1}
      %c: float32[*] = tf.StridedSlice(%x, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      return %a, %b, %c
    }
    """, """
    main {
      input %x: float32[n,8,3]
      %a: float32[n,4,3] = tf.Slice(%x, int32[3] [0, 2, 0], int32[3] [-1, 4, 3])
      %b: float32[n,3,3] = tf.StridedSlice(%x, int32[2] [0, 1], int32[2] [0, 8], int32[2] [1, 3]) {'begin_mask': 1, \
'end_mask': 1}
      %c: float32[8,3] = tf.StridedSlice(%x, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      return %a, %b, %c
    }
    """)
