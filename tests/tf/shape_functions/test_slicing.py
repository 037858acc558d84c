"""Shapes of slices."""

from __future__ import annotations

from fuseconv.ir import dims
from fuseconv.ir.slice_spec import Take
from fuseconv.tf.shape_functions import slicing
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


def test_what_is_counted_from_the_end_of_a_dimension_that_is_long_enough() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2]
      %more: float32[*] = tf.ConcatV2(%x, float32[1,2] [[1.0, 2.0]], int32[] 0)
      %a: float32[*] = tf.StridedSlice(%more, int32[1] [-1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      %b: float32[*] = tf.StridedSlice(%more, int32[1] [0], int32[1] [-1], int32[1] [1]) {'begin_mask': 1}
      return %a, %b
    }
    """, """
    main {
      input %x: float32[n,2]
      %more: float32[n + 1,2] = tf.ConcatV2(%x, float32[1,2] [[1.0, 2.0]], int32[] 0)
      %a: float32[1,2] = tf.StridedSlice(%more, int32[1] [-1], int32[1] [0], int32[1] [1]) {'end_mask': 1}
      %b: float32[n,2] = tf.StridedSlice(%more, int32[1] [0], int32[1] [-1], int32[1] [1]) {'begin_mask': 1}
      return %a, %b
    }
    """)


def test_the_last_of_a_dimension_that_may_be_empty() -> None:
    size = dims.symbol("n")
    assert slicing.length(size, Take(-1, None)) not in (0, 1, size)
    assert slicing.length(size + 1, Take(-2, None)) not in (1, 2, size)
    assert slicing.length(size + 3, Take(-3, -1)) == 2
