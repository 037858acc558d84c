"""The ops that fused recurrent layers become."""

from __future__ import annotations

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
RNN = "UNIDIRECTIONAL_SEQUENCE_RNN"
BI_LSTM = "BIDIRECTIONAL_SEQUENCE_LSTM"
BI_RNN = "BIDIRECTIONAL_SEQUENCE_RNN"
# The number of rows of a dynamic batch, once for all states of a layer.
SIZE = ["SHAPE", "STRIDED_SLICE", "PACK"]
ZEROS = "FILL"
# A state that is given, of a dynamic batch.
GIVEN = ["SHAPE", "MINIMUM", "TILE"]
LAST = ["STRIDED_SLICE"]
# What reads the cell state behind the last output.
CELL = ["CONCATENATION", "SLICE"]
REVERSED = ["REVERSE_V2"]


def lstm(*more: list[str]) -> list[str]:
    """The ops of an LSTM that starts from zeros, and those that follow."""
    return [*SIZE, ZEROS, ZEROS, LSTM, *(op for ops in more for op in ops)]


def rnn(*more: list[str]) -> list[str]:
    """The ops of a simple RNN that starts from zeros, and those that follow."""
    return [*SIZE, ZEROS, RNN, *(op for ops in more for op in ops)]
