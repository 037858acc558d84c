"""Slices of joins, which read what was joined."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

JOIN = """
    main {
      input %a: float32[2,n]
      input %b: float32[3,n]
      input %c: float32[4,n]
      %y: float32[9,n] = tf.ConcatV2(%a, %b, %c, int32[] 0)
"""


def test_a_slice_of_one_of_the_tensors_reads_it() -> None:
    check_pass("forward-slices", JOIN + """
      %whole: float32[3,n] = tf.StridedSlice(%y, int32[1] [2], int32[1] [5], int32[1] [1])
      %part: float32[2,n] = tf.Slice(%y, int32[2] [6, 0], int32[2] [2, -1])
      %none: float32[0,n] = tf.Slice(%y, int32[2] [9, 0], int32[2] [-1, -1])
      %last: float32[n] = tf.StridedSlice(%y, int32[1] [-1], int32[1] [0], int32[1] [1]) {'shrink_axis_mask': 1}
      return %whole, %part, %none, %last
    }
    """, JOIN + """
      %part: float32[2,n] = tf.StridedSlice(%c, int32[1] [1], int32[1] [3], int32[1] [1])
      %none: float32[0,n] = tf.StridedSlice(%a, int32[1] [0], int32[1] [0], int32[1] [1])
      %last: float32[n] = tf.StridedSlice(%c, int32[1] [3], int32[1] [4], int32[1] [1]) {'shrink_axis_mask': 1}
      return %b, %part, %none, %last
    }
    """)  # fmt: skip


def test_the_rows_of_a_matrix_are_set_one_after_the_other() -> None:
    """What a step reads of the matrix is the rows before, in one join for all of its slices, and the first matrix."""
    matrix = """
    main {
      input %x: float32[4,4]
      input %new: float32[1,4]
      %before: float32[1,4] = tf.Slice(%x, int32[2] [0, 0], int32[2] [1, 4])
      %after: float32[2,4] = tf.Slice(%x, int32[2] [2, 0], int32[2] [2, 4])
      %y: float32[4,4] = tf.ConcatV2(%before, %new, %after, int32[] 0)
    """
    check_pass("forward-slices", matrix + """
      %row: float32[1,2] = tf.Slice(%y, int32[2] [2, 0], int32[2] [1, 2])
      %square: float32[2,1] = tf.Slice(%y, int32[2] [0, 1], int32[2] [2, 1])
      %rows: float32[2,4] = tf.Slice(%y, int32[2] [0, 0], int32[2] [2, 4])
      return %row, %square, %rows
    }
    """, matrix + """
      %row: float32[1,2] = tf.StridedSlice(%x, int32[2] [2, 0], int32[2] [3, 2], int32[2] [1, 1])
      %rows: float32[2,4] = tf.ConcatV2(%before, %new, int32[] 0)
      %square: float32[2,1] = tf.StridedSlice(%rows, int32[2] [0, 1], int32[2] [0, 2], int32[2] [1, 1]) {MASKS}
      return %row, %square, %rows
    }
    """.replace("{MASKS}", "{'begin_mask': 1, 'end_mask': 1}"))  # fmt: skip


@pytest.mark.parametrize(
    "reader",
    [
        "%z: float32[9,n] = tf.Neg(%y)",
        # Parts of two tensors, at either end, steps, two different joins, and all that was joined.
        "%z: float32[3,n] = tf.Slice(%y, int32[2] [1, 0], int32[2] [3, -1])",
        "%z: float32[4,n] = tf.Slice(%y, int32[2] [0, 0], int32[2] [4, -1])",
        "%z: float32[4,n] = tf.Slice(%y, int32[2] [1, 0], int32[2] [4, -1])",
        "%z: float32[2,n] = tf.StridedSlice(%y, int32[1] [5], int32[1] [9], int32[1] [2])",
        "%z: float32[7,n] = tf.Slice(%y, int32[2] [2, 0], int32[2] [7, -1])",
        "%z: float32[9,1] = tf.Slice(%y, int32[2] [0, 0], int32[2] [9, 1])",
    ],
)
def test_a_join_that_is_needed_stays_with_all_its_readers(reader: str) -> None:
    check_pass("forward-slices", JOIN + f"""
      {reader}
      %two: float32[5,n] = tf.Slice(%y, int32[2] [0, 0], int32[2] [5, -1])
      return %z, %two
    }}
    """)  # fmt: skip


def test_a_join_of_which_all_is_read_stays() -> None:
    check_pass("forward-slices", JOIN + """
      %z: float32[9,1] = tf.Slice(%y, int32[2] [0, 0], int32[2] [9, 1])
      return %z
    }
    """)  # fmt: skip


def test_bounds_that_are_joined_are_no_elements() -> None:
    check_pass(
        "forward-slices",
        """
    main {
      input %x: int32[a,b]
      input %b: int32[1]
      %y: int32[2] = tf.ConcatV2(%b, int32[1] [1], int32[] 0)
      %w: int32[c,d] = tf.Slice(%x, %y, %y)
      return %w
    }
    """,
    )


def test_a_size_that_is_not_known_keeps_the_join() -> None:
    check_pass(
        "forward-slices",
        """
    main {
      input %a: float32[n]
      input %b: float32[3]
      %y: float32[m] = tf.ConcatV2(%b, %a, int32[] 0)
      %z: float32[2] = tf.Slice(%y, int32[1] [0], int32[1] [2])
      return %z
    }
    """,
    )
