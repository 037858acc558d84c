"""What a module says, in plain lists and texts: a form that other readers of bytecode can be brought to as well.

An op is [name, attributes, numbers of operands, types of results, regions]; a region is [types of arguments, ops]. What
fuseconv does not read is "?", as `vhlo.py` lists it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.attributes import FunctionType, Other, OtherType, TensorType
from fuseconv.load.stablehlo.bytecode import Module, Operation, Region, Var

UNREAD = "?"
NAMES = {
    types.BOOL: "bool", types.BFLOAT16: "bf16", types.FLOAT16: "f16", types.FLOAT32: "f32", types.FLOAT64: "f64",
    types.COMPLEX64: "complex<f32>", types.COMPLEX128: "complex<f64>",
    types.INT8: "i8", types.INT16: "i16", types.INT32: "i32", types.INT64: "i64",
    types.UINT8: "ui8", types.UINT16: "ui16", types.UINT32: "ui32", types.UINT64: "ui64",
}  # fmt: skip


def neutral(module: Module) -> list[Any]:
    """Return the functions of a module."""
    return [_op(function, {}) for function in module.functions.values()]


def digest(form: list[Any]) -> str:
    """Return a short text that another form has another one of."""
    return hashlib.sha256(json.dumps(form, sort_keys=True).encode()).hexdigest()[:16]


def array_form(array: np.ndarray) -> list[Any]:
    """Return the type, shape and bytes of an array; one of many equal elements, as splats are, has the bytes of one."""
    data = np.ascontiguousarray(array).tobytes()
    each = data[: array.itemsize]
    return [array.dtype.name, list(array.shape), each.hex() if data == each * array.size else data.hex()]


def _op(op: Operation, numbers: dict[Var, int]) -> list[Any]:
    operands = [numbers[var] for var in op.operands]
    for var in op.results:
        numbers[var] = len(numbers)
    attributes = {name: _value(op.attribute(name)) for name in op.properties}
    regions = [_region(region, numbers) for region in op.regions]
    return [f"{op.name}_v{op.version}", attributes, operands, [_type(var.type) for var in op.results], regions]


def _region(region: Region, numbers: dict[Var, int]) -> list[Any]:
    for var in region.arguments:
        numbers[var] = len(numbers)
    return [[_type(var.type) for var in region.arguments], [_op(op, numbers) for op in region.ops]]


def _value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return array_form(value)
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _value(item) for key, item in value.items()}
    if isinstance(value, Other):
        return UNREAD
    return value if value is not None and isinstance(value, bool | int | float | str) else _type(value)


def _type(kind: Any) -> str:
    if isinstance(kind, TensorType):
        sizes = "".join(f"{'?' if size is None else size}x" for size in kind.shape)
        return f"tensor<{sizes}{NAMES[kind.dtype]}>"
    if isinstance(kind, FunctionType):
        ends = (", ".join(map(_type, side)) for side in (kind.inputs, kind.outputs))
        return "func<({}) -> ({})>".format(*ends)
    if isinstance(kind, DType):
        return NAMES[kind]
    return "none" if kind is None else UNREAD if isinstance(kind, OtherType) else f"{kind}"
