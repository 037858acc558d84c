"""What a step computes is followed through ops that move elements."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import loop, raised


def test_one_product_of_both_joined() -> None:
    step = """
      %both: float32[1,5] = tf.ConcatV2(%x, %h, int32[] 1)
      %sum: float32[1,3] = tf.MatMul(%both, float32[5,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 0.0, 2.0], [0.0, \
1.0, 0.0], [3.0, 0.0, 1.0]])
      %new: float32[1,3] = tf.Tanh(%sum)
    """
    both = "float32[5,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]]"
    slices = f"""
      %k: float32[*] = tf.Slice({both}, int32[2] [0, 0], int32[2] [2, 3])
      %r: float32[*] = tf.Slice({both}, int32[2] [2, 0], int32[2] [3, 3])
    """
    check_pass("raise-rnn-loops", loop(step), raised(step, in_call=slices, weights="%k, %r", shapes=("[*]", "[*]")))


@pytest.mark.parametrize("equation", ["ij,jj->ij", "ii,ij->ij", "ij,ij->ij"])
def test_a_diagonal_is_no_product_of_matrices(equation: str) -> None:
    check_pass("raise-rnn-loops", loop(f"""
      %kept: float32[1,3] = tf.Einsum(%h, float32[3,3] [[1, 2, 3], [4, 5, 6], [7, 8, 9]]) {{'equation': '{equation}'}}
      %given: float32[1,3] = tf.MatMul(%x, float32[2,3] [[1, 2, 3], [4, 5, 6]])
      %sum: float32[1,3] = tf.AddV2(%kept, %given)
      %new: float32[1,3] = tf.Tanh(%sum)
    """))
