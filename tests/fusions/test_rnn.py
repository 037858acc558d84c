"""Simple RNN layers in IR text; against TensorFlow's numbers in tests/transforms/rnn."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_layer_becomes_the_op_with_weights_transposed() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: float32[1,5,2]
      input %h: float32[1,2]
      %last: float32[1,2]; %all: float32[1,5,2]; %state: float32[1,2] = tf.PartitionedCall(%x, %h, float32[2,2] \
[[1.0, 2.0], [3.0, 4.0]], float32[2,2] [[5.0, 6.0], [7.0, 8.0]], float32[2] [0.5, 1.0]) {'f': @layer}
      return %last
    }
    layer {
      attrs {'_implements': {'function': 'rnn_1', 'attrs': {'activation': 'relu'}}}
      input %x: float32[1,5,2]
      input %h: float32[1,2]
      input %kernel: float32[2,2]
      input %recurrent: float32[2,2]
      input %bias: float32[2]
      return %h, %x, %h
    }
    """, """
    main {
      input %x: float32[1,5,2]
      input %h: float32[1,2]
      %last: float32[1,2] {'variable': True} = tfl.TILE(%h, int32[2] [1, 1])
      %all: float32[1,5,2] = tfl.UNIDIRECTIONAL_SEQUENCE_RNN(%x, float32[2,2] [[1.0, 3.0], [2.0, 4.0]], float32[2,2] \
[[5.0, 7.0], [6.0, 8.0]], float32[2] [0.5, 1.0], %last) {'fused_activation_function': 'RELU'}
      %state: float32[1,2] = tfl.STRIDED_SLICE(%all, int32[3] [0, -1, 0], int32[3] [0, 0, 0], int32[3] [1, 1, 1]) \
{'begin_mask': 5, 'end_mask': 7, 'shrink_axis_mask': 2}
      return %state
    }
    """)


def test_an_activation_without_a_kernel() -> None:
    check_pass("fuse-composites", """
    main {
      input %x: float32[1,5,2]
      input %h: float32[1,2]
      %last: float32[1,2]; %all: float32[1,5,2]; %state: float32[1,2] = tf.PartitionedCall(%x, %h, float32[2,2] \
[[1.0, 2.0], [3.0, 4.0]], float32[2,2] [[5.0, 6.0], [7.0, 8.0]], float32[2] [0.5, 1.0]) {'f': @layer}
      return %last
    }
    layer {
      attrs {'_implements': {'function': 'rnn_1', 'attrs': {'activation': 'sigmoid'}}}
      input %x: float32[1,5,2]
      input %h: float32[1,2]
      input %kernel: float32[2,2]
      input %recurrent: float32[2,2]
      input %bias: float32[2]
      return %h, %x, %h
    }
    """)
