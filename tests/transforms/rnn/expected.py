"""The ops that fused recurrent layers become."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from fuseconv.testing import Converted, check

LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
RNN = "UNIDIRECTIONAL_SEQUENCE_RNN"
BI_LSTM = "BIDIRECTIONAL_SEQUENCE_LSTM"
BI_RNN = "BIDIRECTIONAL_SEQUENCE_RNN"


class _Sizing(str):
    """The type of an op that computes sizes of a dynamic batch, and is not there where these are known."""


class _OfUnknownLength(str):
    """The type of an op that is there where a sequence may have no steps, and not where the length is known."""


class _End(str):
    """The type of the op that takes the last step of a sequence of unknown length; `known`: where sizes are known."""

    known: str

    @staticmethod
    def of(known: str) -> str:
        op = _End("STRIDED_SLICE")
        op.known = known
        return op


# The number of rows of a dynamic batch, once for all states of a layer.
SIZE: list[str] = [_Sizing(op) for op in ("SHAPE", "STRIDED_SLICE", "CONCATENATION")]
ZEROS = "FILL"
# A state that is given, of a dynamic batch.
GIVEN = ["TILE"]
LAST = [_End.of("GATHER")]
# What reads the state behind the last output, which may be none.
LAST_STATE: list[str] = [*LAST, *(_OfUnknownLength(op) for op in ("CONCATENATION", "STRIDED_SLICE"))]
# What reads the cell state behind the last output.
CELL = ["CONCATENATION", _End.of("SLICE")]
REVERSED = ["REVERSE_V2"]


def lstm(*more: list[str]) -> list[str]:
    """The ops of an LSTM that starts from zeros, and those that follow."""
    return [*SIZE, ZEROS, ZEROS, LSTM, *(op for ops in more for op in ops)]


def rnn(*more: list[str]) -> list[str]:
    """The ops of a simple RNN that starts from zeros, and those that follow."""
    return [*SIZE, ZEROS, RNN, *(op for ops in more for op in ops)]


def of_known_length(ops: list[str], known_batch: bool = False) -> list[str]:
    """Return the ops of a file where the length of sequences is known. SLICE wants all sizes known."""
    left = [op for op in ops if not isinstance(op, _OfUnknownLength)]
    return [op.known if isinstance(op, _End) and (known_batch or op.known != "SLICE") else op for op in left]


def check_both(
    function: Callable[..., Any], *specs: tf.TensorSpec, ops: list[str], sizes: tuple[int, int] = (2, 7), **options: Any
) -> Converted:
    """`check`, with unknown dimensions and with fixed ones. ops: of the first file; the other one knows the sizes of
    states that are zero or given. sizes: what fixed dimensions are, the first one and others. Returns the first."""
    converted = check(function, *specs, ops=ops, static=False, **options)
    left = [op for op in of_known_length(ops, known_batch=True) if not isinstance(op, _Sizing)]
    fixed = []
    for spec in specs:
        shape = [sizes[axis > 0] if size is None else size for axis, size in enumerate(spec.shape.as_list())]
        fixed.append(tf.TensorSpec(shape, spec.dtype))
    check(function, *fixed, ops=left, **options)
    return converted
