"""Encodes flatbuffer tables front to back, parents before children.

The format wants children behind their parents only because offsets are unsigned; written in this order, nothing needs
to be known beforehand, each table is packed with one struct call, and what belongs at the end of a file (the weights)
can be put there.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from fuseconv.tfl import schema

_U32 = struct.Struct("<I")


class Table(NamedTuple):
    """A table to encode. Values: scalars, str, bytes (a byte vector), lists of ints (an int32 vector), numpy arrays,
    Tables, lists of Tables, `Later`. None is left out."""

    name: str
    fields: dict[str, Any]


class Later:
    """A field whose value is set after the table is written: `position` is where it stands."""

    position: int = -1


class _Layout(NamedTuple):
    """How a table with certain fields is packed: after the offset of its vtable come `scalars` (None: a place that is
    filled in afterwards); `children` are what fills these, and where it is from the table's start."""

    pack: struct.Struct
    align: int
    vtable: bytes
    scalars: list[str | None]
    children: list[tuple[str, int]]


class Encoder:
    """Collects the bytes of one flatbuffer in `data`."""

    def __init__(self, root: Table, identifier: bytes) -> None:
        self.data = bytearray(4) + identifier
        self._layouts: dict[tuple, tuple[_Layout, int]] = {}
        self._patch(0, self._table(root))

    def _patch(self, position: int, target: int) -> None:
        _U32.pack_into(self.data, position, target - position)

    def _pad(self, align: int, ahead: int = 0) -> None:
        """Pads so that what comes `ahead` bytes later is aligned."""
        gap = -(len(self.data) + ahead) % align
        if gap:
            self.data += bytes(gap)

    def _child(self, value: Any) -> int:
        """Writes a string, vector or table and returns its position."""
        if isinstance(value, list):
            if value and isinstance(value[0], Table):
                return self._tables(value)
            return self._vector(struct.pack(f"<{len(value)}i", *value), 4)
        if isinstance(value, str):
            return self._vector(value.encode(), 1, terminator=b"\0")
        if isinstance(value, Table):
            return self._table(value)
        if isinstance(value, np.ndarray):
            return self._vector(value.astype(value.dtype.newbyteorder("<")).tobytes(), value.dtype.itemsize)
        return self._vector(value, 1)

    def _vector(self, content: bytes | bytearray, item_size: int, terminator: bytes = b"") -> int:
        # The count is aligned to 4 as it is whenever the items behind it are aligned to more.
        self._pad(max(4, item_size), ahead=4)
        position = len(self.data)
        self.data += _U32.pack(len(content) // item_size) + content + terminator
        return position

    def _tables(self, tables: list[Table]) -> int:
        self._pad(4)
        position = len(self.data)
        self.data += _U32.pack(len(tables))
        self.data += bytes(4 * len(tables))
        for index, table in enumerate(tables):
            self._patch(position + 4 + 4 * index, self._table(table))
        return position

    def _table(self, table: Table) -> int:
        fields = table.fields
        key = (table.name, *[name for name, value in fields.items() if value is not None])
        if key not in self._layouts:
            layout = _layout(table)
            self._pad(2)
            self._layouts[key] = layout, len(self.data)
            self.data += layout.vtable
        layout, vtable = self._layouts[key]
        self._pad(layout.align)
        position = len(self.data)
        scalars = [0 if name is None else fields[name] for name in layout.scalars]
        self.data += layout.pack.pack(position - vtable, *scalars)
        for name, offset in layout.children:
            value = fields[name]
            if isinstance(value, Later):
                value.position = position + offset
            else:
                self._patch(position + offset, self._child(value))
        return position


def _layout(table: Table) -> _Layout:
    """Where the fields that are given stand in a table: the widest first, so that none needs padding before it."""
    known = schema.table(table.name)
    fields = [known[name] for name, value in table.fields.items() if value is not None]
    later = {name for name, value in table.fields.items() if isinstance(value, Later)}
    width = {field.name: struct.calcsize(field.code or "I") for field in fields}
    ordered = sorted(fields, key=lambda field: -width[field.name])
    align = max([4, *width.values()])
    offset = 4
    codes = ["<i"]
    offsets: dict[str, int] = {}
    if align == 8:
        codes.append("4x")
        offset = 8
    for field in ordered:
        codes.append(field.code or "I")
        offsets[field.name] = offset
        offset += width[field.name]
    slots = [0] * (max((field.slot for field in fields), default=-1) + 1)
    for field in fields:
        slots[field.slot] = offsets[field.name]
    vtable = struct.pack(f"<{2 + len(slots)}H", 4 + 2 * len(slots), offset, *slots)
    return _Layout(
        struct.Struct("".join(codes)),
        align,
        vtable,
        [None if field.code is None or field.name in later else field.name for field in ordered],
        [(field.name, offsets[field.name]) for field in fields if field.code is None or field.name in later],
    )
