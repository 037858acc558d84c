"""The ops of VHLO, StableHLO's stable form, and the values of its enumerations: public facts, as data."""

from __future__ import annotations

import functools
from pathlib import Path

from fuseconv.ir import types
from fuseconv.ir.types import DType

# Codes of types that are no tensors, and of element types; StableHLO's VhloBytecode.cpp lists them.
ELEMENT_TYPES: dict[int, DType] = {
    0: types.BOOL, 2: types.BFLOAT16, 3: types.FLOAT16, 4: types.FLOAT32, 5: types.FLOAT64, 9: types.INT64,
    11: types.INT8, 12: types.INT16, 13: types.INT32, 14: types.INT64, 16: types.UINT8, 17: types.UINT16,
    18: types.UINT32, 19: types.UINT64,
}  # fmt: skip
COMPLEX, FUNCTION, TENSOR, ENCODED_TENSOR, NONE = 1, 8, 20, 21, 33
# What is not read, by the names that MLIR prints.
OTHER_TYPES = {
    6: "f8E4M3FN", 7: "f8E5M2", 10: "i4", 15: "ui4", 22: "token", 23: "tuple", 24: "quant.uniform",
    25: "unranked tensor", 26: "witness", 27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ",
    30: "quant.uniform (per axis)", 31: "i2", 32: "ui2", 34: "tf32", 35: "f8E4M3", 36: "f8E3M4", 37: "f4E2M1FN",
    38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU", 41: "buffer", 42: "future",
}  # fmt: skip

ARRAY, BOOLEAN, DICTIONARY, FLOAT, INTEGER, STRING, TENSOR_VALUE, TYPE = 1, 2, 6, 8, 9, 14, 15, 17
_PRECISIONS = ("DEFAULT", "HIGH", "HIGHEST")
# Enumerations by the codes of their attributes; an empty name is no value.
ENUMS: dict[int, tuple[str, ...]] = {
    3: ("EQ", "NE", "GE", "GT", "LE", "LT"),
    4: ("NOTYPE", "FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"),
    5: ("UNSPECIFIED", "ORIGINAL", "STATUS_RETURNING", "STATUS_RETURNING_UNIFIED", "TYPED_FFI"),
    7: ("FFT", "IFFT", "RFFT", "IRFFT"),
    11: _PRECISIONS,
    12: ("DEFAULT", "THREE_FRY", "PHILOX"),
    13: ("", "UNIFORM", "NORMAL"),
    16: ("", "NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"),
}
# Attributes that no value depends on: how operands are laid out, and how exact a result is to be.
OTHER_ATTRIBUTES = {
    10: "output operand alias", 18: "type extensions", 19: "result accuracy mode", 20: "result accuracy",
    21: "sub-axis", 22: "axis", 23: "replica groups", 24: "mesh axis", 25: "mesh",
}  # fmt: skip


@functools.cache
def op_attributes() -> dict[str, tuple[str, ...]]:
    """Return the names of the attributes of each op, by its versioned name ("dot_general_v2"), in the order in which
    bytecode stores them."""
    table = {}
    for line in (Path(__file__).parent / "op_attributes.txt").read_text().splitlines():
        if not line.startswith("#"):
            name, _, attributes = line.partition(":")
            table[name] = tuple(attributes.split())
    return table
