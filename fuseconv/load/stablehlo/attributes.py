"""Decode the attributes and types of MLIR bytecode, each when it is first asked for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo import vhlo
from fuseconv.load.stablehlo.cursor import Cursor, DamagedError

_UNKNOWN_SIZE = -(1 << 63)
_MOST_DEPTH = 64
_MOST_RANK = 64
_LONGEST_NAME = 64
# Attributes may share what they hold, so that a few bytes can stand for any number of parts.
_GROWTH, _LEAST_PARTS = 16, 1 << 16
# Dialects whose attributes and types are read; others only matter to who asks for them.
VHLO, BUILTIN, SHARDY = "vhlo", "builtin", "sdy"
_BUILTIN_NAMES = {
    3: "typed string", 5: "nested symbol", 6: "type", 7: "unit", 8: "integer", 9: "float", 16: "resource",
    17: "dense array", 18: "dense elements", 19: "dense strings", 20: "sparse elements", 21: "distinct",
}  # fmt: skip


class UnreadError(ValueError):
    """The bytes hold something that is not read, by name. The message is the end of a sentence."""


@dataclass(frozen=True)
class TensorType:
    """A tensor: its element type, and its sizes, None where they are not known."""

    dtype: DType
    shape: tuple[int | None, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        return None not in self.shape

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of a tensor of which they are known."""
        shape: tuple[Any, ...] = self.shape
        return [*shape] if self.is_static else [size for size in shape if size is not None]


@dataclass(frozen=True)
class FunctionType:
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@dataclass(frozen=True)
class OtherType:
    """A type that is no tensor, by its name."""

    name: str


@dataclass(frozen=True)
class Other:
    """An attribute that is not read, by its name."""

    name: str


@dataclass(frozen=True)
class Location:
    """Where an op comes from: the name that its program gave it ("jit(f)/dot_general"), else a line of source."""

    name: str


# The dialect of an attribute or type, whether that writes it in a form of its own (in the lowest bit), and where its
# bytes begin and end.
Entry = tuple[str, int, int, int]


