"""Operator versions: which types, ranks and options a kernel must know to run an op.

Source of the contract: `op_version.cc` of LiteRT's converter tools. A runtime refuses a version that is higher than its
own; `runtime_versions.py` tells which release has which.
"""

from __future__ import annotations

from collections.abc import Callable

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.opdef import TABLE

_INT16_3 = {"int16": 3, "int8": 2}
_INT8_2 = {"int8": 2}
_HALF_2 = {"float16": 2}

# Where the type of one operand alone decides: the operand's index and the versions of types other than 1.
_BY_TYPE: dict[str, tuple[int, dict[str, int]]] = {
    "ARG_MAX": (0, {"bool": 3, "int8": 2}),
    "ARG_MIN": (0, {"bool": 3, "int8": 2}),
    "AVERAGE_POOL_2D": (0, _INT16_3),
    "CONCATENATION": (0, {"float16": 6, "uint32": 4, "int16": 3, "int8": 2}),
    "COS": (0, _HALF_2),
    "DEPTH_TO_SPACE": (0, _INT8_2),
    "EQUAL": (0, {"int16": 5, "string": 3, "int8": 2}),
    "EXP": (0, {"int8": 2, "int16": 2}),
    "FILL": (1, {"float16": 4, "int8": 3, "int16": 3, "bool": 2, "string": 2}),
    "FLOOR_DIV": (0, {"int16": 3, "int8": 3, "float32": 2}),
    "FLOOR_MOD": (0, {"int16": 2, "int8": 2}),
    "GELU": (0, {"float16": 3, "int8": 2, "uint8": 2}),
    "GREATER": (0, _INT8_2),
    "GREATER_EQUAL": (0, _INT16_3),
    "L2_NORMALIZATION": (0, _INT8_2),
    "LEAKY_RELU": (0, {"int16": 2}),
    "LESS": (0, _INT16_3),
    "LESS_EQUAL": (0, _INT8_2),
    "LOG": (0, {"int8": 2, "int16": 2}),
    "LOGISTIC": (0, _INT16_3),
    "LOG_SOFTMAX": (0, _INT8_2),
    "MAX_POOL_2D": (0, _INT16_3),
    "MEAN": (0, _INT16_3),
    "MIRROR_PAD": (0, _INT16_3),
    "NOT_EQUAL": (0, {"int16": 4, "string": 3, "int8": 2}),
    "PACK": (0, {"int8": 2, "int16": 3, "uint32": 4}),
    "RANGE": (0, {"int64": 2}),
    "REDUCE_MAX": (0, _INT16_3),
    "REDUCE_MIN": (0, _INT16_3),
    "REDUCE_PROD": (0, {"int8": 2, "int16": 2}),
    "RELU": (0, {"int16": 3, "int8": 2, "uint8": 2}),
    "RELU6": (0, _INT16_3),
    "REVERSE_V2": (0, {"int8": 3, "bool": 2}),
    "RSQRT": (0, _INT16_3),
    "SELECT_V2": (0, {"uint32": 2}),
    "SIGN": (0, {"int32": 2}),
    "SIN": (0, _HALF_2),
    "SOFTMAX": (0, {"float16": 4, "int16": 3, "int8": 2}),
    "SPACE_TO_DEPTH": (0, _INT8_2),
    "SPARSE_TO_DENSE": (2, {"int8": 3, "uint8": 3, "int64": 2}),
    "SPLIT": (1, {"int16": 4, "int32": 3, "int8": 2}),
    "SPLIT_V": (0, _INT8_2),
    "SQRT": (0, {"int8": 2, "int16": 2}),
    "SQUARED_DIFFERENCE": (0, _INT8_2),
    "SQUEEZE": (0, {"string": 2}),
    "SUM": (0, _INT8_2),
    "TANH": (0, _INT16_3),
    "TILE": (0, {"int8": 3, "string": 2}),
    "UNPACK": (0, {"int8": 2, "uint8": 2, "bool": 3, "int16": 4, "float16": 5, "bfloat16": 5}),
}


def op_version(op: Op) -> int:
    """Return the version that a "tfl" op of the table needs. CUSTOM ops have version 1."""
    rule = _RULES.get(op.type)
    if rule is not None:
        return rule(op)
    index, versions = _BY_TYPE.get(op.type, (0, {}))
    return versions.get(_type(op, index), 1)


