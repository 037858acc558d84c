"""Constants of element-wise ops are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_arithmetic_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: int32[*] = tf.FloorDiv(int32[2] [7, -7], int32[] 2)
      %b: int32[*] = tf.FloorMod(int32[2] [7, -7], int32[] 2)
      %c: float32[*] = tf.Maximum(float32[2] [1.0, 2.0], float32[] 1.5)
      %d: bool[*] = tf.LogicalNot(bool[2] [True, False])
      %e: int32[*] = tf.Cast(float32[2] [1.5, -1.5])
      return %a, %b, %c, %d, %e
    }
    """, """
    main {
      return int32[2] [3, -4], int32[2] [1, 1], float32[2] [1.5, 2.0], bool[2] [False, True], int32[2] [1, -1]
    }
    """)
