"""Decode flexbuffers that nobody vouches for, options of custom ops: the counterpart of `write/flexbuffer.py`."""

from __future__ import annotations

import struct
from typing import Any

from flatbuffers import flexbuffers

from fuseconv.load.tflite.table_decoder import DamagedError

# Vectors may be shared, so that each level of them multiplies what the one below stands for. Encoders share keys and
# texts alone.
_GROWTH, _LEAST_WORK = 2, 256
# What flatbuffers raises where offsets, sizes and types lead nowhere; it asserts widths.
_DAMAGE = (struct.error, LookupError, ValueError, TypeError, OverflowError, RecursionError, AssertionError)


def decode(raw: bytes) -> Any:
    """Return what a flexbuffer holds, as Python has it. Raises DamagedError if it is none, or if it stands for more
    than its bytes account for."""
    try:
        return _Decoder(len(raw)).plain(flexbuffers.GetRoot(raw))
    except DamagedError:
        raise
    except _DAMAGE as error:
        raise DamagedError("a flexbuffer is damaged, or holds another format") from error


class _Decoder:
    """Decode the references of a flexbuffer of so many bytes."""

    def __init__(self, size: int) -> None:
        self._work = _GROWTH * size + _LEAST_WORK

    def plain(self, ref: Any) -> Any:
        """Return what a reference leads to. Raises DamagedError if all references together lead to too much."""
        if ref.IsMap:
            entries = self._counted(ref.AsMap)
            return {self._counted(key.AsKey): self.plain(item) for key, item in zip(entries.Keys, entries.Values)}
        if ref.IsVector:
            return [self.plain(item) for item in self._counted(ref.AsVector)]
        if ref.IsTypedVector:
            return self._counted(ref.AsTypedVector).Value
        if ref.IsFixedTypedVector:
            return self._counted(ref.AsFixedTypedVector).Value
        value = ref.Value
        return self._counted(value) if isinstance(value, (str, bytes, bytearray)) else value

    def _counted(self, items: Any) -> Any:
        self._work -= len(items)
        if self._work < 0:
            raise DamagedError("a flexbuffer shares its vectors so often that they stand for much more than it holds")
        return items
