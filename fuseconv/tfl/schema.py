"""TFLite's flatbuffer schema as data: tables with the slot, wire type and default of each field, and the enums.

The facts stand in `schema.txt`, which `generated_schema.py` writes; fields are named as in schema.fbs ("stride_w"). A
line of it is `enum NAME KEY=number ...` or `table NAME field:slot:code:default ...`.
"""

from __future__ import annotations

import functools
import numbers
import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fuseconv.ir.graph import FuncRef
from fuseconv.tfl import metadata_schema

PATH = Path(__file__).with_name("schema.txt")

# Which enum an integer field of an option table holds. A field's name means the same in every table.
ENUM_FIELDS = {
    "combiner": "CombinerType",
    "fused_activation_function": "ActivationFunctionType",
    "idx_out_type": "TensorType",
    "in_data_type": "TensorType",
    "kernel_type": "LSTMKernelType",
    "key_dtype": "TensorType",
    "mode": "MirrorPadMode",
    "out_data_type": "TensorType",
    "out_type": "TensorType",
    "output_type": "TensorType",
    "padding": "Padding",
    "quantized_bias_type": "TensorType",
    "reduce_function": "ReduceWindowFunction",
    "type": "LSHProjectionType",
    "value_dtype": "TensorType",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
}


class Field(NamedTuple):
    """One field of a table: its number in the vtable, its struct code (None: an offset) and its default."""

    name: str
    slot: int
    code: str | None
    default: Any

    @property
    def camel(self) -> str:
        """Return the name as the generated code has it: "stride_w" -> "StrideW"."""
        return "".join(word[:1].upper() + word[1:] for word in self.name.split("_"))


@functools.cache
def _lines() -> dict[tuple[str, str], list[str]]:
    """Return the words of each enum and table, by what it is and its name."""
    return {(kind, name): rest for kind, name, *rest in map(str.split, PATH.read_text().splitlines())}


@functools.cache
def enum(name: str) -> dict[str, int]:
    """Return the numbers of an enum by their names."""
    pairs = (word.partition("=") for word in _lines()["enum", name])
    return {key: int(number) for key, _, number in pairs}


@functools.cache
def table(name: str) -> dict[str, Field]:
    """Return the fields of a table of the schema, or of that of model metadata, by name, in the schema's order; none of
    a table that there is not."""
    if name in metadata_schema.FIELDS:
        return _metadata_table(metadata_schema.FIELDS[name])
    fields = map(_field, _lines().get(("table", name), ()))
    return {field.name: field for field in fields}


def _field(text: str) -> Field:
    """Return the field of "name:slot:code:default"; the last two of an offset are left out."""
    name, slot, *number = text.split(":")
    if not number:
        return Field(name, int(slot), None, None)
    code, default = number
    value = float(default) if code in "fd" else bool(int(default)) if code == "?" else int(default)
    return Field(name, int(slot), code, value)


def _metadata_table(text: str) -> dict[str, Field]:
    """Return the fields of a table of model metadata."""
    fields = [field.partition(":") for field in text.split()]
    return {name: Field(name, slot, code or None, 0 if code else None) for slot, (name, _, code) in enumerate(fields)}


@functools.cache
def _names(name: str) -> dict[int, str]:
    return {number: key for key, number in enum(name).items()}


def enum_name(name: str, number: int) -> str:
    """Return the name of an enum's number; "UNKNOWN_<number>" where this schema has none."""
    return _names(name).get(number, f"UNKNOWN_{number}")


def enum_number(name: str, key: str) -> int:
    """Return the number of an enum's name. Raises ValueError on a name that the schema does not have."""
    number = enum(name).get(key)
    if number is None:
        raise ValueError(f"{key!r} is no {name}; there are {', '.join(enum(name))}")
    return number


def check_option(table_name: str, name: str, value: Any) -> None:
    """Raise ValueError if a field of an option table cannot hold the value of an attribute: a number or bool, an enum's
    name, a function, or a list for a vector."""
    if type(value) in (str, bool, int, float):
        _check_again(table_name, name, value)
    else:
        _check(table_name, name, value)


def _check(table_name: str, name: str, value: Any) -> None:
    """Do what `check_option` does."""
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
    for union, second in (("BuiltinOptions", False), ("BuiltinOptions2", True)):
        number = enum(union).get(table_name)
        if number is not None:
            return number, second
    raise ValueError(f"the schema has no option table {table_name}")
