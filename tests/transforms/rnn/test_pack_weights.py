"""Weights and biases are packed as the fused op takes them."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Op, constant
from fuseconv.tf.builder import TfBuilder
from fuseconv.transforms.rnn.pack_weights import _bias
from fuseconv.transforms.rnn.polynomial import Part, Vector, poly
from tests.check_pass import check_pass
from tests.transforms.rnn.rnn_texts import SUM, loop, raised


def test_a_bias_is_handed_over() -> None:
    step = SUM + """
      %one: float32[1,3] = tf.BiasAdd(%sum, float32[3] [1.0, 2.0, 3.0])
      %new: float32[1,3] = tf.Tanh(%one)
    """
    check_pass("raise-rnn-loops", loop(step), raised(step, bias="[1.0, 2.0, 3.0]"))


def test_biases_are_added_in_the_order_of_their_names() -> None:
    """Terms of a polynomial are a set, whose order differs from one process to the next: the file's must not."""
    biases = [constant(np.full(2, n, np.float32), name=f"b{n}") for n in (4, 2, 5, 1, 3, 6)]
    parts = [Part(value, (0, 2)) for value in biases]
    total = poly([(frozenset({(Vector(part), 1)}), 1.0) for part in parts])
    ops: list[Op] = []
    _bias(TfBuilder(ops, Op("tf.While", name="loop")), total, 2)
    read = [value.name for op in ops for value in op.operands if value is not None and value.is_const]
    assert read == ["b1", "b2", "b3", "b4", "b5", "b6"]
