"""Cells that no kernel computes."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import loop


def test_a_state_that_is_squared_first() -> None:
    step = """
      %wx: float32[1,3] = tf.MatMul(%x, float32[2,3] [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
      %hh: float32[1,3] = tf.Mul(%h, %h)
      %uh: float32[1,3] = tf.MatMul(%hh, float32[3,3] [[1.0, 0.0, 2.0], [0.0, 1.0, 0.0], [3.0, 0.0, 1.0]])
      %sum: float32[1,3] = tf.AddV2(%wx, %uh)
      %new: float32[1,3] = tf.Tanh(%sum)
    """
    check_pass("raise-rnn-loops", loop(step))
