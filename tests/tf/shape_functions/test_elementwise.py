"""Shapes of element-wise ops."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_operands_that_broadcast() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,1,3]
      input %y: float32[2,1]
      %a: float32[*] = tf.AddV2(%x, %y)
      %b: bool[*] = tf.Less(%a, float32[] 0.5)
      %c: float32[*] = tf.SelectV2(%b, %a, %x)
      %d: float32[*] = tf.Sin(%c)
      return %d
    }
    """, """
    main {
      input %x: float32[n,1,3]
      input %y: float32[2,1]
      %a: float32[n,2,3] = tf.AddV2(%x, %y)
      %b: bool[n,2,3] = tf.Less(%a, float32[] 0.5)
      %c: float32[n,2,3] = tf.SelectV2(%b, %a, %x)
      %d: float32[n,2,3] = tf.Sin(%c)
      return %d
    }
    """)
