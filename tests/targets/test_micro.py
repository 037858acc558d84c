"""Rules of TensorFlow Lite Micro."""

from __future__ import annotations

import pytest

from fuseconv.targets.micro import TARGETS
from fuseconv.targets.signature import OpSignature
from tests.targets.refusals import why

_LSTM = "float32[1,3,4] = tfl.UNIDIRECTIONAL_SEQUENCE_LSTM(%0, {rest}) {{'fused_activation_function': 'TANH'}}"


@pytest.mark.parametrize("operands, op", [
    ("float32[2,4]", "float32[2,4] = tfl.TANH(%0)"),
    ("float32[]", "float32[2,3] = tfl.FILL(int32[2] [2, 3], %0)"),
    ("float32[2,3,4]", "float32[2,3,4] = tfl.REVERSE_V2(%0, int32[2] [-1, 1])"),
    ("int8[1,4,4,2]", "int8[4,2,2,2] = tfl.SPACE_TO_BATCH_ND(%0, int32[2] [2, 2], int32[2,2] [0, 0, 0, 0])"),
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
    ("int32[2,4]", "int32[2,4] = tfl.ADD(%0, %0) {'fused_activation_function': 'RELU'}", "its activation of int32 is"),
    ("float32[2,3,4]", "float32[2,3,4] = tfl.REVERSE_V2(%0, int32[2] [0, 2])", "its axes are not beside each other"),
    ("int8[1,4,2]", "int8[2,3,2] = tfl.SPACE_TO_BATCH_ND(%0, int32[1] [2], int32[1,2] [1, 1])", "it pads the data"),
    ("float32[2,4]", "uint8[2,4] = tfl.QUANTIZE(%0)", "it makes uint8 of float32"),
    ("int8[2,4]", "int16[2,4] = tfl.DEQUANTIZE(%0)", "it makes int16"),
    ("float32[2,2,2,2,2] float32[2]", "float32[2,2,2,2,2] = tfl.PRELU(%0, %1)", "a tensor has 5 dimensions"),
    ("float32[1,4,4,1]", "float32[1,4,4,1] = tfl.DEPTHWISE_CONV_2D(%0, float32[1,1,1,1] [2], _) {'padding': 'SAME', "
     "'stride_h': 1, 'stride_w': 1, 'depth_multiplier': 1}", "it has no bias"),
    ("float32[2,3]", "float32[4,3] = tfl.CONCATENATION(%0, %0) {'axis': 0, 'fused_activation_function': 'RELU'}",
     "fused_activation_function is RELU, and not NONE"),
    ("float16[2,4]", "float32[2,4] = tfl.DEQUANTIZE(%0)", "a tensor is of float16, and not int8 or uint8 or int16"),
])  # fmt: skip
def test_it_refuses(operands: str, op: str, reason: str) -> None:
    assert (why("micro", operands, op) or "").startswith(reason)


def test_the_states_of_an_lstm_are_variables() -> None:
    rest = ", ".join([*["_"] * 17, "%1", "%1"])
    found = why("micro", "float32[1,3,4] float32[1,4]", _LSTM.format(rest=rest))
    assert found == "its states are no variables"


def test_an_lstm_has_24_operands() -> None:
    (target,) = TARGETS
    lstm = OpSignature("UNIDIRECTIONAL_SEQUENCE_LSTM", 1, [None] * 20, [], {})
    assert target.refusal(lstm) == "it has 20 operands, and not 24"
