"""XNNPACK, which runs a file's ops on CPUs unless an application leaves it out; LiteRT's own kernels run the others.

Source: `tflite/delegates/xnnpack/xnnpack_delegate.cc` of google-ai-edge/LiteRT, with what it takes by default:
floats and integers of 8 bits with a scale. EXPAND_DIMS is listed there and always refused.
"""

from __future__ import annotations

from fuseconv.targets.conditions import (
    activation,
    composite,
    constant,
    operands,
    option,
    positive,
    rank,
    ranks_up_to,
    results,
    same_types,
    types,
)
from fuseconv.targets.signature import OpSignature
from fuseconv.targets.target import Target, table, takes

_FLOAT = "float32 float16"
_NUMBERS = f"{_FLOAT} int8 uint8"
_ACTIVATIONS = activation("RELU", "RELU_N1_TO_1", "RELU6")
_POOL = positive("filter_height", "filter_width", "stride_h", "stride_w")


def _scaled(*indices: int):
    """Demand floats, or integers with one scale for all elements, of these operands and of the results."""

    def check(op: OpSignature) -> str | None:
        for tensor in (*[op.operand(index) for index in indices], *op.results):
            if tensor is None or tensor.dtype in _FLOAT.split():
                continue
            if tensor.dtype not in ("int8", "uint8") or tensor.scales != 1:
                return f"a tensor is of {tensor.dtype} without a scale" if not tensor.scales else "it is scaled by rows"
        return None

    return check


def _windows(op: OpSignature) -> str | None:
    options = op.options
    if options["stride_h"] > options["filter_height"] or options["stride_w"] > options["filter_width"]:
        return "its windows are further apart than they are wide"
    return None


def _steps_of_one(op: OpSignature) -> str | None:
    strides = op.operand(3)
    values = strides.values() if strides is not None else None
    return None if values is not None and (values == 1).all() else "its strides are not all 1"


def _reduces(op: OpSignature) -> str | None:
    x, axes = op.operand(0), op.operand(1)
    if x is None or axes is None or axes.rank > 1 or not x.rank:
        return "it reduces nothing"
    return None


def _matrices(op: OpSignature) -> str | None:
    ranks = [tensor.rank for tensor in op.operands[:2] if tensor is not None]
    return None if min(ranks) > 1 else "an operand has less than 2 dimensions"


_SCALED = _scaled(0)
_ARITHMETIC = (operands(2), _scaled(0, 1), same_types(0, 1), _ACTIVATIONS)
_MOVES = (operands(2), _SCALED, constant(1))

OPS = table(
    takes("ABS CEIL COS EXP FLOOR GELU HARD_SWISH LOG NEG RELU_N1_TO_1 RELU RELU6 ROUND RSQRT SIN SQRT SQUARE",
          operands(1), types(_FLOAT)),
    takes("SOFTMAX", operands(1), types(_FLOAT), option("beta", 1.0)),
    takes("ELU LEAKY_RELU LOGISTIC TANH", operands(1), _SCALED),
    takes("DEQUANTIZE", operands(1), types("int8 uint8", 0)),
    takes("QUANTIZE", operands(1), types(_NUMBERS)),
    takes("ADD MUL SUB", *_ARITHMETIC),
    takes("DIV MAXIMUM MINIMUM PRELU SQUARED_DIFFERENCE", operands(2), types(_FLOAT), activation()),
    takes("AVERAGE_POOL_2D MAX_POOL_2D", operands(1), _SCALED, _POOL, _windows, _ACTIVATIONS),
    takes("BATCH_MATMUL", operands(2), types(_NUMBERS), _matrices),
    takes("CONCATENATION", operands(2, 5), _scaled(0, 1, 2, 3, 4), activation()),
    takes("CONV_2D DEPTHWISE_CONV_2D", operands(2, 3), _SCALED, rank(0, 4), rank(1, 4), constant(1, 2), _ACTIVATIONS),
    takes("TRANSPOSE_CONV", operands(3, 4), _scaled(2), types("int32", 0), rank(2, 4), constant(0, 1, 3), _ACTIVATIONS),
    takes("FULLY_CONNECTED", operands(2, 3), option("weights_format", "DEFAULT"), _SCALED, rank(1, 2), _ACTIVATIONS),
    takes("DEPTH_TO_SPACE SPACE_TO_DEPTH", operands(1), _SCALED,
          lambda op: None if op.options.get("block_size", 0) > 1 else "the block must be larger than 1"),
    takes("MEAN SUM REDUCE_MAX REDUCE_MIN", *_MOVES, types("int32", 1), _reduces),
    takes("PAD TRANSPOSE", *_MOVES),
    takes("RESHAPE", operands(1, 2), _SCALED, constant(1)),
    takes("RESIZE_BILINEAR", *_MOVES, types("float32 int8 uint8", 0), rank(0, 4)),
    takes("SLICE", operands(3), _SCALED, constant(1, 2)),
    takes("SPLIT", operands(2), _scaled(1), constant(0),
          lambda op: None if 2 <= len(op.results) <= 4 else f"it makes {len(op.results)} parts, and not 2 to 4"),
    takes("STRIDED_SLICE", operands(4), _SCALED, constant(1, 2, 3), types("int32", 1, 2, 3), _steps_of_one,
          option("ellipsis_mask", 0), option("new_axis_mask", 0), option("shrink_axis_mask", 0)),
    takes("VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE"),
    takes("STABLEHLO_COMPOSITE", results(1), composite("odml.scaled_dot_product_attention")),
)  # fmt: skip

TARGETS = [Target("xnnpack", "LiteRT xnnpack_delegate.cc, 2026-08-21", OPS, every=(ranks_up_to(6),), on_cpu=True)]
