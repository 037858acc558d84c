"""Max unpooling; what is refused is told in test_fusable_op.py."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_an_unpooling_becomes_the_custom_op_with_its_struct() -> None:
    check_pass("fuse-composites", """
    main {
      input %updates: float32[1,2,3,1]
      input %indices: int32[1,2,3,1]
      %y: float32[1,4,6,1] = tf.PartitionedCall(%updates, %indices) {'f': @unpool}
      return %y
    }
    unpool {
      attrs {'_implements': {'function': 'addons:MaxUnpooling2D', 'attrs': {'pool_size': [2, 3], 'strides': [2, 1], \
'padding': 'SAME'}}}
      input %updates: float32[1,2,3,1]
      input %indices: int32[1,2,3,1]
      %y: float32[1,4,6,1] = tf.Odd(%updates, %indices)
      return %y
    }
    """, """
    main {
      input %updates: float32[1,2,3,1]
      input %indices: int32[1,2,3,1]
      %y: float32[1,4,6,1] = tfl.CUSTOM(%updates, %indices) {'custom_code': 'MaxUnpooling2D', 'custom_options': \
b'\\x01\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x03\\x00\\x00\\x00\\x02\\x00\\x00\\x00\\x00\\x00\
\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00'}
      return %y
    }
    """)
