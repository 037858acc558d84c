"""Loops whose state is not what the last step left alone."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import PRODUCTS, loop


def test_a_step_that_knows_its_number() -> None:
    step = PRODUCTS + """
      %f: float32[] = tf.Cast(%t)
      %w: float32[1,3] = tf.Mul(%wx, %f)
      %sum: float32[1,3] = tf.AddV2(%w, %uh)
      %new: float32[1,3] = tf.Tanh(%sum)
    """
    check_pass("raise-rnn-loops", loop(step))
