"""An `ir` op -> NodeDef: the inverse of `graph_importer`, for files that hand ops back to TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import FuncRef, Op
from fuseconv.ir.types import DType
from fuseconv.load import protos


def node_def(op: Op, attributes: Mapping[str, Any]) -> bytes:
    """Return the serialized NodeDef of a TF op: its name, the op, an empty name for each operand and all attributes.

    attributes: as `Module.attributes` gives them. Raises ValueError for one that names a function, which the node
    cannot carry."""
    node = protos.classes["NodeDef"](name=op.name or op.type, op=op.type)
    node.input.extend("" for operand in op.operands if operand is not None)
    for name, value in attributes.items():
        _set(node.attr[name], value)
    return node.SerializeToString(deterministic=True)


def _set(proto: Any, value: Any) -> None:
    """Fill an AttrValue."""
    if isinstance(value, list):
        proto.list.SetInParent()
        if value:
            _extend(proto.list, value)
    elif isinstance(value, (str, bytes)):
        proto.s = _bytes(value)
    elif isinstance(value, bool):
        proto.b = value
    elif isinstance(value, int):
        proto.i = value
    elif isinstance(value, float):
        proto.f = value
    elif isinstance(value, DType):
        proto.type = value.tf
    elif isinstance(value, np.ndarray):
        _tensor(proto.tensor, value)
    elif isinstance(value, FuncRef):
        raise ValueError(f"it runs the function {value.name}, which the file cannot hold as TensorFlow's")
    else:
        proto.shape.SetInParent()
        _shape(proto.shape, value)


def _extend(proto: Any, values: list[Any]) -> None:
    """Fill a ListValue with values of one type."""
    first = values[0]
    if isinstance(first, (str, bytes)):
        proto.s.extend(map(_bytes, values))
    elif isinstance(first, bool):
        proto.b.extend(values)
    elif isinstance(first, int):
        proto.i.extend(values)
    elif isinstance(first, float):
        proto.f.extend(values)
    elif isinstance(first, DType):
        proto.type.extend(value.tf for value in values)
    elif isinstance(first, np.ndarray):
        for value in values:
            _tensor(proto.tensor.add(), value)
    elif isinstance(first, FuncRef):
        raise ValueError(f"it runs the function {first.name}, which the file cannot hold as TensorFlow's")
    else:
        for value in values:
            _shape(proto.shape.add(), value)


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _shape(proto: Any, dims: tuple[int | None, ...] | None) -> None:
    proto.unknown_rank = dims is None
    for dim in dims or ():
        proto.dim.add(size=-1 if dim is None else dim)


def _tensor(proto: Any, array: np.ndarray) -> None:
    kind = types.of_array(array)
    proto.dtype = kind.tf
    proto.tensor_shape.SetInParent()
    _shape(proto.tensor_shape, array.shape)
    if array.dtype == object:
        proto.string_val.extend(map(_bytes, array.reshape(-1)))
    else:
        proto.tensor_content = np.ascontiguousarray(array).tobytes()
