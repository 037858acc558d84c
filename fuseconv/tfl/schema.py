"""TFLite's flatbuffer schema as data: tables with the slot, wire type and default of each field, and the enums.

The facts are read from the schema's generated Python, whose functions that add a field to a builder tell all three; so
this follows the schema that is installed, and names fields as schema.fbs does ("stride_w").
"""

from __future__ import annotations

import functools
import numbers
import re
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as generated

from fuseconv.ir.graph import FuncRef
from fuseconv.tfl import metadata_schema

# Which enum an integer field of an option table holds. A field's name means the same in every table.
ENUM_FIELDS: dict[str, type] = {
    "combiner": generated.CombinerType,
    "fused_activation_function": generated.ActivationFunctionType,
    "idx_out_type": generated.TensorType,
    "in_data_type": generated.TensorType,
    "kernel_type": generated.LSTMKernelType,
    "key_dtype": generated.TensorType,
    "mode": generated.MirrorPadMode,
    "out_data_type": generated.TensorType,
    "out_type": generated.TensorType,
    "output_type": generated.TensorType,
    "padding": generated.Padding,
    "quantized_bias_type": generated.TensorType,
    "reduce_function": generated.ReduceWindowFunction,
    "type": generated.LSHProjectionType,
    "value_dtype": generated.TensorType,
    "weights_format": generated.FullyConnectedOptionsWeightsFormat,
}

# The struct code of each scalar of the flatbuffer format; None is an offset to a string, vector or table.
_CODES = {
    "Bool": "?", "Int8": "b", "Uint8": "B", "Int16": "h", "Uint16": "H", "Int32": "i", "Uint32": "I", "Int64": "q",
    "Uint64": "Q", "Float32": "f", "Float64": "d", "UOffsetTRelative": None,
}  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One field of a table: its number in the vtable, its struct code (None: an offset) and its default."""

    name: str
    camel: str
    slot: int
    code: str | None
    default: Any


class _Recorder:
    """Stand-in for a flatbuffer builder that records how a field is added."""

    heard: tuple[int, str, Any]

    def __getattr__(self, name: str) -> Any:
        kind = name.removeprefix("Prepend").removesuffix("Slot")

        def prepend(slot: int, _value: object, default: Any) -> None:
            self.heard = slot, kind, default

        return prepend


@functools.cache
def _adders() -> dict[str, list[str]]:
    """Return for each table, its fields in camel case."""
    fields: dict[str, list[str]] = {}
    names = vars(generated)
    for name in names:
        for match in re.finditer("Add", name):
            table = name[: match.start()]
            if f"{table}T" in names and callable(names[name]) and not isinstance(names[name], type):
                fields.setdefault(table, []).append(name[match.end() :])
    return fields


@functools.cache
def table(name: str) -> dict[str, Field]:
    """Return the fields of a table of the schema, or of that of model metadata, by name, in the schema's order."""
    if name in metadata_schema.FIELDS:
        return _metadata_table(metadata_schema.FIELDS[name])
    fields = []
    for camel in _adders().get(name, ()):
        recorder = _Recorder()
        getattr(generated, f"{name}Add{camel}")(recorder, 0)
        slot, kind, default = recorder.heard
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", camel).lower()
        code = _CODES[kind]
        if code is None:
            default = None
        elif code == "?":
            default = bool(default)
        fields.append(Field(snake, camel, slot, code, default))
    return {field.name: field for field in sorted(fields, key=lambda field: field.slot)}


def _metadata_table(text: str) -> dict[str, Field]:
    """Return the fields of a table of model metadata."""
    fields = [field.partition(":") for field in text.split()]
    return {
        name: Field(name, name, slot, code or None, 0 if code else None) for slot, (name, _, code) in enumerate(fields)
    }


@functools.cache
def _names(enum: type) -> dict[int, str]:
    return {number: name for name, number in vars(enum).items() if isinstance(number, int)}


def enum_name(enum: type, number: int) -> str:
    """Return the name of an enum's number; "UNKNOWN_<number>" where this schema has none."""
    return _names(enum).get(number, f"UNKNOWN_{number}")


def enum_number(enum: type, name: str) -> int:
    """Return the number of an enum's name. Raises ValueError on a name that the schema does not have."""
    number = vars(enum).get(name)
    if not isinstance(number, int):
        raise ValueError(f"{name!r} is no {enum.__name__}; there are {', '.join(_names(enum).values())}")
    return number


def check_option(table_name: str, name: str, value: Any) -> None:
    """Raise ValueError if a field of an option table cannot hold the value of an attribute: a number or bool, an enum's
    name, a function, or a list for a vector."""
    if type(value) in (str, bool, int, float):
        _check_again(table_name, name, value)
    else:
        _check(table_name, name, value)


def _check(table_name: str, name: str, value: Any) -> None:
    field = table(table_name).get(name)
    if field is None or value is None or isinstance(value, FuncRef):
        return
    try:
        if field.code is None:
            fits = isinstance(value, (str, bytes, list, tuple, dict, np.ndarray))
        elif isinstance(value, str) and name in ENUM_FIELDS:
            fits = enum_number(ENUM_FIELDS[name], value) >= 0
        else:
            kind = numbers.Real if field.code in "fd" else numbers.Integral
            fits = isinstance(value, (kind, np.bool_)) and struct.pack(f"<{field.code}", value) is not None
    except (ValueError, struct.error) as error:
        raise ValueError(f"the attribute {name}: {error}") from error
    if not fits:
        raise ValueError(f"the attribute {name} cannot be {value!r}")


# The ops of a model have much the same attributes. True, 1 and 1.0 are not the same.
_check_again = functools.lru_cache(maxsize=1024, typed=True)(_check)


def options_number(table_name: str) -> tuple[int, bool]:
    """Return the union number of an option table, and whether it stands in the second union, `builtin_options_2`."""
    for enum, second in ((generated.BuiltinOptions, False), (generated.BuiltinOptions2, True)):
        number = vars(enum).get(table_name)
        if isinstance(number, int):
            return number, second
    raise ValueError(f"the schema has no option table {table_name}")
