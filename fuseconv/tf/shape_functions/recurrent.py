"""Shape functions of recurrent cells."""

from __future__ import annotations

from fuseconv.ir.graph import Op, Value
from fuseconv.tf.shape_functions.registry import Shapes, infers


@infers("LSTMBlockCell")
def lstm_block_cell(op: Op, x: Value, state: Value, *others: Value) -> Shapes:
    return [state.shape] * 7


@infers("GRUBlockCell")
def gru_block_cell(op: Op, x: Value, state: Value, *others: Value) -> Shapes:
    return [state.shape] * 4
