"""Limits of the TFLite runtime's kernels: element types (not quantized) and ranks.

Measured by running one-op models, each op with every type and rank, in the interpreters of TF 2.21 and of LiteRT 2.3,
with XNNPACK and without. A type is listed if all four give the right result. An op that is not listed was not measured.
"""

from __future__ import annotations

import itertools

from fuseconv.ir.dims import Shape, is_static
from fuseconv.ir.graph import Op
from fuseconv.ir.types import BY_NAME, DType

# Of a dimension: shapes are vectors of int32.
LARGEST_SIZE = (1 << 31) - 1
# Numpy 1's arrays have no more dimensions; TFLite's kernels take far fewer.
LARGEST_RANK = 32

# Ops whose kernel, or XNNPACK, refuses an operand without elements, though the result has some.
WANT_ELEMENTS = frozenset({
    "ARG_MAX", "ARG_MIN", "BATCH_MATMUL", "CONV_2D", "CONV_3D", "CONV_3D_TRANSPOSE", "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED", "GATHER", "GATHER_ND", "TRANSPOSE_CONV", "UNPACK",
})  # fmt: skip

_BYTES = "float32 float16 bfloat16 int8 uint8 int16 int32 int64 bool"
_NUMBERS = "float32 int32 int64"

_TYPES = {
    # Arithmetic. ADD and SUB of int16, MUL and DIV of small integers, SUM and MEAN of them are quantized arithmetic.
    "ADD": _NUMBERS,
    "SUB": _NUMBERS,
    "MUL": f"{_NUMBERS} complex64",
    "DIV": "float32 int32",
    "FLOOR_DIV": "int32 int8 int16",
    "FLOOR_MOD": f"{_NUMBERS} int8 int16",
    "MAXIMUM": f"{_NUMBERS} int8 uint8 int16",
    "MINIMUM": f"{_NUMBERS} int8 uint8 int16",
    "POW": "float32 int32",
    "SQUARED_DIFFERENCE": "float32 int32",
    "ATAN2": "float32 float64",
    "ADD_N": "float32 int32",
    "BITWISE_XOR": "int32 int8 uint8 int16 uint16 uint32",
    "RIGHT_SHIFT": "int32 int8 uint8 int16 uint16 uint32",
    "STABLEHLO_AND": "int32 int64 int8 uint8 int16 uint32",
    "EQUAL": f"{_NUMBERS} bool string",
    "NOT_EQUAL": f"{_NUMBERS} bool string",
    "LESS": _NUMBERS,
    "LESS_EQUAL": _NUMBERS,
    "GREATER": _NUMBERS,
    "GREATER_EQUAL": _NUMBERS,
    "LOGICAL_AND": "bool",
    "LOGICAL_OR": "bool",
    "LOGICAL_NOT": "bool",
    "ABS": "float32 int32",
    "NEG": f"{_NUMBERS} int8 int16",
    "SIGN": "float32 float64 int32",
    "SELECT": f"{_BYTES} uint16 uint32",
    "SELECT_V2": f"{_BYTES} uint16 uint32",
    # Reductions.
    "SUM": _NUMBERS,
    "MEAN": _NUMBERS,
    "REDUCE_PROD": _NUMBERS,
    "REDUCE_MAX": f"{_NUMBERS} int8 uint8 int16",
    "REDUCE_MIN": f"{_NUMBERS} int8 uint8 int16",
    "REDUCE_ANY": "bool",
    "REDUCE_ALL": "bool",
    "ARG_MAX": "float32 int32 int8 uint8 bool",
    "ARG_MIN": "float32 int32 int8 uint8 bool",
    "CUMSUM": _NUMBERS,
    "TOPK_V2": f"{_NUMBERS} int8 uint8 int16",
    "UNSORTED_SEGMENT_SUM": "float32 int32",
    "UNSORTED_SEGMENT_PROD": "float32 int32",
    "UNSORTED_SEGMENT_MAX": "float32 int32",
    "UNSORTED_SEGMENT_MIN": "float32 int32",
    "BUCKETIZE": _NUMBERS,
    # Ops that move elements.
    "CONCATENATION": f"{_BYTES} uint32",
    "PACK": "float32 int32 int64 int8 uint8 int16 uint32",
    "UNPACK": "float32 int32 int8 uint8 int16 bool",
    "SPLIT": "float32 int32 int64 int8 uint8 int16",
    "SPLIT_V": "float32 int32 int64 int8 uint8 int16",
    "SLICE": f"{_BYTES} uint32 string",
    "STRIDED_SLICE": f"{_BYTES} uint32 string",
    "GATHER": f"{_BYTES} string",
    "GATHER_ND": f"{_BYTES} string",
    "SCATTER_ND": "float32 int32 int64 int8 uint8",
    "SPARSE_TO_DENSE": "float32 int32 int64 int8 uint8",
    "TRANSPOSE": "float32 int32 int64 int8 uint8 int16 bool",
    "PAD": _BYTES,
    "PADV2": _BYTES,
    "MIRROR_PAD": "float32 int32 int64 int8 uint8 int16",
    "BROADCAST_TO": f"{_BYTES} uint16 uint32 float64 uint64",
    "TILE": "float32 int32 int64 int8 uint8 bool string",
    "FILL": "float32 int32 int64 float16 int8 int16 bool string",
    "ONE_HOT": "float32 int32 int64 int8 uint8 bool",
    "RANGE": _NUMBERS,
    "REVERSE_V2": _BYTES,
    "REVERSE_SEQUENCE": "float32 int32 int64 uint8 int16",
    "DYNAMIC_UPDATE_SLICE": "float32 int32 int64 float16 int8 int16 bool",
    "MATRIX_DIAG": "float32 int32 int64 int8 uint8 int16",
    "MATRIX_SET_DIAG": "float32 int32 int64 int8 uint8 int16",
    "UNIQUE": "float32 int32 int64 int8 uint8 int16",
    "WHERE": "bool float32 int32 int64 int8 uint8 uint32",
}  # fmt: skip

