"""IndyLSTM -> UNIDIRECTIONAL_SEQUENCE_LSTM with diagonal recurrent weights.

The contract is the Keras LSTM's (`api_implements` = `indy_lstm_<id>`; ConvertKerasLSTMLayer of TFLiteConverter's
lstm_utils.cc), but a unit of an IndyLSTM sees only its own last output: recurrent is [u, 4], a column a gate.
"""

from __future__ import annotations

from fuseconv.fuse.match import Fusion, Match, composite
from fuseconv.fusions.lstm import ATTRS, OPERANDS, RESULTS, check_interface, rewrite_sequence, weights
from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder

INDY_LSTM = composite("indy_lstm_*", f"{OPERANDS} -> {RESULTS}", ATTRS)


def check(m: Match) -> None:
    check_interface(m, m.recurrent.shape[0] if m.recurrent.shape else 0)
    m.require(m.recurrent.shape[1] == 4, f"the recurrent weights are not [u, 4] but {m.recurrent.shape}")


def rewrite(tfl: Builder, m: Match) -> dict[str, Value]:
    units = int(m.recurrent.shape[0])
    columns = [tfl.reshape(tfl.slice(m.recurrent, [0, gate], [-1, 1]), [units]) for gate in range(4)]
    operands = weights(tfl, m, columns)
    return rewrite_sequence(tfl, m, operands, fused_activation_function="TANH", diagonal_recurrent_tensors=True)


FUSIONS = [Fusion("indy_lstm", "UNIDIRECTIONAL_SEQUENCE_LSTM", INDY_LSTM, rewrite, check)]
