"""The options of a custom op as a flexbuffer map, in the form that kernels read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flatbuffers import flexbuffers

_TYPED = ({int}, {float}, {bool})


def encode(options: Mapping[str, Any]) -> bytes:
    """A map with sorted keys. Values are int, float, bool, str, bytes or lists of these.

    Lists of numbers are typed vectors, as TFLiteConverter writes and `AsTypedVector` of the kernels expects; lists of
    strings are plain ones, as the format has deprecated typed ones."""
    builder = flexbuffers.Builder()
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