TYPES: dict[str, tuple[DType, ...]] = {
    name: tuple(BY_NAME[dtype] for dtype in listed.split()) for name, listed in _TYPES.items()
}

# The largest rank at which operands of different shapes broadcast; beyond it TF 2.21's interpreter ends the process.
BROADCAST_RANK = {
    "ADD": 6, "SUB": 6, "MUL": 6, "DIV": 5, "MAXIMUM": 5, "MINIMUM": 5, "FLOOR_DIV": 4, "FLOOR_MOD": 4, "POW": 4,
    "SQUARED_DIFFERENCE": 4, "EQUAL": 4, "NOT_EQUAL": 4, "LESS": 4, "LESS_EQUAL": 4, "GREATER": 4, "GREATER_EQUAL": 4,
    "LOGICAL_AND": 4, "LOGICAL_OR": 4, "BITWISE_XOR": 4, "RIGHT_SHIFT": 4, "SELECT_V2": 5, "ATAN2": 0,
    "STABLEHLO_AND": 0,
}  # fmt: skip

# The largest rank of the operands and results of an op. Each op was run with ranks 1 to 8 in TF 2.21 and LiteRT 2.3;
# what is not here took 8. XNNPACK's tensors have up to 6 dimensions, and it fails to prepare an op of more.
_RANK_OF_FLOATS = {
    "SUM": 6, "MEAN": 6, "REDUCE_MAX": 6, "REDUCE_MIN": 6, "CONCATENATION": 6, "SPLIT": 6, "SOFTMAX": 6,
    "FULLY_CONNECTED": 6,
}  # fmt: skip
_RANK_OF_LITERT = {
    "PAD": 5, "PADV2": 5, "BATCH_MATMUL": 5, "UNIQUE": 1, "BROADCAST_TO": 8, "DYNAMIC_UPDATE_SLICE": 8,
    "REVERSE_V2": 8, "SQUEEZE": 8,
}  # fmt: skip
_RANK_OF_TF = {"SLICE": 5, "STRIDED_SLICE": 5, "TRANSPOSE": 6, "DILATE": 6, "L2_NORMALIZATION": 4}
# What rules keep to where they can. A file beyond the limits of TF's interpreter alone is written: LiteRT runs it.
RANK = {**_RANK_OF_FLOATS, **_RANK_OF_LITERT, **_RANK_OF_TF}


# Ops whose data are their first operand: the result is of another type.
_READ_THEIR_TYPE = frozenset({
    "ARG_MAX", "ARG_MIN", "BUCKETIZE", "EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL", "WHERE",
})  # fmt: skip


def type_excess(op: Op) -> str:
    """Return why LiteRT has no kernel for a TFLite op of this element type, as a sentence's end; empty if it has one.

    Of quantized data, and of ops that were not measured, nothing is said."""
    known = TYPES.get(op.type)
    value = op.operands[0] if op.type in _READ_THEIR_TYPE else op.results[0] if op.results else None
    if known is None or value is None or value.quantization or value.dtype in known:
        return ""
    return f"{op.type} takes {' or '.join(dtype.name for dtype in known)}, and not {value.dtype.name}"


def rank_excess(op: Op) -> str:
    """Return why LiteRT has no kernel for a TFLite op of this rank, as a sentence's end; empty if it has one.

    A rank that is not known is no reason."""
    limit, broadcast = _RANK_OF_LITERT.get(op.type), BROADCAST_RANK.get(op.type)
    if op.results and op.result.dtype.is_float:
        limit = _RANK_OF_FLOATS.get(op.type, limit)
    if limit is not None:
        for value in (*op.operands, *op.results):
            if value is not None and value.shape is not None and len(value.shape) > limit:
                return f"{op.type} takes up to {limit} dimensions, and a tensor has {len(value.shape)}"
    if broadcast is not None:
        shapes = [value.shape for value in op.operands if value is not None and value.shape is not None]
        rank = max([len(shape) for shape in shapes], default=0)
        if rank > broadcast and any(itertools.starmap(_broadcast, itertools.combinations(set(shapes), 2))):
            return f"{op.type} broadcasts tensors of up to {broadcast} dimensions, and one has {rank}"
    return ""


def _broadcast(a: Shape, b: Shape) -> bool:
    """Return whether two shapes surely differ: two sizes that only the runtime knows may be the same."""
    return len(a) != len(b) or any(x != y and (x == 1 or y == 1 or is_static((x, y))) for x, y in zip(a, b))