def _type(op: Op, index: int) -> str:
    """Return the name of an operand's type; "" where there is no such operand."""
    value = op.operands[index] if index < len(op.operands) else None
    return "" if value is None else value.dtype.name


def _option(op: Op, name: str) -> object:
    return op.attrs.get(name, TABLE[op.type].defaults[name])


def _rank(value: Value | None) -> int:
    return 0 if value is None or value.shape is None else len(value.shape)


def _quantized(value: Value | None) -> bool:
    return value is not None and value.quantization is not None


def _per_channel(value: Value | None) -> bool:
    return value is not None and value.quantization is not None and len(value.quantization.scale) > 1


def _hybrid(op: Op) -> bool:
    """Return whether an op computes on float activations and int8 weights."""
    return _type(op, 0) == "float32" and _type(op, 1) == "int8" and op.result.dtype is types.FLOAT32


def _all(op: Op, name: str) -> bool:
    """Return whether activations, weights and result are of this type."""
    return name == _type(op, 0) == _type(op, 1) == op.result.dtype.name


def _int16x8_with_bias_type(op: Op) -> bool:
    activations = "int16" == _type(op, 0) == op.result.dtype.name
    return activations and _type(op, 1) == "int8" and _option(op, "quantized_bias_type") != "FLOAT32"


def _many_broadcast_dims(op: Op) -> bool:
    """Return whether the operands have unequal shapes, one of them of more than four dimensions."""
    left, right = op.operands[:2]
    same = left is not None and right is not None and left.shape == right.shape
    return not same and max(_rank(left), _rank(right)) > 4


def _conv_2d(op: Op) -> int:
    x, weights = op.operands[:2]
    if _int16x8_with_bias_type(op):
        return 8
    if x is not None and weights is not None and x.shape and weights.shape and x.shape[3] != weights.shape[3]:
        return 6
    if _all(op, "int16"):
        return 4
    if _all(op, "int8"):
        return 3
    if _hybrid(op):
        return 5 if _per_channel(weights) else 2
    return 1


def _depthwise_conv_2d(op: Op) -> int:
    if _all(op, "int16"):
        return 5
    if _hybrid(op):
        return 6 if _per_channel(op.operands[1]) else 4
    if _all(op, "int8"):
        return 3
    dilated = _option(op, "dilation_w_factor") != 1 or _option(op, "dilation_h_factor") != 1
    return 2 if dilated else 1


def _fully_connected(op: Op) -> int:
    if _type(op, 1) == "int4" or (_hybrid(op) and _per_channel(op.operands[1])):
        return 12
    if _int16x8_with_bias_type(op):
        return 11
    if _all(op, "int16"):
        return 7
    if len(op.operands) == 2:
        return 6
    if _option(op, "keep_num_dims"):
        return 5
    if _all(op, "int8"):
        return 4
    if _hybrid(op):
        return 9 if _option(op, "asymmetric_quantize_inputs") else 3
    return 2 if _option(op, "weights_format") == "SHUFFLED4x16INT8" else 1


def _transpose_conv(op: Op) -> int:
    # The data is the third operand.
    if _type(op, 2) == "int16" and _option(op, "quantized_bias_type") != "FLOAT32":
        return 5
    if _option(op, "fused_activation_function") != "NONE":
        return 4
    if len(op.operands) == 4 and op.operands[3] is not None:
        return 3
    return 2 if _type(op, 1) == "int8" else 1


def _gather(op: Op) -> int:
    if _type(op, 1) == "int16":
        return 6
    if _option(op, "batch_dims") != 0:
        return 5
    return {"int16": 4, "bool": 3, "int8": 2}.get(_type(op, 0), 1)


def _gather_nd(op: Op) -> int:
    if _type(op, 0) == "bool":
        return 5
    if _type(op, 1) == "int16":
        return 4
    return {"int16": 3, "string": 2}.get(_type(op, 0), 1)


