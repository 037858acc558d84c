"""Constant products of matrices are folded."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_product_of_constants() -> None:
    check_pass("canonicalize", """
    main {
      %a: float32[*] = tf.MatMul(float32[1,2] [[1.0, 2.0]], float32[3,2] [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) \
{'transpose_b': True}
      return %a
    }
    """, """
    main {
      return float32[1,3] [[1.0, 2.0, 3.0]]
    }
    """)
