"""The options of a custom op as a flexbuffer, in the form that kernels read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_TYPED = ({int}, {float}, {bool})


class _Raw:
    """Bytes that are written as a string: the format's strings, unlike Python's, need not be text."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def encode(self, encoding: str) -> bytes:
        return self.data


def encode(options: Mapping[str, Any] | Sequence[str | bytes]) -> bytes:
    """Return a map with sorted keys, whose values are int, float, bool, str, bytes or lists of these; or a vector of
    strings.

    Lists of numbers are typed vectors, as TFLiteConverter writes and `AsTypedVector` of the kernels expects; lists of
    strings are plain ones, as the format has deprecated typed ones."""
    from flatbuffers import flexbuffers  # few models have custom ops

    builder = flexbuffers.Builder()
    if not isinstance(options, Mapping):
        with builder.Vector():
            for item in options:
                builder.String(item if isinstance(item, str) else _Raw(item))
        return bytes(builder.Finish())
    with builder.Map():
        for key in sorted(options):
            value = options[key]
            builder.Key(key)
            if isinstance(value, (list, tuple)) and {type(item) for item in value} in _TYPED:
                with builder.TypedVector():
                    for item in value:
                        builder.Add(item)
            else:
                builder.Add(list(value) if isinstance(value, tuple) else value)
    return bytes(builder.Finish())
