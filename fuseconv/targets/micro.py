"""TensorFlow Lite Micro, with the ops of its Python interpreter, the wheel `tflite-micro`.

Source: `python/tflite_micro/python_ops_resolver.cc` and `tensorflow/lite/micro/kernels/` of tensorflow/tflite-micro.
The types are those that the wheel of 2026-10-23 runs, tried op by op. All sizes are fixed as a file is made; a file
with one op that is refused does not run at all.
"""

from __future__ import annotations

from fuseconv.targets.conditions import constant, custom, operands, option, ranks_up_to, static, types
from fuseconv.targets.signature import OpSignature
from fuseconv.targets.target import Condition, Target, table, takes

_LSTM_OPERANDS = 24
_STATES = (18, 19)


def _lstm(op: OpSignature) -> str | None:
    if len(op.operands) != _LSTM_OPERANDS:
        return f"it has {len(op.operands)} operands, and not {_LSTM_OPERANDS}"
    if any(op.operands[index] is not None for index in (9, 10, 11, 16, 17, 20, 21, 22, 23)):
        return "it has peepholes, a projection or layer normalization"
    states = [op.operand(index) for index in _STATES]
    return None if all(state is not None and state.is_variable for state in states) else "its states are no variables"


def _not_hybrid(data: int, weights: int) -> Condition:
    """Demand float weights of float data: no kernel dequantizes them (conv_common.cc, batch_matmul.cc)."""

    def check(op: OpSignature) -> str | None:
        x, w = op.operand(data), op.operand(weights)
        fits = x is None or w is None or x.dtype != "float32" or w.dtype == "float32"
        return None if fits else f"its weights are of {w.dtype}, and its data of float32"  # type: ignore[union-attr]

    return check


def _spelled_out(op: OpSignature) -> str | None:
    x, begin = op.operand(0), op.operand(1)
    every = x is not None and begin is not None and begin.size == x.rank
    return None if every else "its bounds are not those of every dimension"


_BYTES = "float32 int8"
_NUMBERS = f"{_BYTES} int16"  # integers with a scale
_SIZES = f"{_NUMBERS} int32"  # and such without
_MOST_JOINED = 10

OPS = table(
    takes("CALL_ONCE IF WHILE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS SVDF SHAPE"),
    takes("RESHAPE SQUEEZE REVERSE_V2 QUANTIZE"),
    takes("DEQUANTIZE", types("int8 uint8 int16", 0)),
    takes("CONV_2D DEPTHWISE_CONV_2D FULLY_CONNECTED", _not_hybrid(0, 1)),
    takes("TRANSPOSE_CONV", _not_hybrid(2, 1)),
    takes("BROADCAST_TO", constant(1), ranks_up_to(5)),
    takes("ADD SUB MUL SQUARED_DIFFERENCE", types(_SIZES, 0)),
    takes("DIV", types("float32 int32 int8", 0)),
    takes("ADD_N BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND DEPTH_TO_SPACE SPACE_TO_DEPTH ELU HARD_SWISH MIRROR_PAD PRELU "
          "REDUCE_MAX REDUCE_MIN RESIZE_BILINEAR", types(_BYTES, 0)),
    takes("BATCH_MATMUL", types(_NUMBERS, 0), _not_hybrid(0, 1)),
    takes("ZEROS_LIKE", types("float32 int8 int32 int64", 0)),
    takes("AVERAGE_POOL_2D EXPAND_DIMS LEAKY_RELU LOGISTIC MAX_POOL_2D MEAN RELU RELU6 "
          "RESIZE_NEAREST_NEIGHBOR SOFTMAX SUM TANH ABS RSQRT", types(_NUMBERS, 0)),
    takes("TRANSPOSE", types(_NUMBERS, 0), ranks_up_to(5)),
    takes("CUMSUM L2_NORMALIZATION LOG_SOFTMAX", types(_BYTES, 0)),
    takes("CEIL COS EXP FLOOR FLOOR_DIV FLOOR_MOD L2_POOL_2D LOG NEG ROUND SIN SQRT SQUARE", types("float32", 0)),
    takes("ARG_MAX ARG_MIN", types(_BYTES, 0), option("output_type", "INT32")),
    takes("CAST", types("float32 int8 int16 int32 uint32 bool")),
    takes("CONCATENATION", operands(1, _MOST_JOINED), types(f"{_SIZES} int64 bool")),
    takes("DYNAMIC_UPDATE_SLICE PAD PADV2 SPLIT_V UNPACK", types(_SIZES, 0)),
    takes("SPLIT", types(_SIZES, 1)),
    takes("SLICE", types(f"{_SIZES} bool", 0), ranks_up_to(5)),
    takes("STRIDED_SLICE", types(f"{_SIZES} bool", 0), ranks_up_to(4), constant(1, 2, 3), option("ellipsis_mask", 0),
          option("new_axis_mask", 0), option("offset", False), _spelled_out),
    takes("EMBEDDING_LOOKUP", types(_BYTES, 1)),
    takes("GATHER GATHER_ND", types(_BYTES, 0), types("int32", 1)),
    takes("EQUAL NOT_EQUAL", types(f"{_BYTES} int32 int64 bool", 0)),
    takes("GREATER GREATER_EQUAL LESS LESS_EQUAL", types(f"{_BYTES} int32 int64", 0)),
    takes("LOGICAL_AND LOGICAL_NOT LOGICAL_OR REDUCE_ALL", types("bool", 0)),
    takes("MAXIMUM MINIMUM PACK", types(f"{_SIZES} int64", 0)),
    takes("SELECT_V2", types("bool", 0), types(_NUMBERS, 1, 2)),
    takes("FILL", constant(0), types("float32 int32 int8", 1)),
    takes("UNIDIRECTIONAL_SEQUENCE_LSTM", _lstm, types(_NUMBERS, 0), option("fused_activation_function", "TANH")),
    takes("CUSTOM", custom("TFLite_Detection_PostProcess", "CIRCULAR_BUFFER")),
)  # fmt: skip

TARGETS = [
    Target("micro", "tflite-micro python_ops_resolver.cc and kernels, 2026-08-20", OPS, every=(static,), is_whole=True)
]  # fmt: skip
