"""Qualcomm's NPUs, by LiteRT's compiler plug-in.

Source: `litert/vendors/qualcomm/compiler/qnn_compose_graph.cc` of google-ai-edge/LiteRT, and the builders in
`litert/vendors/qualcomm/core/builders/`, which leave some options and operands unread. The SDK asks the chip about each
op besides, which is not public: what is refused here is refused by every one. Custom ops are taken with a package of
kernels only, and count as refused. GELU is computed by `erf` where TANH was asked for (`gelu_op_builder.cc`).
"""

from __future__ import annotations

from fuseconv.targets.conditions import (
    activation,
    composite,
    constant,
    option,
    padded_as_the_data,
    plain_bounds,
    types,
    without_types,
)
from fuseconv.targets.signature import OpSignature
from fuseconv.targets.target import Target, table, takes

_ACTIVATIONS = activation("RELU", "RELU_N1_TO_1", "RELU6", "TANH")
_PADDED = "float32 float16 int8 uint8 int16 uint16"


def _padding(op: OpSignature) -> str | None:
    """Demand floats, or integers with a scale, and a number of theirs to pad with (`pad_op_builder.cc`)."""
    x, number = op.operand(0), op.operand(2)
    if x is None or ("int" in x.dtype and not x.scales):
        return "it pads integers without a scale"
    bits = number is None or x.dtype in ("float32", "int8", "uint8")
    return None if bits else f"it pads {x.dtype} with a number"


def _condition(op: OpSignature) -> str | None:
    """Demand a condition that aligns at the last dimension, as that of SELECT_V2 does (`select_op_builder.cc`)."""
    condition, x = op.operand(0), op.operand(1)
    rows = condition is not None and x is not None and condition.rank == 1 < x.rank
    return "its condition is one of rows" if rows else None


def _single_step(op: OpSignature) -> str | None:
    """Demand one place along the second dimension, which is the sum of all starts
    (`dynamic_update_slice_op_builder.cc`)."""
    x, part, start = op.operand(0), op.operand(1), op.operand(2)
    if x is None or part is None or x.rank != 4 or part.shape != (x.shape[0], 1, *x.shape[2:]):
        return "it writes something else than one place along the second of 4 dimensions"
    places = start.values() if start is not None and start.is_const else None
    elsewhere = places is not None and places[[0, 2, 3]].any()
    return "it starts elsewhere than at a place of the second dimension" if elsewhere else None


def _slope(op: OpSignature) -> str | None:
    """Demand a slope of 0 or more of integers, which is made their scale (`leaky_relu_op_builder.cc`)."""
    x = op.operand(0)
    negative = x is not None and x.scales and op.options.get("alpha", 0.0) <= 0
    return "a slope of integers is not above 0" if negative else None


def _norm(op: OpSignature) -> str | None:
    """Demand norms as the plug-in reads them: of groups, with all factors, of the last dimension."""
    name, told = op.options.get("name"), op.options.get("composite_attributes") or {}
    if name == "odml.group_norm" and told.get("num_groups") == 1:
        return "a group norm of one group becomes a layer norm"
    if name == "odml.rms_norm" and len(op.operands) != 2:
        return f"it has {len(op.operands)} operands, and not 2"
    rank = op.operands[0].rank if op.operands and op.operands[0] is not None else 0
    last = name != "odml.l2_norm" or told.get("axis", -1) in (-1, rank - 1)
    return None if last else "it norms another dimension than the last"


def _exact(op: OpSignature) -> str | None:
    tanh = op.type == "GELU" and op.options.get("approximate")
    return "it is computed by erf, and not by TANH" if tanh else None


OPS = table(
    takes("ABS BATCH_MATMUL CAST CEIL COS DEPTH_TO_SPACE DEQUANTIZE ELU EMBEDDING_LOOKUP EQUAL EXP FLOOR FLOOR_DIV "
          "FLOOR_MOD GATHER_ND GELU GREATER GREATER_EQUAL HARD_SWISH L2_NORMALIZATION LESS LESS_EQUAL LOG LOGICAL_AND "
          "LOGICAL_NOT LOGICAL_OR LOGISTIC LOG_SOFTMAX MAXIMUM MINIMUM NEG NOT_EQUAL PACK POW PRELU QUANTIZE RELU "
          "RELU6 RELU_0_TO_1 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR ROUND RSQRT SELECT_V2 SIGN "
          "SIN SOFTMAX SPACE_TO_DEPTH SQRT SQUARE SQUARED_DIFFERENCE TANH UNPACK"),
    takes("ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DIV FULLY_CONNECTED L2_POOL_2D MAX_POOL_2D "
          "MUL SUB", _ACTIVATIONS),
    takes("CONV_3D", activation()),
    takes("TRANSPOSE_CONV", _ACTIVATIONS, padded_as_the_data(True)),
    takes("ARG_MAX ARG_MIN CUMSUM TRANSPOSE", constant(1)),
    takes("TILE", constant(1), types("int32 int64", 1)),
    takes("TOPK_V2", constant(1), types("int32", 1)),
    takes("MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX REDUCE_MIN SUM", constant(1), types("int32", 1)),
    takes("BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND", constant(1, 2)),
    takes("BROADCAST_TO", types("float32 int32 int8 uint8 int16 uint16 bool", 0)),
    takes("DYNAMIC_UPDATE_SLICE", types("int32", 2), _single_step),
    takes("GATHER", option("batch_dims", 0)),
    takes("LEAKY_RELU", _slope),
    takes("MIRROR_PAD PAD", constant(1), types(_PADDED, 0), _padding),
    takes("PADV2", constant(1, 2), types(_PADDED, 0), _padding),
    takes("ONE_HOT", constant(1, 2, 3), types("int32 uint32", 1)),
    takes("REVERSE_V2", constant(1), types("int32", 1),
          lambda op: None if op.operands[1].size == 1 else "it reverses several dimensions"),  # type: ignore[union-attr]
    takes("SCATTER_ND", constant(2)),
    takes("SELECT", _condition),
    takes("SLICE", constant(1, 2), types("int32", 1, 2)),
    takes("SPLIT", constant(0), lambda op: None if len(op.results) > 1 else "it splits into one"),
    takes("SPLIT_V", constant(1, 2)),
    takes("STRIDED_SLICE", types("int32", 1, 2, 3), option("ellipsis_mask", 0), option("new_axis_mask", 0),
          option("offset", False), plain_bounds),
    takes("STABLEHLO_COMPOSITE", composite("odml.rms_norm", "odml.group_norm", "odml.l2_norm"), _norm),
)  # fmt: skip

TARGETS = [
    Target(
        "qnn", "LiteRT vendors/qualcomm/compiler/qnn_compose_graph.cc and core/builders, 2026-08-21", OPS,
        every=(without_types("string resource variant complex64 complex128 bfloat16"),), remarks=(_exact,),
    )
]  # fmt: skip
