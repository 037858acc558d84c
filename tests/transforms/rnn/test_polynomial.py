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
