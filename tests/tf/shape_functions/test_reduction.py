"""Shapes of reductions."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_axes_that_go_and_stay() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2,3]
      %a: float32[*] = tf.Max(%x, int32[] -1)
      %b: float32[*] = tf.Mean(%x, int32[2] [0, 1]) {'keep_dims': True}
      %c: int64[*] = tf.ArgMax(%x, int32[] 0)
      return %a, %b, %c
    }
    """, """
    main {
      input %x: float32[n,2,3]
      %a: float32[n,2] = tf.Max(%x, int32[] -1)
      %b: float32[1,1,3] = tf.Mean(%x, int32[2] [0, 1]) {'keep_dims': True}
      %c: int64[2,3] = tf.ArgMax(%x, int32[] 0)
      return %a, %b, %c
    }
    """)
