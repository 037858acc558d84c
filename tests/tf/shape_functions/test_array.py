"""Shapes of ops that move elements."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_moves() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2,3]
      %a: float32[*] = tf.Transpose(%x, int32[3] [2, 0, 1])
      %b: float32[*] = tf.ExpandDims(%x, int32[] -1)
      %c: float32[*] = tf.ConcatV2(%x, %x, int32[] 0)
      %d: float32[*] = tf.Reshape(%x, int32[2] [-1, 3])
      %e: float32[*] = tf.GatherV2(%x, int32[2] [0, 1], int32[] 1)
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      input %x: float32[n,2,3]
      %a: float32[3,n,2] = tf.Transpose(%x, int32[3] [2, 0, 1])
      %b: float32[n,2,3,1] = tf.ExpandDims(%x, int32[] -1)
      %c: float32[2*n,2,3] = tf.ConcatV2(%x, %x, int32[] 0)
      %d: float32[2*n,3] = tf.Reshape(%x, int32[2] [-1, 3])
      %e: float32[n,2,3] = tf.GatherV2(%x, int32[2] [0, 1], int32[] 1)
      return %a, %b, %c, %d, %e
    }
    """)
