"""Constants of activations and biases are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_activations_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.BiasAdd(float32[1,2] [[1.0, 2.0]], float32[2] [0.5, -3.0])
      %b: float32[*] = tf.Relu(%a)
      return %b
    }
    """, """
    main {
      return float32[1,2] [[1.5, 0.0]]
    }
    """)
