"""TF ops become TFLite ops by rules."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_each_op_by_its_rule() -> None:
    check_pass("lower", """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tf.Relu6(%x)
      %z: float32[2] = tf.Max(%y, int32[] -1)
      return %z
    }
    """, """
    main {
      input %x: float32[2,3]
      %y: float32[2,3] = tfl.RELU6(%x)
      %z: float32[2] = tfl.REDUCE_MAX(%y, int32[1] [1])
      return %z
    }
    """)


def test_what_has_no_elements_is_filled_with_nothing() -> None:
    check_pass("lower", """
    main {
      input %x: float32[n,0]
      %y: float32[n,0] = tf.Softmax(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[n,0]
      %s: int32[2] = tfl.SHAPE(%x)
      %y: float32[n,0] = tfl.FILL(%s, float32[] 0.0)
      return %y
    }
    """)
