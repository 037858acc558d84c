"""Constants of reductions are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_reductions_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.Sum(float32[2,2] [[1.0, 2.0], [3.0, 4.0]], int32[] 1)
      %b: int32[*] = tf.Prod(int32[3] [2, 3, 4], int32[1] [0]) {'keep_dims': True}
      %c: bool[*] = tf.Any(bool[2] [True, False], int32[] 0)
      %d: int32[*] = tf.Cumsum(int32[3] [1, 2, 3], int32[] 0)
      return %a, %b, %c, %d
    }
    """, """
    main {
      return float32[2] [3.0, 7.0], int32[1] [24], bool[] True, int32[3] [1, 3, 6]
    }
    """)
