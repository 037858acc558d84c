"""Operands of fused recurrent ops are those that the op's builder and the tables of its kernel know."""

from __future__ import annotations

import pytest

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.directions import DIRECTIONS, outputs_of, takes_operands
from fuseconv.tfl.hybrid import HYBRID, RECURRENT
from fuseconv.transforms.rnn.persist_states import STATES


def test_operands_are_weights_and_states() -> None:
    assert DIRECTIONS.keys() == RECURRENT
    for type, directions in DIRECTIONS.items():
        weights = {index for each in directions for index in (*each.of_x, *each.of_h)}
        assert weights <= set(HYBRID[type].operands)
        assert {index for each in directions for index in each.states} == STATES[f"tfl.{type}"].keys()
        assert [each.backward for each in directions] == [False, True][: len(directions)]


@pytest.mark.parametrize("auxiliary", [True, False])
def test_a_bidirectional_op(auxiliary: bool) -> None:
    shapes = [(1, 5, 2), (3, 2), (3, 3), (3,), (1, 3), (4, 2), (4, 4), (4,), (1, 4)]
    operands = [Value(types.FLOAT32, shape) for shape in shapes]
    op = Op("tfl.BIDIRECTIONAL_SEQUENCE_RNN", [*operands, operands[0] if auxiliary else None])
    assert [outputs_of(op, each) for each in DIRECTIONS[op.type]] == [3, 4]
    assert takes_operands(op) == (not auxiliary)
