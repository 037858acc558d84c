"""Loops that are recurrent layers become calls of annotated functions."""

from __future__ import annotations

from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import SUM, loop, raised


def test_a_tanh_of_two_products_is_a_simple_rnn() -> None:
    step = SUM + "%new: float32[1,3] = tf.Tanh(%sum)"
    check_pass("raise-rnn-loops", loop(step), raised(step))


def test_an_activation_without_a_kernel() -> None:
    step = SUM + "%new: float32[1,3] = tf.Exp(%sum)"
    check_pass("raise-rnn-loops", loop(step))
