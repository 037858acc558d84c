"""What TFLite's builtin ops have in common: types that more than one module goes by, in the order in which patterns try
them. They are in capitals, as no TF op's is. What a single rule needs stands there."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.graph import Op

ELEMENTWISE = (
    "ABS", "ADD", "CAST", "CEIL", "COS", "DIV", "ELU", "EQUAL", "EXP", "FLOOR", "FLOOR_DIV", "FLOOR_MOD", "GELU",
    "GREATER", "GREATER_EQUAL", "HARD_SWISH", "LEAKY_RELU", "LESS", "LESS_EQUAL", "LOG", "LOGICAL_AND", "LOGICAL_NOT",
    "LOGICAL_OR", "LOGISTIC", "MAXIMUM", "MINIMUM", "MUL", "NEG", "NOT_EQUAL", "POW", "RELU", "RELU6", "RELU_0_TO_1",
    "RELU_N1_TO_1", "ROUND", "RSQRT", "SELECT_V2", "SIGN", "SIN", "SQRT", "SQUARE", "SQUARED_DIFFERENCE", "SUB", "TANH",
)  # fmt: skip
ARITHMETIC = ("ADD", "SUB", "MUL", "DIV")
COMMUTATIVE = ("ADD", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
# Ops, and the types of which their kernels take 1.2 to 10 times as long if the operands' shapes differ.
BROADCASTS_SLOWLY = {
    "MAXIMUM": (types.INT32, types.INT64), "MINIMUM": (types.INT32, types.INT64),
    "SELECT_V2": (types.FLOAT32, types.INT32), "SQUARED_DIFFERENCE": (types.INT32, types.INT64),
}  # fmt: skip
REDUCTIONS = ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "REDUCE_ANY", "REDUCE_ALL")
CONVOLUTIONS = ("CONV_2D", "DEPTHWISE_CONV_2D")
POOLS = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
# LiteRT multiplies by their weights a row at a time, without XNNPACK.
FUSED_RECURRENT = (
    "UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_LSTM",
    "BIDIRECTIONAL_SEQUENCE_RNN",
)  # fmt: skip
# Ops that run subgraphs on their own operands.
CONTROL_FLOW = ("IF", "WHILE")

# Ops that give the elements of their operand another shape, in their order; and those that also change the order.
RESHAPES = ("RESHAPE", "EXPAND_DIMS", "SQUEEZE")
LAYOUT_CHANGES = (*RESHAPES, "TRANSPOSE")
# Ops whose result LiteRT may put where their first operand is, as the bytes are the same; and those that may write it
# over one of their first operands, with how many of these (`inplace_operator` of the kernels' registrations).
SHARE_MEMORY = frozenset({*RESHAPES, "BITCAST"})
WRITE_IN_PLACE = {"ADD": 2, "SUB": 2, "MUL": 2, "DIV": 2, "SOFTMAX": 1, "DYNAMIC_UPDATE_SLICE": 1}
# Ops that take elements from one place to another, and compute nothing.
MOVES = frozenset({
    "BROADCAST_TO", "CONCATENATION", "DYNAMIC_UPDATE_SLICE", "GATHER", "GATHER_ND", "ONE_HOT", "PACK",
    "REVERSE_SEQUENCE", "REVERSE_V2", "SELECT", "SELECT_V2", "SLICE", "SPLIT", "SPLIT_V", "STRIDED_SLICE", "TILE",
    "TRANSPOSE", "UNPACK",
})  # fmt: skip

# Ops whose results' sizes follow from their operands' sizes, and from what those operands hold that tell sizes. The
# runtime knows them as it allocates tensors, if it knows these.
SIZED_BY_OPERANDS = frozenset({
    *ELEMENTWISE, *REDUCTIONS, *CONVOLUTIONS, *LAYOUT_CHANGES, *MOVES, *FUSED_RECURRENT, "ADD_N", "ARG_MAX", "ARG_MIN",
    "AVERAGE_POOL_2D", "BATCH_MATMUL", "CONV_3D", "CUMSUM",
    "DEPTH_TO_SPACE", "DEQUANTIZE", "EMBEDDING_LOOKUP", "FILL", "FULLY_CONNECTED", "LOG_SOFTMAX", "L2_NORMALIZATION",
    "MAX_POOL_2D", "MIRROR_PAD", "PAD", "PADV2", "PRELU", "QUANTIZE", "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR",
    "SHAPE", "SOFTMAX", "SPACE_TO_DEPTH", "TOPK_V2", "ZEROS_LIKE",
})  # fmt: skip
# Ops whose constants may as well be results of other ops, and that rounding these changes as little as
# it changes them: DIV is none, nor what has poles.
TAKES_COMPUTED_CONSTANTS = frozenset({
    *CONVOLUTIONS, *FUSED_RECURRENT, "ADD", "BATCH_MATMUL", "CONCATENATION", "CONV_3D", "EMBEDDING_LOOKUP",
    "FULLY_CONNECTED", "GATHER", "MAXIMUM", "MINIMUM", "MUL", "PRELU", "SELECT", "SELECT_V2", "SQUARED_DIFFERENCE",
    "SUB", "TRANSPOSE_CONV",
})  # fmt: skip

def activation_of(op: Op) -> str:
    """Return the activation that an op ends with, "NONE" if it has none."""
    return op.attrs.get("fused_activation_function", "NONE")  # type: ignore[no-any-return]
