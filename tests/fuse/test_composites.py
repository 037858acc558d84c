"""Calls of annotated functions become fused ops."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_composite_becomes_the_op_of_its_name() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Swoosh', 'attrs': {'tfl_fusable_op': True, 'beta': 2.0}}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """, """
    main {
      input %x: float32[2]
      %y: float32[2] = tfl.CUSTOM(%x) {'custom_code': 'Swoosh', 'custom_options': {'beta': 2.0}}
      return %y
    }
    """)


def test_a_composite_that_is_not_fusable() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: float32[2]
      %y: float32[2] = tf.PartitionedCall(%x) {'f': @swoosh}
      return %y
    }
    swoosh {
      attrs {'_implements': {'function': 'Swoosh', 'attrs': {'tfl_fusable_op': False, 'beta': 2.0}}}
      input %x: float32[2]
      %y: float32[2] = tf.Softplus(%x)
      return %y
    }
    """)