def _add(op: Op) -> int:
    if _type(op, 0) == "int16":
        if not _quantized(op.operands[0]):
            return 5
        return 1 if _option(op, "pot_scale_int16") else 3
    return {"float16": 6, "int64": 4, "int8": 2}.get(_type(op, 0), 1)


def _sub(op: Op) -> int:
    if _type(op, 0) == "int16" and not _option(op, "pot_scale_int16"):
        return 5
    if _type(op, 0) == "int64":
        return 4
    if _many_broadcast_dims(op):
        return 3
    return 2 if _type(op, 0) == "int8" else 1


def _mul(op: Op) -> int:
    name = _type(op, 0)
    left, right = op.operands[:2]
    if name == "int16":
        return 4 if _quantized(left) or _quantized(right) else 7
    if name in ("float16", "uint32", "complex64", "int64"):
        return {"float16": 8, "uint32": 7, "complex64": 6, "int64": 5}[name]
    scales = [v.quantization.scale[0] for v in (left, right, op.result) if v is not None and v.quantization]
    if len(scales) == 3 and scales[0] * scales[1] / scales[2] >= 1:
        return 3
    return 2 if name == "int8" else 1


def _extreme(op: Op) -> int:
    if _type(op, 0) == "int16":
        return 4
    if _many_broadcast_dims(op):
        return 3
    return 2 if _type(op, 0) == "int8" else 1


def _transpose(op: Op) -> int:
    if _type(op, 0) == "float16":
        return 9
    rank = _rank(op.operands[0])
    if rank > 6 or _type(op, 0) == "bfloat16":
        return 8
    if rank > 5:
        return 6
    if _type(op, 0) == "int16":
        return 5
    if rank > 4:
        return 4
    return {"bool": 3, "int8": 2}.get(_type(op, 0), 1)


def _slice(op: Op) -> int:
    if _type(op, 0) in ("float16", "uint32"):
        return {"float16": 8, "uint32": 6}[_type(op, 0)]
    if _rank(op.operands[0]) > 4:
        return 5
    return {"int16": 4, "string": 3, "int8": 2}.get(_type(op, 0), 1)


def _strided_slice(op: Op) -> int:
    if _option(op, "offset"):
        return 8
    if _type(op, 0) == "uint32":
        return 7
    if _option(op, "ellipsis_mask") or _option(op, "new_axis_mask"):
        return 6
    if _type(op, 0) == "string":
        return 5
    if _rank(op.operands[0]) > 4:
        return 4
    return {"bool": 3, "int8": 2}.get(_type(op, 0), 1)


def _pad(op: Op) -> int:
    if _type(op, 0) == "bool":
        return 5
    if _rank(op.operands[0]) > 4:
        return 4
    return _INT16_3.get(_type(op, 0), 1)


def _space_batch(op: Op) -> int:
    if _type(op, 0) == "int16":
        return 4
    if _rank(op.operands[0]) != 4:
        return 3
    return 2 if _type(op, 0) == "int8" else 1


def _resize_bilinear(op: Op) -> int:
    if _type(op, 0) == "int16":
        return 4
    if _option(op, "half_pixel_centers"):
        return 3
    return 2 if _type(op, 0) == "int8" else 1


def _resize_nearest(op: Op) -> int:
    if _type(op, 0) != "int16" and _option(op, "align_corners"):
        return 3
    return _resize_bilinear(op)


def _batch_matmul(op: Op) -> int:
    if _type(op, 0) in _INT16_3:
        return _INT16_3[_type(op, 0)]
    return 4 if _hybrid(op) and _option(op, "asymmetric_quantize_inputs") else 1


def _cast(op: Op) -> int:
    """Return the newer of the versions that the two types need."""
    names = {_type(op, 0), op.result.dtype.name}
    versions = {"bfloat16": 7, "float64": 5, "float16": 5, "uint16": 4, "int8": 3, "uint32": 2}
    return max(versions.get(name, 1) for name in names)


def _select(op: Op) -> int:
    if 5 in map(_rank, op.operands):
        return 3
    return 2 if _type(op, 0) == "int8" else 1


def _abs(op: Op) -> int:
    if _type(op, 0) == "int16":
        return 3 if _quantized(op.operands[0]) else 4
    return {"int32": 5, "int8": 2, "uint8": 2}.get(_type(op, 0), 1)


