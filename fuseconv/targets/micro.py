"""TensorFlow Lite Micro, with the ops of its Python interpreter, the wheel `tflite-micro`.

Source: `python/tflite_micro/python_ops_resolver.cc` and `tensorflow/lite/micro/kernels/` of tensorflow/tflite-micro.
All sizes are fixed as a file is made. A file with one op that is refused does not run at all.
"""

from __future__ import annotations

from fuseconv.targets.conditions import constant, custom, option, static, types
from fuseconv.targets.signature import OpSignature
from fuseconv.targets.target import Target, table, takes

_LSTM_OPERANDS = 24
_STATES = (18, 19)


def _lstm(op: OpSignature) -> str | None:
    if len(op.operands) != _LSTM_OPERANDS:
        return f"it has {len(op.operands)} operands, and not {_LSTM_OPERANDS}"
    if any(op.operands[index] is not None for index in (9, 10, 11, 16, 17, 20, 21, 22, 23)):
        return "it has peepholes, a projection or layer normalization"
    states = [op.operand(index) for index in _STATES]
    return None if all(state is not None and state.is_variable for state in states) else "its states are no variables"


OPS = table(
    takes("ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE AVERAGE_POOL_2D BATCH_MATMUL BATCH_TO_SPACE_ND BROADCAST_ARGS "
          "BROADCAST_TO CALL_ONCE CEIL CONCATENATION CONV_2D COS CUMSUM DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE "
          "DIV DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP EQUAL EXP EXPAND_DIMS FLOOR FLOOR_DIV FLOOR_MOD "
          "FULLY_CONNECTED GATHER GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF L2_NORMALIZATION L2_POOL_2D LEAKY_RELU "
          "LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX MAXIMUM MAX_POOL_2D MEAN "
          "MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PADV2 PRELU QUANTIZE READ_VARIABLE REDUCE_ALL REDUCE_MAX "
          "REDUCE_MIN RELU RELU6 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SELECT_V2 "
          "SHAPE SIN SLICE SOFTMAX SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE "
          "SQUEEZE STRIDED_SLICE SUB SUM SVDF TANH TRANSPOSE TRANSPOSE_CONV UNPACK VAR_HANDLE WHILE ZEROS_LIKE CAST"),
    takes("FILL", constant(0), types("float32 int32 int8", 1)),
    takes("UNIDIRECTIONAL_SEQUENCE_LSTM", _lstm, types("float32 int8 int16", 0),
          option("fused_activation_function", "TANH")),
    takes("CUSTOM", custom("TFLite_Detection_PostProcess", "CIRCULAR_BUFFER")),
)  # fmt: skip

TARGETS = [
    Target("micro", "tflite-micro python_ops_resolver.cc and kernels, 2026-08-20", OPS, every=(static,), is_whole=True)
]  # fmt: skip
