"""What a step computes is known whichever way its sums and products are written."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import PRODUCTS, loop, raised


def test_a_sum_is_a_difference_with_what_is_negated() -> None:
    step = PRODUCTS + """
      %less: float32[1,3] = tf.Neg(%uh)
      %sum: float32[1,3] = tf.Sub(%wx, %less)
      %new: float32[1,3] = tf.Tanh(%sum)
    """
    check_pass("raise-rnn-loops", loop(step), raised(step))


def test_what_is_written_with_too_many_atoms_is_not_looked_into() -> None:
    """x = tanh(x) * sigmoid(x), 64 times: as many as 2 ** 64."""
    gates = "".join(f"""
      %a{at}: float32[1,3] = tf.Tanh(%v{at})
      %b{at}: float32[1,3] = tf.Sigmoid(%v{at})
      %v{at + 1}: float32[1,3] = tf.Mul(%a{at}, %b{at})
    """ for at in range(64))  # fmt: skip
    check_pass("raise-rnn-loops", loop(PRODUCTS + f"""
      %v0: float32[1,3] = tf.AddV2(%wx, %uh)
      {gates}
      %left: float32[1,1] = tf.Slice(%v64, int32[2] [0, 0], int32[2] [1, 1])
      %right: float32[1,2] = tf.Slice(%v64, int32[2] [0, 1], int32[2] [1, 2])
      %new: float32[1,3] = tf.ConcatV2(%right, %left, int32[] 1)
    """))
