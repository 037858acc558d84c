"""Shapes of slices."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import dims
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.slice_spec import Take
from fuseconv.ir.types import FLOAT32, INT32
from fuseconv.tf.shape_functions import contradiction, slicing
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


def test_a_scatter_whose_operands_do_not_fit_is_told() -> None:
    def op(indices: tuple[int, ...], updates: tuple[int, ...], shape: list[int]) -> Op:
        operands = [Value(INT32, indices), Value(FLOAT32, updates), constant(np.array(shape, np.int32))]
        made = Op("tf.ScatterNd", operands)
        made.add_result(FLOAT32, None)
        return made

    assert not contradiction(op((4, 1), (4, 3), [5, 3]))
    assert "indices are of 1 dimensions, and the tensor has 0" in contradiction(op((4, 1), (4,), []))
    assert "3 and 2" in contradiction(op((4, 1), (4, 3), [5, 2]))
