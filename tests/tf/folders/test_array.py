"""Constants of ops that move elements are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_moves_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.Transpose(float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], int32[2] [1, 0])
      %b: float32[*] = tf.ConcatV2(float32[1] [1.0], float32[1] [2.0], int32[] 0)
      %c: int32[*] = tf.GatherV2(int32[3] [7, 8, 9], int32[2] [2, 0], int32[] 0)
      %d: int32[*] = tf.Tile(int32[2] [1, 2], int32[1] [2])
      %e: bool[*] = tf.ConjugateTranspose(bool[2] [True, False], int32[1] [0])
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      return float32[3,2] [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], float32[2] [1.0, 2.0], int32[2] [9, 7], int32[4] [1, \
2, 1, 2], bool[2] [True, False]
    }
    """)
