"""Shapes of random numbers."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_shape_that_is_given() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.RandomUniform(int32[2] [2, 3])
      return %a
    }
    """, """
    main {
      %a: float32[2,3] = tf.RandomUniform(int32[2] [2, 3])
      return %a
    }
    """)
