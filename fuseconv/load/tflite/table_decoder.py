"""Decode flatbuffer tables of bytes that nobody vouches for: the counterpart of `write/table_encoder.py`.

Each offset and length is checked before it is followed. Tables and vectors may be shared, so that a few bytes can stand
for any number of them. So what is decoded may take no more than a small multiple of the file's size.
"""

from __future__ import annotations

import functools
import struct
from typing import Any

import numpy as np

from fuseconv.tfl import schema

# Encoders write equal vectors once, and so share most of the shapes and zero points of a file.
_GROWTH = 16
_LEAST_WORK = 1 << 16
_U16, _U32, _I32 = struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<i")
# Slots that the schema has given up; the generated code does not have them.
_FORMER = {("SignatureDef", 3)}


class DamagedError(ValueError):
    """The bytes are no flatbuffer of this schema. The message is the end of a sentence."""


class Decoder:
    """The bytes of one flatbuffer, and what may still be decoded of them."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.size = len(data)
        self._work = _GROWTH * self.size + _LEAST_WORK
        self._layouts: dict[tuple[int, str], dict[str, int]] = {}

    def root(self, name: str) -> Table:
        return Table(self, name, self.follow(0))

    def unpack(self, form: struct.Struct, position: int) -> Any:
        """Unpack the number at a position. Raises DamagedError if it lies outside of the file."""
        if not 0 <= position <= self.size - form.size:
            raise DamagedError(f"an offset leads to byte {position} of {self.size}")
        return form.unpack_from(self.data, position)[0]

    def follow(self, position: int) -> int:
        """Return where the offset at a position leads to."""
        return position + self.unpack(_U32, position)

    def vector(self, position: int, width: int) -> tuple[int, int]:
        """Return where the items of a vector begin, and how many of this width there are."""
        count = self.unpack(_U32, position)
        if count * width > self.size - position - 4:
            raise DamagedError(f"a list of {count} items reaches beyond the end of the file")
        return position + 4, count

    def spend(self, size: int) -> None:
        """Count bytes that are decoded."""
        self._work -= size
        if self._work < 0:
            raise DamagedError("its parts are shared so often that they stand for much more than the file holds")

    def fields(self, position: int, name: str) -> dict[str, int]:
        """Return where the fields that a table has stand in it, by the vtable at a position."""
        key = position, name
        if key not in self._layouts:
            self._layouts[key] = self._layout(position, name)
        return self._layouts[key]

    def _layout(self, position: int, name: str) -> dict[str, int]:
        length, extent = self.unpack(_U16, position), self.unpack(_U16, position + 2)
        if length < 4 or length % 2 or length > self.size - position:
            raise DamagedError(f"the layout of {name} is {length} bytes long")
        self.spend(length)
        known = _by_slot(name)
        fields = {}
        for slot, (offset,) in enumerate(struct.iter_unpack("<H", bytes(self.data[position + 4 : position + length]))):
            if not offset:
                continue
            field = known.get(slot)
            if field is None and (name, slot) not in _FORMER:
                raise DamagedError(f"{name} has a field of number {slot}, which this version does not know")
            if field is not None:
                if offset + struct.calcsize(field.code or "I") > extent:
                    raise DamagedError(f"the field {field.name} of {name} reaches beyond it")
                fields[field.name] = offset
        return fields


class Table:
    """One table: the values of its fields by name."""

    __slots__ = ("_decoder", "_fields", "_position", "name")

    def __init__(self, decoder: Decoder, name: str, position: int) -> None:
        decoder.spend(16)
        self._decoder, self.name, self._position = decoder, name, position
        self._fields = decoder.fields(position - decoder.unpack(_I32, position), name)

    def __contains__(self, field: str) -> bool:
        return field in self._fields

    def number(self, field: str) -> Any:
        """Return a number or bool; the schema's default where the table does not have it."""
        known = schema.table(self.name)[field]
        offset = self._fields.get(field)
        return known.default if offset is None else self._decoder.unpack(_struct(known.code), self._position + offset)

    def text(self, field: str) -> str | None:
        """Return a text; None where the table does not have it. Raises DamagedError if it is no UTF-8."""
        start, count = self._vector(field, 1)
        self._decoder.spend(count)
        try:
            return bytes(self._decoder.data[start : start + count]).decode() if field in self._fields else None
        except UnicodeDecodeError as error:
            raise DamagedError(f"the text {field} of {self.name} is no UTF-8") from error

    def place(self, field: str) -> tuple[int, int]:
        """Return where the bytes of a byte vector begin, and how many there are."""
        return self._vector(field, 1)

    def array(self, field: str, dtype: Any) -> np.ndarray:
        """Return a vector of numbers; an empty one where the table does not have it."""
        kind = np.dtype(dtype).newbyteorder("<")
        start, count = self._vector(field, kind.itemsize)
        self._decoder.spend(count * kind.itemsize)
        return np.frombuffer(self._decoder.data, kind, count, start) if count else np.empty(0, kind)

    def ints(self, field: str) -> list[int]:
        return self.array(field, np.int32).tolist()

    def table(self, field: str, name: str) -> Table | None:
        """Return a table of this name; None where the table does not have it."""
        offset = self._fields.get(field)
        return None if offset is None else Table(self._decoder, name, self._decoder.follow(self._position + offset))

    def tables(self, field: str, name: str) -> list[Table]:
        """Return a vector of tables of this name."""
        start, _ = self._vector(field, 4)
        places = (start + 4 * index + offset for index, offset in enumerate(self.array(field, np.uint32).tolist()))
        return [Table(self._decoder, name, place) for place in places]

    def _vector(self, field: str, width: int) -> tuple[int, int]:
        offset = self._fields.get(field)
        return (0, 0) if offset is None else self._decoder.vector(
            self._decoder.follow(self._position + offset), width
        )


@functools.cache
def _by_slot(name: str) -> dict[int, schema.Field]:
    return {field.slot: field for field in schema.table(name).values()}


@functools.cache
def _struct(code: str) -> struct.Struct:
    return struct.Struct(f"<{code}")
