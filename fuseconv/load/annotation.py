"""Annotations of composites on functions, in any of the forms in which models carry them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import text_format

from fuseconv.ir.graph import FuncRef
from fuseconv.load import attrs
from fuseconv.load.protos import DecodeError, classes

KEYS = ("_implements", "api_implements")
# The first byte of a serialized NameAttrList: field 1, a name.
_NAME_FIELD = b"\x0a"


def annotation(function_attrs: Mapping[str, Any]) -> FuncRef | None:
    """Return the composite's name with the annotation's own attributes; None if the function implements none.

    The forms are TensorFlow's (`tf.function(experimental_implements=...)` and Keras's `api_implements`): a plain
    string, a NameAttrList, or one serialized into the string, as text or as bytes. In a plain string, what follows the
    name after commas are flags ("LSTMCellSimple,CoupleInputForgetGates"): attributes that are true.
    """
    for key in KEYS:
        if key in function_attrs:
            value = function_attrs[key]
            found = attrs.func(value.func) if value.WhichOneof("kind") == "func" else _from_bytes(value.s)
            if found is not None and found.name:
                return found
    return None


def _from_bytes(data: bytes) -> FuncRef | None:
    """Parse an annotation as its forms have it: a NameAttrList as bytes or as text, or "name, flag, flag". None for
    bytes that are none of these."""
    if data.startswith(_NAME_FIELD):
        try:
            return attrs.func(classes["NameAttrList"].FromString(data))
        except DecodeError:
            return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    try:
        parsed = text_format.Parse(text, classes["NameAttrList"]())
    except text_format.ParseError:
        name, *flags = (part.strip() for part in text.split(","))
        return FuncRef(name, {flag: True for flag in flags if flag})
    return attrs.func(parsed)
