"""Shapes of sparse tensors' parts, and of what is dense of them."""

from __future__ import annotations

from tests.check_pass import check_pass


def test_a_dense_shape_that_is_given() -> None:
    check_pass("canonicalize", """
    main {
      input %i: int64[k,2]
      input %x: float32[k]
      input %b: float32[4,n]
      %a: float32[*] = tf.SparseTensorDenseMatMul(%i, %x, int64[2] [3, 4], %b)
      %c: float32[*] = tf.SparseToDense(%i, int64[2] [3, 4], %x, float32[] 0.0)
      %d: float32[*] = tf.SparseSoftmax(%i, %x, int64[2] [3, 4])
      return %a, %c, %d
    }
    """, """
    main {
      input %i: int64[k,2]
      input %x: float32[k]
      input %b: float32[4,n]
      %a: float32[3,n] = tf.SparseTensorDenseMatMul(%i, %x, int64[2] [3, 4], %b)
      %c: float32[3,4] = tf.SparseToDense(%i, int64[2] [3, 4], %x, float32[] 0.0)
      %d: float32[k] = tf.SparseSoftmax(%i, %x, int64[2] [3, 4])
      return %a, %c, %d
    }
    """)
