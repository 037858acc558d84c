"""Results of recurrent ops."""

from __future__ import annotations

from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Value
from fuseconv.ir.types import FLOAT32
from fuseconv.tfl.builder import Builder

N = symbol("n")


def value(*shape: object) -> Value:
    return Value(FLOAT32, shape)  # type: ignore[arg-type]


def test_a_simple_rnn_gives_all_outputs() -> None:
    operands = value(N, 7, 5), value(3, 5), value(3, 3), value(3), value(N, 3)
    assert Builder([]).unidirectional_sequence_rnn(*operands, fused_activation_function="TANH").shape == (N, 7, 3)
