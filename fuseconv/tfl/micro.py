"""TFLite Micro's operators: the calls that register those of a file with its interpreter.

Source: micro_mutable_op_resolver.h of TFLite Micro, 2026-08-20. An application lists the ops that its model has, so
that the linker leaves out the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# Ops whose method is their name in another spelling: ADD_N -> AddAddN.
_SPELLED = """
    ABS ADD ADD_N ARG_MAX ARG_MIN ASSIGN_VARIABLE BATCH_TO_SPACE_ND BROADCAST_ARGS BROADCAST_TO CALL_ONCE CAST CEIL
    CIRCULAR_BUFFER CONCATENATION COS DEPTH_TO_SPACE DEQUANTIZE DIV DYNAMIC_UPDATE_SLICE ELU EMBEDDING_LOOKUP EQUAL EXP
    EXPAND_DIMS FILL FLOOR FLOOR_DIV FLOOR_MOD FULLY_CONNECTED GATHER GATHER_ND GREATER GREATER_EQUAL HARD_SWISH IF
    L2_NORMALIZATION LEAKY_RELU LESS LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX MAXIMUM MEAN
    MINIMUM MIRROR_PAD MUL NEG NOT_EQUAL PACK PAD PRELU QUANTIZE READ_VARIABLE REDUCE_ALL REDUCE_MAX REDUCE_MIN RELU
    RELU6 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR REVERSE_V2 ROUND RSQRT SELECT_V2 SHAPE SIN SLICE SOFTMAX
    SPACE_TO_BATCH_ND SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE STRIDED_SLICE SUB SUM SVDF
    TANH TRANSPOSE TRANSPOSE_CONV UNPACK VAR_HANDLE WHILE ZEROS_LIKE
"""
METHODS = {name: "Add" + "".join(part.capitalize() for part in name.split("_")) for name in _SPELLED.split()} | {
    "AVERAGE_POOL_2D": "AddAveragePool2D", "BATCH_MATMUL": "AddBatchMatMul", "CONV_2D": "AddConv2D",
    "CUMSUM": "AddCumSum", "DEPTHWISE_CONV_2D": "AddDepthwiseConv2D", "L2_POOL_2D": "AddL2Pool2D",
    "MAX_POOL_2D": "AddMaxPool2D", "PADV2": "AddPadV2", "TFLite_Detection_PostProcess": "AddDetectionPostprocess",
    "UNIDIRECTIONAL_SEQUENCE_LSTM": "AddUnidirectionalSequenceLSTM",
}  # fmt: skip
_PLAIN = re.compile(r"[^A-Za-z0-9_.:/-]")


class Resolver(NamedTuple):
    """The ops of a file in TFLite Micro. lines: C++ that registers them; lacks: those that it does not have."""

    lines: list[str]
    lacks: list[str]


def resolver(ops: Iterable[str], custom: Iterable[str] = ()) -> Resolver:
    """Return the C++ to paste. ops: builtin operators, and custom ones by their codes; custom: which of them are
    custom. Characters of a custom code that no name has become question marks: it comes from the file."""
    names, own = sorted(set(ops)), frozenset(custom)
    lacks = [name for name in names if name not in METHODS and name not in own]
    lines = [f"tflite::MicroMutableOpResolver<{len(names) - len(lacks)}> resolver;"]
    for name in names:
        if name in METHODS:
            lines.append(f"resolver.{METHODS[name]}();")
        elif name in own:
            lines.append(f'resolver.AddCustom("{_PLAIN.sub("?", name)}", registration);  // a kernel of your own')
    return Resolver(lines, lacks)
