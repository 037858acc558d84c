"""Annotated functions, in each of the forms in which models carry an annotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import attr_value_pb2

from fuseconv.testing import implements

FORMS = ("string", "proto", "api", "text", "binary")
# For fusions whose functions take long: all forms are read in one place, which test_embedding_lookup.py tries them on.
MOSTLY_SLOW_FORMS = [FORMS[0], *(pytest.param(form, marks=pytest.mark.slow) for form in FORMS[1:])]


def annotated(fn: Callable, annotation: str, form: str = "string", **attributes: Any) -> Callable:
    """fn as a tf.function. form: `string` (TensorFlow makes a proto of a NameAttrList's text), `proto`, `api`
    (api_implements), `text` and `binary` (a NameAttrList, serialized into a string)."""
    proto = annotation if annotation.startswith("name:") else implements(annotation)
    if form == "string":
        return tf.function(fn, experimental_implements=annotation, experimental_attributes=attributes)
    if form == "proto":
        return tf.function(fn, experimental_implements=proto, experimental_attributes=attributes)
    if form == "api":
        value: Any = annotation
    else:
        message = text_format.Parse(proto, attr_value_pb2.NameAttrList())
        data = proto.encode() if form == "text" else message.SerializeToString()
        value = attr_value_pb2.AttrValue(s=data)
    key = "api_implements" if form == "api" else "_implements"
    return tf.function(fn, experimental_attributes={key: value, **attributes})
