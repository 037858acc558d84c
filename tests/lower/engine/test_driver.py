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
