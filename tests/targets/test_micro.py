"""Rules of TensorFlow Lite Micro."""

from __future__ import annotations

import pytest

from tests.targets.refusals import why

_LSTM = "float32[1,3,4] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(%0, {rest}) {{'fused_activation_function': 'TANH'}}"


@pytest.mark.parametrize("operands, op", [
    ("float32[2,4]", "float32[2,4] = tfl.TANH(%0)"),
    ("float32[]", "float32[2,3] = tfl.FILL(int32[2] [2, 3], %0)"),
])  # fmt: skip
def test_it_takes(operands: str, op: str) -> None:
    assert why("micro", operands, op) is None


@pytest.mark.parametrize("operands, op, reason", [
    ("float32[2,4]", "float32[2,4] = tfl.GELU(%0)", "it has no GELU"),
    ("float32[n,4]", "float32[n,4] = tfl.TANH(%0)", "a size is not known before the run"),
    ("int32[2] float32[]", "float32[2,3] = tfl.FILL(%0, %1)", "its operand 0 is not constant"),
    ("int16[]", "int16[2,3] = tfl.FILL(int32[2] [2, 3], %0)", "a tensor is of int16"),
    ("float32[2,4] int8[3,4] float32[3]", "float32[2,3] = tfl.FULLY_CONNECTED(%0, %1, %2)", "its weights are of int8"),
    ("float32[2,4] int8[4,3]", "float32[2,3] = tfl.BATCH_MATMUL(%0, %1)", "its weights are of int8, and its data of"),
    ("float16[2,4]", "float32[2,4] = tfl.DEQUANTIZE(%0)", "a tensor is of float16, and not int8 or uint8 or int16"),
])  # fmt: skip
def test_it_refuses(operands: str, op: str, reason: str) -> None:
    assert (why("micro", operands, op) or "").startswith(reason)


@pytest.mark.parametrize("count, why_not", [(4, "its states are no variables"), (0, "it has 20 operands, and not 24")])
def test_an_lstm_has_24_operands_and_variables(count: int, why_not: str) -> None:
    rest = ", ".join([*["_"] * 17, "%1", "%1", *["_"] * count])
    assert why("micro", "float32[1,3,4] float32[1,4]", _LSTM.format(rest=rest)) == why_not
