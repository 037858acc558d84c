"""Shapes of ragged tensors' parts."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_rows_that_are_gathered() -> None:
    check_pass("canonicalize", """
    main {
      input %splits: int64[n]
      input %x: float32[m,2]
      input %i: int32[5]
      %a: int64[*]; %b: float32[*] = tf.RaggedGather(%splits, %x, %i) {'OUTPUT_RAGGED_RANK': 1}
      return %a, %b
    }
    """, """
    main {
      input %splits: int64[n]
      input %x: float32[m,2]
      input %i: int32[5]
      %a: int64[6]; %b: float32[?ragged0,2] = tf.RaggedGather(%splits, %x, %i) {'OUTPUT_RAGGED_RANK': 1}
      return %a, %b
    }
    """)
