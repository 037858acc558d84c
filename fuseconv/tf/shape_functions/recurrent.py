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


@infers("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
def cudnn_rnn(
    op: Op, x: Value, h: Value, c: Value, *others: Value, direction: str = "unidirectional", rnn_mode: str = "lstm"
) -> Shapes:
    """Other results than the outputs and the states are cuDNN's own. x: [time, batch, in], or [batch, time, in]."""
    outputs = None
    if x.rank == 3 and h.rank == 3:
        outputs = (*x.shape[:2], h.shape[2] * (2 if direction == "bidirectional" else 1))  # type: ignore[index]
    return [outputs, h.shape, c.shape if rnn_mode == "lstm" else None, *[None] * (len(op.results) - 3)]
