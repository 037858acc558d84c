"""The options of builtin ops: their tables in the file -> attributes of ops of the IR."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from fuseconv.ir.graph import FuncRef
from fuseconv.load.tflite.table_decoder import DamagedError, Table
from fuseconv.tfl import schema
from fuseconv.tfl.generated_schema import generated
from fuseconv.tfl.opdef import TABLE

_SUBGRAPH = "_subgraph_index"


def options_table(op: Table) -> Table | None:
    """Return the option table of an op, of whichever name it says; None if it has none."""
    for slot, union in (
        ("builtin_options", "BuiltinOptions"), ("builtin_options2", "BuiltinOptions2"),
    ):  # fmt: skip
        number = op.number(f"{slot}_type")
        if number and slot in op:
            return op.table(slot, schema.enum_name(union, number))
    return None


def attributes(kind: str, options: Table | None, function: Callable[[int], FuncRef]) -> dict[str, Any]:
    """Return the attributes of an op: those of its options that differ from what holds without them.

    function: of the number of a subgraph. Raises DamagedError for options of another op, and for what an option cannot
    hold."""
    definition = TABLE[kind]
    fields = schema.table(definition.options) if definition.options else {}
    if options is not None and options.name != definition.options:
        if schema.table(options.name):
            raise DamagedError(f"an op {kind} has the options of another: {options.name}")
        options = None  # a table without fields says nothing, whatever it is called
    attrs = {}
    for name, field in fields.items():
        value = _value(definition.options or "", field, options, function)
        if name in definition.derived:
            continue  # it restates what the operands and results tell
        if name in definition.defaults:
            if not _equal(value, definition.defaults[name]):
                attrs[name] = value
        elif value != _value(definition.options or "", field, None, lambda number: FuncRef("")):
            raise DamagedError(f"the option {name} of {kind} is {value}, which this version does not know")
    return attrs


def _value(table: str, field: schema.Field, options: Table | None, function: Callable[[int], FuncRef]) -> Any:
    if field.code is None:
        return _list(table, field, options)
    value = field.default if options is None else options.number(field.name)
    enum = schema.ENUM_FIELDS.get(field.name)
    if enum is not None:
        name = schema.enum_name(enum, value)
        if schema.enum(enum).get(name) != value:
            raise DamagedError(f"the option {field.name} is {value}, which is no {enum}")
        return name
    return function(value) if field.name.endswith(_SUBGRAPH) else value


def _list(table: str, field: schema.Field, options: Table | None) -> Any:
    """Return the list, text or bytes of an option; None where there is none."""
    if options is None or field.name not in options:
        return None
    kind = _items(table, field.camel)
    if kind is None:
        return options.text(field.name)
    items = options.array(field.name, kind)
    return items.tobytes() if kind == np.uint8 else items.tolist()


def _equal(value: Any, default: Any) -> bool:
    """Return whether an option is at its default: an empty list or text is one that is left out."""
    return value == default or (default is None and value in ([], "", b""))


class _Probe:
    """Stand-in for a table of the generated code that hands out of what type the items of a vector are."""

    def Offset(self, slot: int) -> int:
        return slot

    def GetVectorAsNumpy(self, flags: Any, offset: int) -> Any:
        return flags


@functools.cache
def _items(table: str, camel: str) -> np.dtype | None:
    """Return the type of a vector's items; None if the field is a text."""
    made = getattr(generated, table)()
    made._tab = _Probe()
    read = getattr(made, f"{camel}AsNumpy", None)
    return None if read is None else np.dtype(read().name)
