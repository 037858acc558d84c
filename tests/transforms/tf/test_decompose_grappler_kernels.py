"""Ops that Grappler fused, taken apart."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_convolution_with_its_bias_and_activation() -> None:
    check_pass("decompose-grappler-kernels", """
    main {
      input %x: float32[1,4,4,2]
      input %b: float32[3]
      %y: float32[1,4,4,3] = tf._FusedConv2D(%x, float32[1,1,2,3] [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]], %b) \
{'strides': [1, 1, 1, 1], 'padding': 'SAME', 'num_args': 1, 'fused_ops': ['BiasAdd', 'Relu']}
      return %y
    }
    """, """
    main {
      input %x: float32[1,4,4,2]
      input %b: float32[3]
      %y: float32[*] = tf.Conv2D(%x, float32[1,1,2,3] [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]]) {'padding': 'SAME', \
'strides': [1, 1, 1, 1]}
      %y2: float32[*] = tf.BiasAdd(%y, %b)
      %y3: float32[*] = tf.Relu(%y2)
      return %y3
    }
    """)


def test_an_activation_that_is_not_known() -> None:
    check_pass("decompose-grappler-kernels", """
    main {
      input %x: float32[1,4,4,2]
      input %b: float32[3]
      %y: float32[1,4,4,3] = tf._FusedConv2D(%x, float32[1,1,2,3] [[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]], %b) \
{'strides': [1, 1, 1, 1], 'padding': 'SAME', 'num_args': 1, 'fused_ops': ['BiasAdd', 'GeluExact']}
      return %y
    }
    """)
