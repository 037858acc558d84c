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


def test_a_constant_condition_that_is_the_same_everywhere_chooses_an_operand() -> None:
    check_pass("propagate-splats", """
    main {
      input %x: float32[n,2]
      input %y: float32[n,2]
      input %row: float32[2]
      %a: float32[n,2] = tf.SelectV2(bool[2] [True, True], %x, %y)
      %b: float32[n,2] = tf.SelectV2(bool[2] [False, False], %a, %y)
      %c: float32[n,2] = tf.SelectV2(bool[2] [True, False], %a, %b)
      %d: float32[n,2] = tf.SelectV2(bool[2] [True, True], %row, %c)
      return %d
    }
    """, """
    main {
      input %x: float32[n,2]
      input %y: float32[n,2]
      input %row: float32[2]
      %c: float32[n,2] = tf.SelectV2(bool[2] [True, False], %x, %y)
      %d: float32[n,2] = tf.SelectV2(bool[2] [True, True], %row, %c)
      return %d
    }
    """)
