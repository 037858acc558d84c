"""Shapes of products of matrices."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_products() -> None:
    check_pass("canonicalize", """
    main {
      input %x: float32[n,2]
      input %y: float32[3,2]
      input %z: float32[b,2,k]
      %a: float32[*] = tf.MatMul(%x, %y) {'transpose_b': True}
      %b: float32[*] = tf.BatchMatMulV2(%y, %z)
      %c: float32[*] = tf.Einsum(%x, %y) {'equation': 'ni,ki->nk'}
      return %a, %b, %c
    }
    """, """
    main {
      input %x: float32[n,2]
      input %y: float32[3,2]
      input %z: float32[b,2,k]
      %a: float32[n,3] = tf.MatMul(%x, %y) {'transpose_b': True}
      %b: float32[b,3,k] = tf.BatchMatMulV2(%y, %z)
      %c: float32[n,3] = tf.Einsum(%x, %y) {'equation': 'ni,ki->nk'}
      return %a, %b, %c
    }
    """)
