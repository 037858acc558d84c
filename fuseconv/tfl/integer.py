"""Integer kernels: which ops compute on int8, and which scales their operands and results must have.

Measured by running every kernel (`tests/tfl/test_integer.py` does so again). Most kernels that demand equal scales do
not check it: other ones give wrong numbers, silently.
"""

from __future__ import annotations

from fuseconv.ir.graph import Op, Quantization

# The result has any scale: that of its own range.
OWN_SCALE = frozenset({
    "ABS", "ADD", "BATCH_MATMUL", "CONV_2D", "DEPTHWISE_CONV_2D", "DIV", "ELU", "EXP", "FULLY_CONNECTED", "GELU",
    "HARD_SWISH", "LEAKY_RELU", "LOG", "MEAN", "MUL", "PRELU", "REDUCE_PROD", "RELU", "RELU6", "RELU_0_TO_1",
    "RELU_N1_TO_1", "RSQRT", "SQRT", "SQUARED_DIFFERENCE", "SUB", "SUM", "TRANSPOSE_CONV",
})  # fmt: skip
# The result has this scale, whatever its range is. LiteRT takes others for TANH; XNNPACK, TFLite Micro and NPUs do not.
FIXED_SCALE = {
    "L2_NORMALIZATION": Quantization((1 / 128,), (0,)),
    "LOG_SOFTMAX": Quantization((16 / 256,), (127,)),
    "LOGISTIC": Quantization((1 / 256,), (-128,)),
    "SOFTMAX": Quantization((1 / 256,), (-128,)),
    "TANH": Quantization((1 / 128,), (0,)),
}
# The results have the scale of the operand.
SAME_SCALE = frozenset({
    "AVERAGE_POOL_2D", "BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "EMBEDDING_LOOKUP", "EXPAND_DIMS", "FILL", "GATHER",
    "GATHER_ND", "MAX_POOL_2D", "MIRROR_PAD", "PAD", "REDUCE_MAX", "REDUCE_MIN", "RESHAPE", "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR", "REVERSE_V2", "SLICE", "SPACE_TO_BATCH_ND", "SPACE_TO_DEPTH", "SPLIT", "SPLIT_V",
    "SQUEEZE", "STRIDED_SLICE", "TILE", "TRANSPOSE", "UNPACK",
})  # fmt: skip
# The operands and the result have one scale.
JOINED_SCALE = frozenset({
    "CONCATENATION", "DYNAMIC_UPDATE_SLICE", "MAXIMUM", "MINIMUM", "PACK", "PADV2", "SELECT", "SELECT_V2",
})  # fmt: skip
# Ops that read the shape of what they are given, whatever it holds.
READS_SHAPE = ("RANK", "SHAPE")
# No stored number may be below zero: the kernel fails as it runs.
NOT_NEGATIVE = frozenset({"RSQRT", "SQRT"})


def has_integer_kernel(op: Op) -> bool:
    """Return whether the table knows how the op computes on int8."""
    return op.type in OWN_SCALE or op.type in FIXED_SCALE or op.type in SAME_SCALE or op.type in JOINED_SCALE


def moves(op: Op) -> bool:
    """Return whether an op hands on numbers, so that it is as exact in integers as in floats, and as fast."""
    return op.type in SAME_SCALE or op.type in JOINED_SCALE
