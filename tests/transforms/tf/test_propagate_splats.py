"""Tensors that hold one number everywhere."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_ones_are_no_factor() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      %ones: float32[n,2] = tf.OnesLike(%x)
      %y: float32[n,2] = tf.Mul(%x, %ones)
      return %y
    }
    """, """
    main {
      input %x: float32[n,2]
      %ones: float32[n,2] = tf.OnesLike(%x)
      return %x
    }
    """)


def test_ones_that_give_the_product_its_shape_stay() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      input %row: float32[2]
      %ones: float32[n,2] = tf.OnesLike(%x)
      %y: float32[n,2] = tf.Mul(%row, %ones)
      return %y
    }
    """)
