"""Integer kernels: which ops compute on int8 or int16, and which scales their operands and results must have.

Measured by running every kernel (`tests/tfl/test_integer.py` does so again). Most kernels that demand equal scales do
not check it: other ones give wrong numbers, silently. With activations of int16, weights are int8 and biases int64.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Quantization
from fuseconv.ir.types import DType

# Ops that read the shape of what they are given, whatever it holds.
READS_SHAPE = ("RANK", "SHAPE")
# The one recurrent op with an integer kernel.
LSTM = "UNIDIRECTIONAL_SEQUENCE_LSTM"
# No stored number may be below zero: the kernel fails as it runs.
NOT_NEGATIVE = frozenset({"RSQRT", "SQRT"})


@dataclass(frozen=True)
class Kernels:
    """The kernels of one type of activations.

    activations, biases: the types. own_scale: ops whose result has any scale, that of its range. fixed_scale: ops whose
    result has this scale, whatever its range is. same_scale: ops whose results have the scale of their operand.
    joined_scale: ops whose operands and result have one scale. steep_at_zero: ops whose results change too fast for
    the steps of their last operand where that is near zero; in int16, for the 512 parts of LiteRT's tables."""

    activations: DType
    biases: DType
    own_scale: frozenset[str]
    fixed_scale: Mapping[str, Quantization]
    same_scale: frozenset[str]
    joined_scale: frozenset[str]
    steep_at_zero: frozenset[str]

    def __contains__(self, op: Op) -> bool:
        return op.type in self.own_scale or op.type in self.fixed_scale or self.moves(op)

    def moves(self, op: Op) -> bool:
        """Return whether an op hands on numbers, so that it is as exact in integers as in floats, and as fast."""
        return op.type in self.same_scale or op.type in self.joined_scale


_JOINED = frozenset({
    "CONCATENATION", "DYNAMIC_UPDATE_SLICE", "MAXIMUM", "MINIMUM", "PACK", "PADV2", "SELECT", "SELECT_V2",
})  # fmt: skip
_SAME = frozenset({
    "AVERAGE_POOL_2D", "BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "EMBEDDING_LOOKUP", "EXPAND_DIMS", "FILL", "GATHER",
    "GATHER_ND", "MAX_POOL_2D", "MIRROR_PAD", "PAD", "REDUCE_MAX", "REDUCE_MIN", "RESHAPE", "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V",
    "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
})  # fmt: skip
# Kernels of integers that are not used, and why.
UNSAFE = {"DIV": "its kernels of integers fail over a divisor that is stored as 0"}
INT8 = Kernels(
    types.INT8, types.INT32,
    own_scale=frozenset({
        "ABS", "ADD", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "ELU", "EXP", "FULLY_CONNECTED", "GELU",
        "HARD_SWISH", "LEAKY_RELU", "LOG", "MEAN", "MUL", "PRELU", "REDUCE_PROD", "RELU", "RELU6", "RELU_0_TO_1",
        "RELU_N1_TO_1", "RSQRT", "SQRT", "SQUARED_DIFFERENCE", "SUB", "SUM", "TRANSPOSE_CONV",
    }),
    # LiteRT takes other scales for TANH; XNNPACK, TFLite Micro and NPUs do not.
    fixed_scale={
        "L2_NORMALIZATION": Quantization((1 / 128,), (0,)), "LOG_SOFTMAX": Quantization((16 / 256,), (127,)),
        "LOGISTIC": Quantization((1 / 256,), (-128,)), "SOFTMAX": Quantization((1 / 256,), (-128,)),
        "TANH": Quantization((1 / 128,), (0,)),
    },
    same_scale=_SAME, joined_scale=_JOINED, steep_at_zero=frozenset({"DIV", "LOG", "RSQRT"}),
)  # fmt: skip
INT16 = Kernels(
    types.INT16, types.INT64,
    own_scale=frozenset({
        "ABS", "ADD", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "GELU", "LEAKY_RELU",
        "LOG", "MEAN", "MUL", "RELU", "RELU6", "RSQRT", "SQRT", "SUB", "SUM", "TRANSPOSE_CONV",
    }),
    fixed_scale=dict.fromkeys(("LOGISTIC", "SOFTMAX", "TANH"), Quantization((1 / 32768,), (0,))),
    same_scale=_SAME - {"DEPTH_TO_SPACE", "EMBEDDING_LOOKUP", "SPACE_TO_DEPTH", "TILE"}, joined_scale=_JOINED,
    steep_at_zero=frozenset({"DIV", "LOG", "RSQRT", "SQRT"}),
)  # fmt: skip
