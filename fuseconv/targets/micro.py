"""TensorFlow Lite Micro, with the ops of its Python interpreter, the wheel `tflite-micro`.

Source: `python/tflite_micro/python_ops_resolver.cc` and `tensorflow/lite/micro/kernels/` of tensorflow/tflite-micro.
The types, dimensions and options are those that the wheel of 2026-10-23 runs and
computes as LiteRT does, tried op by op. All sizes are fixed as a file is made; a file
with one op that is refused does not run at all.
"""

from __future__ import annotations

from fuseconv.targets.conditions import (
    activation,
    constant,
    custom,
    has_bias,
    operands,
    option,
    ranks_up_to,
    static,
    types,
)
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


def _whole_numbers(op: OpSignature) -> str | None:
    """Demand no activation of int32, which the kernel of ADD forgets there."""
    x = op.operand(0)
    forgets = x is not None and x.dtype == "int32" and op.options.get("fused_activation_function", "NONE") != "NONE"
    return "its activation of int32 is not computed" if forgets else None


def _neighbors(op: OpSignature) -> str | None:
    """Demand axes beside each other: the kernel of REVERSE_V2 ends the run over others, as LiteRT's does."""
    x, axes = op.operand(0), op.operand(1)
    values = None if axes is None else axes.values()
    if x is None or values is None:
        return None
    places = sorted({int(axis) % max(x.rank, 1) for axis in values.ravel()})
    return None if places == [*range(places[0], places[-1] + 1)] else "its axes are not beside each other"


def _unpadded(op: OpSignature) -> str | None:
    """Demand no paddings: the kernel of SPACE_TO_BATCH_ND fills them with what stands in its memory."""
    paddings = op.operand(2)
    values = None if paddings is None else paddings.values()
    return None if values is not None and not values.any() else "it pads the data"


# Of what QUANTIZE makes what.
_QUANTIZED = {
    "float32": "int8 int16", "int8": "int8 int16 uint8 int32", "int16": "int8 int16 int32", "uint8": "int8",
    "int32": "int8 int16",
}  # fmt: skip


def _quantized(op: OpSignature) -> str | None:
    x, result = op.operands[0], op.results[0]
    made = "" if x is None else _QUANTIZED.get(x.dtype, "")
    return None if x is None or result.dtype in made.split() else f"it makes {result.dtype} of {x.dtype}"


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
    takes("RESHAPE SQUEEZE"),
    takes("REVERSE_V2", _neighbors),
    takes("QUANTIZE", _quantized),
    takes("DEQUANTIZE", types("int8 uint8 int16", 0),
          lambda op: None if op.results[0].dtype == "float32" else f"it makes {op.results[0].dtype}"),
    takes("CONV_2D FULLY_CONNECTED", _not_hybrid(0, 1)),
    takes("DEPTHWISE_CONV_2D", _not_hybrid(0, 1), has_bias),
    takes("TRANSPOSE_CONV", _not_hybrid(2, 1)),
    takes("BROADCAST_TO", constant(1), ranks_up_to(5)),
    takes("ADD", types(_SIZES, 0), _whole_numbers),
    takes("SUB MUL SQUARED_DIFFERENCE", types(_SIZES, 0)),
    takes("DIV", types("float32 int32 int8", 0)),
    takes("ADD_N BATCH_TO_SPACE_ND DEPTH_TO_SPACE SPACE_TO_DEPTH ELU HARD_SWISH MIRROR_PAD REDUCE_MAX REDUCE_MIN "
          "RESIZE_BILINEAR", types(_BYTES, 0)),
    takes("SPACE_TO_BATCH_ND", types(_BYTES, 0), _unpadded),
    takes("L2_NORMALIZATION PRELU", types(_BYTES, 0), ranks_up_to(4)),
    takes("BATCH_MATMUL", types(_NUMBERS, 0), _not_hybrid(0, 1)),
    takes("ZEROS_LIKE", types("float32 int8 int32 int64", 0)),
    takes("AVERAGE_POOL_2D EXPAND_DIMS LEAKY_RELU LOGISTIC MAX_POOL_2D MEAN RELU RELU6 "
          "RESIZE_NEAREST_NEIGHBOR SOFTMAX SUM TANH ABS RSQRT", types(_NUMBERS, 0)),
    takes("TRANSPOSE", types(_NUMBERS, 0), ranks_up_to(5)),
    takes("CUMSUM LOG_SOFTMAX", types(_BYTES, 0)),
    takes("CEIL COS EXP FLOOR FLOOR_DIV FLOOR_MOD L2_POOL_2D LOG NEG ROUND SIN SQRT SQUARE", types("float32", 0)),
    takes("ARG_MAX ARG_MIN", types(_BYTES, 0), option("output_type", "INT32")),
    takes("CAST", types("float32 int8 int16 int32 uint32 bool")),
    takes("CONCATENATION", operands(1, _MOST_JOINED), types(f"{_SIZES} int64 bool"), activation()),
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
