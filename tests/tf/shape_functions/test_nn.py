"""Shapes of convolutions and poolings."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_windows() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,8,9,2]
      input %w: float32[3,3,2,4]
      %a: float32[*] = tf.Conv2D(%x, %w) {'strides': [1, 2, 2, 1], 'padding': 'SAME'}
      %b: float32[*] = tf.MaxPool(%a) {'ksize': [1, 2, 2, 1], 'strides': [1, 1, 1, 1], 'padding': 'VALID'}
      %c: float32[*] = tf.BiasAdd(%b, float32[4] [1.0, 2.0, 3.0, 4.0])
      return %a, %c
    }
    """, """
    main {
      input %x: float32[n,8,9,2]
      input %w: float32[3,3,2,4]
      %a: float32[n,4,5,4] = tf.Conv2D(%x, %w) {'padding': 'SAME', 'strides': [1, 2, 2, 1]}
      %b: float32[n,3,4,4] = tf.MaxPool(%a) {'ksize': [1, 2, 2, 1], 'padding': 'VALID', 'strides': [1, 1, 1, 1]}
      %c: float32[n,3,4,4] = tf.BiasAdd(%b, float32[4] [1.0, 2.0, 3.0, 4.0])
      return %a, %c
    }
    """)