class Attributes:
    """The attributes and types of a module, by their numbers. data: the bytes in which they stand."""

    def __init__(self, strings: list[bytes], data: bytes, attributes: list[Entry], types: list[Entry]) -> None:
        self.strings = strings
        self.data = data
        self._attribute_entries, self._type_entries = attributes, types
        # Attributes, each with the number of its parts, those of its parts too.
        self._attributes: dict[int, tuple[Any, int]] = {}
        self._types: dict[int, Any] = {}
        self._depth = self._parts = 0
        self._most_parts = _GROWTH * len(data) + _LEAST_PARTS

    def string(self, index: int) -> bytes:
        if index >= len(self.strings):
            raise DamagedError(f"the string {index} is named, and there are {len(self.strings)}")
        return self.strings[index]

    def text(self, index: int) -> str:
        try:
            return self.string(index).decode()
        except UnicodeDecodeError as error:
            raise DamagedError("a text is no UTF-8") from error

    def entry(self, index: int) -> Entry:
        """Return how an attribute is written."""
        return _entry("attribute", self._attribute_entries, index)

    def attribute(self, index: int) -> Any:
        """Return what an attribute says: a number, text (of strings, symbols and enumerations), list, dict, array,
        `TensorType`, `Location`, or `Other`."""
        known = self._attributes.get(index)
        if known is None:
            outer, self._parts = self._parts, 1
            found = self._decoded(self.entry(index), self._attribute, "an attribute")
            known = self._attributes[index] = found, self._parts
            self._parts = outer
        self._parts += known[1]
        if self._parts > self._most_parts and self._depth:
            raise DamagedError("an attribute stands for much more than the file holds")
        return known[0]

    def type(self, index: int) -> Any:
        """Return a `TensorType`, `FunctionType`, `OtherType`, or the `DType` of an element."""
        found = self._types.get(index)
        if found is None:
            entry = _entry("type", self._type_entries, index)
            found = self._types[index] = self._decoded(entry, self._type, "a type")
        return found

    def _decoded(self, entry: Entry, decode: Callable[[str, Cursor], Any], what: str) -> Any:
        if self._depth >= _MOST_DEPTH:
            raise DamagedError(f"attributes and types stand in each other more than {_MOST_DEPTH} deep")
        self._depth += 1
        dialect, flagged, at, end = entry
        cursor = Cursor(self.data, at, end)
        found = decode(dialect if flagged & 1 else "", cursor)
        if cursor.at != end and not isinstance(found, Other | OtherType):
            cursor.done(what)
        self._depth -= 1
        return found

    def _attribute(self, dialect: str, cursor: Cursor) -> Any:
        if dialect == BUILTIN:
            return self._builtin_attribute(cursor)
        return self._vhlo_attribute(cursor) if dialect == VHLO else Other(dialect or cursor.text())

    def _type(self, dialect: str, cursor: Cursor) -> Any:
        return self._vhlo_type(cursor) if dialect == VHLO else OtherType(dialect or cursor.text())

    def _vhlo_type(self, cursor: Cursor) -> Any:
        code = cursor.varint()
        if code in vhlo.ELEMENT_TYPES:
            return vhlo.ELEMENT_TYPES[code]
        if code == vhlo.COMPLEX:
            part = self.type(cursor.varint())
            return types.COMPLEX64 if part is types.FLOAT32 else types.COMPLEX128
        if code == vhlo.FUNCTION:
            inputs, outputs = (tuple(map(self._held_type, cursor.varints())) for _ in range(2))
            return FunctionType(inputs, outputs)
        if code in (vhlo.TENSOR, vhlo.ENCODED_TENSOR):
            return self._tensor_type(cursor, code == vhlo.ENCODED_TENSOR)
        if code == vhlo.NONE:
            return None
        if code not in vhlo.OTHER_TYPES:
            raise UnreadError(f"it has a type of number {code}, which this version does not know")
        cursor.at = cursor.end
        return OtherType(vhlo.OTHER_TYPES[code])

    def _held_type(self, index: int) -> Any:
        """Return a type that another one holds. No function that StableHLO writes takes or returns functions."""
        found = self.type(index)
        return OtherType("function") if isinstance(found, FunctionType) else found

    def _tensor_type(self, cursor: Cursor, encoded: bool) -> TensorType | OtherType:
        if encoded:
            cursor.varint()  # bounds of sizes that are not known
        sizes = [cursor.signed() for _ in range(cursor.count())]
        element = self._held_type(cursor.varint())
        if not isinstance(element, DType):
            return OtherType(f"tensor of {getattr(element, 'name', 'another type')}"[:_LONGEST_NAME])
        if len(sizes) > _MOST_RANK or any(size < 0 and size != _UNKNOWN_SIZE for size in sizes):
            raise DamagedError(f"a tensor has the shape {sizes[:9]}")
        return TensorType(element, tuple(None if size < 0 else size for size in sizes))

    def _vhlo_attribute(self, cursor: Cursor) -> Any:
        code = cursor.varint()
        if code in vhlo.ENUMS:
            names, value = vhlo.ENUMS[code], cursor.varint()
            if value >= len(names) or not names[value]:
                raise UnreadError(f"an attribute has the value {value}, which this version does not know")
            return names[value]
        if code == vhlo.ARRAY:
            return [self.attribute(index) for index in cursor.varints()]
        if code == vhlo.BOOLEAN:
            return bool(cursor.varint())
        if code == vhlo.DICTIONARY:
            return {self._key(cursor): self.attribute(cursor.varint()) for _ in range(cursor.count())}
        if code in (vhlo.FLOAT, vhlo.INTEGER):
            return self._number(cursor)
        if code == vhlo.STRING:
            return self.string(cursor.varint()).decode("utf-8", "backslashreplace")
        if code == vhlo.TENSOR_VALUE:
            return self._tensor(cursor)
        if code == vhlo.TYPE:
            return self.type(cursor.varint())
        if code not in vhlo.OTHER_ATTRIBUTES:
            raise UnreadError(f"it has an attribute of number {code}, which this version does not know")
        return Other(vhlo.OTHER_ATTRIBUTES[code])

    def _key(self, cursor: Cursor) -> str:
        key = self.attribute(cursor.varint())
        if not isinstance(key, str):
            raise DamagedError("the key of a dictionary is no text")
        return key

    def _number(self, cursor: Cursor) -> Any:
        """Return a number of the type that is named first: its bits, in one byte or as a signed number."""
        dtype = self.type(cursor.varint())
        if not isinstance(dtype, DType) or not (dtype.is_float or dtype.is_integer):
            raise UnreadError(f"a number is of the type {getattr(dtype, 'name', dtype)}, which is not read")
        size = dtype.numpy.itemsize
        bits = cursor.byte() if size == 1 else cursor.signed() & ((1 << 8 * size) - 1)
        found = np.frombuffer(bits.to_bytes(size, "little"), dtype.numpy.newbyteorder("<"))[0]
        return float(found) if dtype.is_float else int(found)

    def _tensor(self, cursor: Cursor) -> Any:
        """Return the elements of a tensor; one stands for all if they are equal."""
        kind = self.type(cursor.varint())
        if not isinstance(kind, TensorType) or not kind.is_static:
            return Other(f"tensor of the type {getattr(kind, 'name', kind)}")
        blob = cursor.part(cursor.varint())
        data, shape = blob.data[blob.at : blob.end], tuple(kind.sizes)
        count = math.prod(shape)
        if kind.dtype is types.BOOL:
            flat = _booleans(data, count)
        else:
            itemsize = kind.dtype.numpy.itemsize
            if len(data) not in (itemsize, count * itemsize):
                raise DamagedError(f"a constant of {count} elements has {len(data)} bytes")
            flat = np.frombuffer(data, kind.dtype.numpy.newbyteorder("<"))
        if len(flat) == count:
            return flat.reshape(shape)
        budget.require_elements(shape, kind.dtype.numpy, "a constant")
        return np.full(shape, flat[0]) if count else np.empty(shape, kind.dtype.numpy)

    def _builtin_attribute(self, cursor: Cursor) -> Any:
        """Return a list, dict, text or location of MLIR's own dialect."""
        code = cursor.varint()
        if code == 2:
            return self.string(cursor.varint()).decode("utf-8", "backslashreplace")
        if code == 14:
            name, _ = self.attribute(cursor.varint()), cursor.varint()
            return Location(name if isinstance(name, str) else "")
        if code == 0:
            return [self.attribute(index) for index in cursor.varints()]
        if code == 1:
            return {self._key(cursor): self.attribute(cursor.varint()) for _ in range(cursor.count())}
        if code == 4:
            return self.attribute(cursor.varint())
        if code in _BUILTIN_NAMES:
            return Other(_BUILTIN_NAMES[code])
        return self._location(code, cursor)

    def _location(self, code: int, cursor: Cursor) -> Any:
        if code == 10:  # where a function is called from: the inner place first
            inner, _ = self.attribute(cursor.varint()), cursor.varint()
            return inner if isinstance(inner, Location) else Location("")
        if code in (11, 22):
            file = self.attribute(cursor.varint())
            cursor.at = cursor.end
            return Location(file.rpartition("/")[2] if isinstance(file, str) else "")
        if code in (12, 13):
            indices = cursor.varints()
            cursor.at = cursor.end
            found = [place for place in map(self.attribute, indices) if isinstance(place, Location) and place.name]
            return found[0] if found else Location("")
        if code == 15:
            return Location("")
        raise UnreadError(f"it has an attribute of number {code} of MLIR's own, which this version does not know")


def _entry(what: str, entries: list[Entry], index: int) -> Entry:
    if index >= len(entries):
        raise DamagedError(f"the {what} {index} is named, and there are {len(entries)}")
    return entries[index]


def _booleans(data: bytes, count: int) -> np.ndarray:
    """Return booleans that are packed into bits, or one in a byte as older writers have them; one of all bits set
    stands for any number."""
    if len(data) == 1 and count != 1 and data[0] in (0, 255):
        return np.full(1 if count > 8 else count, data[0] != 0)
    if len(data) == -(-count // 8) and len(data) != count:
        return np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")[:count].astype(bool)
    if len(data) == count:
        return np.frombuffer(data, np.uint8) != 0
    raise DamagedError(f"a constant of {count} booleans has {len(data)} bytes")


__all__ = ["Attributes", "Entry", "FunctionType", "Location", "Other", "OtherType", "TensorType", "UnreadError"]