def _dequantize(op: Op) -> int:
    if _type(op, 0) == "int8":
        return 5 if _per_channel(op.operands[0]) else 2
    return {"int16": 3, "float16": 3}.get(_type(op, 0), 1)


def _quantize(op: Op) -> int:
    if _per_channel(op.result):
        return 3
    return 2 if op.result.dtype is types.INT16 else 1


def _topk(op: Op) -> int:
    if "int16" in (_type(op, 0), _type(op, 1), op.results[1].dtype.name):
        return 3
    return 2 if _type(op, 0) == "int8" else 1


def _dynamic_update_slice(op: Op) -> int:
    if _type(op, 0) in ("bfloat16", "int16", "float16"):
        return {"bfloat16": 6, "int16": 4, "float16": 3}[_type(op, 0)]
    return 2 if _type(op, 2) == "int64" else 1


def _recurrent(op: Op) -> int:
    """Return the version of RNNs and the bidirectional LSTM: higher with int8 weights, and if inputs are asymmetric."""
    if _type(op, 1) == "int8" and op.result.dtype is types.FLOAT32:
        return 3 if _option(op, "asymmetric_quantize_inputs") else 2
    return 1


def _lstm(op: Op) -> int:
    hybrid = _type(op, 0) == "float32" and _type(op, 2) == "int8"
    if _option(op, "kernel_type") == "BASIC":
        return 2
    if _type(op, 0) == "int16" and _type(op, 2) == "int8":
        return 5
    if hybrid:
        return 4 if _option(op, "asymmetric_quantize_inputs") else 3
    return 1


def _sequence_lstm(op: Op) -> int:
    if _type(op, 0) == "int16" and _type(op, 2) == "int8":
        return 5
    if _option(op, "diagonal_recurrent_tensors"):
        return 4
    if _type(op, 0) == "float32" and _type(op, 2) == "int8":
        return 3 if _option(op, "asymmetric_quantize_inputs") else 2
    return 1


def _svdf(op: Op) -> int:
    if _type(op, 0) == "int8":
        return 3
    if _hybrid(op):
        return 4 if _option(op, "asymmetric_quantize_inputs") else 2
    return 1


_RULES: dict[str, Callable[[Op], int]] = {
    "ABS": _abs,
    "ADD": _add,
    "BATCH_MATMUL": _batch_matmul,
    "BATCH_TO_SPACE_ND": _space_batch,
    "BIDIRECTIONAL_SEQUENCE_LSTM": _recurrent,
    "BIDIRECTIONAL_SEQUENCE_RNN": _recurrent,
    # Version 1 was withdrawn.
    "BROADCAST_TO": lambda op: 3 if _type(op, 0) in ("int8", "int16") else 2,
    "CAST": _cast,
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "DEQUANTIZE": _dequantize,
    "DIV": lambda op: 2 if _many_broadcast_dims(op) else 1,
    "DYNAMIC_UPDATE_SLICE": _dynamic_update_slice,
    "EMBEDDING_LOOKUP": lambda op: 4 if _per_channel(op.operands[1]) else 1,
    "FAKE_QUANT": lambda op: 2 if _option(op, "narrow_range") else 1,
    "FULLY_CONNECTED": _fully_connected,
    "GATHER": _gather,
    "GATHER_ND": _gather_nd,
    "LSTM": _lstm,
    "MAXIMUM": _extreme,
    "MINIMUM": _extreme,
    "MUL": _mul,
    "PAD": _pad,
    "PADV2": _pad,
    "QUANTIZE": _quantize,
    "RESIZE_BILINEAR": _resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest,
    "RNN": _recurrent,
    "SELECT": _select,
    "SLICE": _slice,
    "SPACE_TO_BATCH_ND": _space_batch,
    "STRIDED_SLICE": _strided_slice,
    "SUB": _sub,
    "SVDF": _svdf,
    "TOPK_V2": _topk,
    "TRANSPOSE": _transpose,
    "TRANSPOSE_CONV": _transpose_conv,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _sequence_lstm,
    "UNIDIRECTIONAL_SEQUENCE_RNN": _recurrent,
    "WHERE": lambda op: 1 if _type(op, 0) == "bool" else 2,
}
