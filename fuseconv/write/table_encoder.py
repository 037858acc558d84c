"""Encode flatbuffer tables front to back, parents before children.

The format wants children behind their parents only because offsets are unsigned. In this order nothing needs to be
known beforehand, and one struct call packs a table. What belongs at the end of a file (the weights) can be put there.
"""

from __future__ import annotations

import functools
import struct
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.tfl import schema

_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
# What stands between the end of the data and the next multiple of 4, by the end's place behind the last one.
_PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")


@dataclass(slots=True, eq=False)  # slots are read faster than the fields of a NamedTuple
class Table:
    """A table to encode. Values: scalars, str, bytes (a byte vector), lists of ints (an int32 vector), numpy arrays,
    Tables, lists of Tables, `Deferred`."""

    name: str
    fields: dict[str, Any]


class Deferred:
    """A field whose value is set after the table is written: `position` is where it stands."""

    position: int = -1


@dataclass(slots=True, eq=False)  # slots are read faster than the fields of a NamedTuple
class _Layout:
    """The layout of a table with certain fields: after the vtable offset come `scalars`, with gaps for the offsets of
    `children`, which are written later; positions are relative to the table's start."""

    pack: struct.Struct
    align: int
    vtable: bytes
    scalars: tuple[str, ...]
    children: tuple[tuple[str, int], ...]


class Encoder:
    """Collect the bytes of one flatbuffer in `data`."""

    def __init__(self, root: Table, identifier: bytes) -> None:
        self.data = bytearray(4) + identifier
        # By a table's name and fields, and where the data has the layout's vtable.
        self._layouts: dict[tuple, tuple[_Layout, int]] = {}
        # Where equal tables of numbers, such as options, equal lists, such as shapes, and equal arrays are referred to:
        # these are written once, behind all that refer to them. A table is told by its bytes, alignment and vtable.
        self._leaves: defaultdict[tuple[bytes, int, int], list[int]] = defaultdict(list)
        self._lists: defaultdict[tuple[int, ...], list[int]] = defaultdict(list)
        self._arrays: defaultdict[tuple[bytes, int], list[int]] = defaultdict(list)
        self._write(0, root)
        for (content, align, vtable), places in self._leaves.items():
            position = self._pad(align)
            self.data += _I32.pack(position - vtable) + content[_I32.size :]
            self._point(places, position)
        self._write_lists()
        for (vector, align), places in self._arrays.items():
            position = self._pad(align, ahead=4)
            self.data += vector
            self._point(places, position)

    def _write_lists(self) -> None:
        """Write all lists of ints at once, each behind its length."""
        position = self._pad(4)
        written: list[int] = []
        for numbers, places in self._lists.items():
            self._point(places, position)
            written.append(len(numbers))
            written += numbers
            position += 4 + 4 * len(numbers)
        self.data += struct.pack(f"<{len(written)}i", *written)

    def _point(self, places: list[int], position: int) -> None:
        for place in places:
            _U32.pack_into(self.data, place, position - place)

    def _write(self, place: int, value: Any) -> None:
        """Write a string, vector or table, and at `place` how far behind that it is."""
        kind = type(value)
        if kind is list:
            if not value or type(value[0]) is not Table:
                self._lists[tuple(value)].append(place)
                return
            position = self._tables(value)
        elif kind is Table:
            layout, vtable = self._layout_of(value)
            if not layout.children:
                content = layout.pack.pack(0, *map(value.fields.__getitem__, layout.scalars))
                self._leaves[content, layout.align, vtable].append(place)
                return
            position = self._table(value, layout, vtable)
        elif kind is np.ndarray:
            self._arrays[_array(value)].append(place)
            return
        elif kind is Deferred:
            value.position = place
            return
        else:
            vector = _vector(value)
            data = self.data
            data += _PADDING[len(data) & 3]
            position = len(data)
            data += vector
        _U32.pack_into(self.data, place, position - place)

    def _pad(self, align: int, ahead: int = 0) -> int:
        """Pad so that the byte `ahead` bytes later is aligned. Returns where the data ends then."""
        data = self.data
        missing = -(len(data) + ahead) % align
        if missing:
            data += bytes(missing)
        return len(data)

    def _tables(self, tables: list[Table]) -> int:
        position = self._pad(4)
        self.data += _U32.pack(len(tables)) + bytes(4 * len(tables))
        for index, table in enumerate(tables, 1):
            self._write(position + 4 * index, table)
        return position

    def _layout_of(self, table: Table) -> tuple[_Layout, int]:
        """Return the layout of a table, and where its vtable stands."""
        fields = table.fields
        key = (table.name, *fields)
        known = self._layouts.get(key)
        if known is None:
            later = frozenset(name for name, value in fields.items() if isinstance(value, Deferred))
            layout = _layout(table.name, tuple(fields), later)
            known = self._layouts[key] = layout, self._pad(2)
            self.data += layout.vtable
        return known

    def _table(self, table: Table, layout: _Layout, vtable: int) -> int:
        fields = table.fields
        data = self.data
        data += bytes(-len(data) % layout.align)
        position = len(data)
        data += layout.pack.pack(position - vtable, *map(fields.__getitem__, layout.scalars))
        for name, offset in layout.children:
            self._write(position + offset, fields[name])
        return position


def _vector(value: str | bytes) -> bytes:
    """Return the bytes of a string or vector of bytes, with its count ahead."""
    if isinstance(value, str):
        value = value.encode()
        return _U32.pack(len(value)) + value + b"\0"
    return _U32.pack(len(value)) + value


def _array(value: np.ndarray) -> tuple[bytes, int]:
    """Return the bytes of an array with its count ahead, and the alignment of its items. The count is aligned to 4, as
    it is whenever the items behind it are aligned to more."""
    content = value.astype(value.dtype.newbyteorder("<")).tobytes()
    return _U32.pack(value.size) + content, max(4, value.itemsize)


@functools.cache
def _layout(table: str, names: tuple[str, ...], later: frozenset[str]) -> _Layout:
    """Return where the fields that are given stand in a table: the widest first, so that none needs padding before
    it."""
    known = schema.table(table)
    fields = [known[name] for name in names]
    children = [field for field in fields if field.code is None or field.name in later]
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
        codes.append(field.code if field.code and field not in children else f"{width[field.name]}x")
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
        tuple(field.name for field in ordered if field not in children),
        tuple((field.name, offsets[field.name]) for field in children),
    )
