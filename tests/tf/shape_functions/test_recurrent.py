"""Shapes of what recurrent cells make."""

from __future__ import annotations

import pytest

from fuseconv.ir import types
from fuseconv.ir.dims import symbol
from fuseconv.ir.graph import Op, Value
from fuseconv.tf.shape_functions import infer

STATE = (symbol("B"), 4)


@pytest.mark.parametrize(("kind", "operands", "results"), [("LSTMBlockCell", 8, 7), ("GRUBlockCell", 6, 4)])
def test_each_result_has_the_shape_of_the_state(kind: str, operands: int, results: int) -> None:
    values = [Value(types.FLOAT32, shape) for shape in ((symbol("B"), 3), STATE, *[None] * (operands - 2))]
    op = Op(f"tf.{kind}", values, {})
    for _ in range(results):
        op.add_result(types.FLOAT32, None)
    assert infer(op) == [STATE] * results
