"""TensorProto, TensorShapeProto and AttrValue -> Python."""

from __future__ import annotations

import math
from operator import itemgetter
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import budget, types
from fuseconv.ir.graph import FuncRef
from fuseconv.ir.types import DType

# Numpy 1's arrays have no more dimensions.
MAX_RANK = 32

_VALUE_FIELDS = {
    types.FLOAT32: "float_val",
    types.FLOAT64: "double_val",
    types.INT64: "int64_val",
    types.BOOL: "bool_val",
    types.STRING: "string_val",
    types.UINT32: "uint32_val",
    types.UINT64: "uint64_val",
    types.FLOAT16: "half_val",
    types.BFLOAT16: "half_val",
    types.COMPLEX64: "scomplex_val",
    types.COMPLEX128: "dcomplex_val",
}  # the other integer types: int_val

# Element types of which TFLite has no like, by their numbers in types.proto.
_WITHOUT_LIKE = {
    15: "qint16", 16: "quint16", 24: "float8_e5m2", 25: "float8_e4m3fn", 26: "float8_e4m3fnuz",
    27: "float8_e4m3b11fnuz", 28: "float8_e5m2fnuz", 29: "int4", 30: "uint4", 31: "int2", 32: "uint2",
    33: "float4_e2m1fn",
}  # fmt: skip
# Numpy counts bytes with 63 bits, and no element has more than 16.
_MOST_ELEMENTS = 2**59 - 1


def dtype(number: int) -> DType:
    """Return the element type with this number in types.proto (a reference type is its element type).

    Raises InputError for one that fuseconv does not know."""
    found = types.BY_TF.get(number)
    if found is not None:
        return found
    if number in _WITHOUT_LIKE:
        raise InputError(
            f"the model computes in {_WITHOUT_LIKE[number]}, for which TFLite has no kernels; export it without that "
            'quantization, or with another one (model.quantize("int8"))'
        )
    raise InputError(f"the model uses TensorFlow's element type number {number}, which fuseconv does not know.")


def shape(proto: Any) -> tuple[int | None, ...] | None:
    """Return a shape with None for each unknown dimension; None if not even the rank is known."""
    if proto.unknown_rank:
        return None
    # A slice is a list at once; what iterates over a repeated field ends with an exception.
    return tuple([size if (size := dim.size) >= 0 else None for dim in proto.dim[:]])


def tensor(proto: Any, name: str) -> np.ndarray:
    """Return the array that a TensorProto holds, without a copy where it holds plain bytes.

    A list of values that is too short repeats its last value. Strings become an object array of bytes.
    `name` is told in the InputError that a malformed tensor raises."""
    kind = dtype(proto.dtype)
    dims = shape(proto.tensor_shape)
    if dims is None or None in dims:
        raise InputError(f"the constant '{name}' has no complete shape: the model file is damaged.")
    if len(dims) > MAX_RANK:
        raise InputError(f"the constant '{name}' has {len(dims)} dimensions; fuseconv reads up to {MAX_RANK}.")
    if math.prod(size for size in dims if size) > _MOST_ELEMENTS:  # an empty array may have such sizes, too
        raise InputError(f"the constant '{name}' has the shape {list(dims)}: the model file is damaged.")
    count = math.prod(dims)  # type: ignore[arg-type]
    if kind.is_handle:
        raise InputError(f"the constant '{name}' is a {kind.name}; such constants cannot be read.")
    content = proto.tensor_content
    if content:
        if kind is types.STRING or len(content) != count * kind.numpy.itemsize:
            raise InputError(
                f"the constant '{name}' holds {len(content)} bytes, which do not fit {kind.name}{list(dims)}: "
                "the model file is damaged."
            )
        return np.frombuffer(content, kind.numpy).reshape(dims)  # type: ignore[arg-type]
    return _spread(_values(proto, kind), dims, count, name)  # type: ignore[arg-type]


def _values(proto: Any, kind: DType) -> np.ndarray:
    """Return the values of a TensorProto that lists them one by one, as a vector: halves are stored as integers of
    their bits, complex numbers as pairs."""
    values = getattr(proto, _VALUE_FIELDS.get(kind, "int_val"))[:]
    if kind in (types.FLOAT16, types.BFLOAT16):
        return np.array(values, np.uint16).view(kind.numpy)
    if kind is types.COMPLEX64:
        return np.array(values, np.float32).view(kind.numpy)
    if kind is types.COMPLEX128:
        return np.array(values, np.float64).view(kind.numpy)
    if kind is types.STRING:
        array = np.empty(len(values), object)
        array[:] = values
        return array
    if kind.numpy.itemsize < 4 and kind is not types.BOOL:
        return np.array(values, np.int32).astype(kind.numpy)
    return np.array(values, kind.numpy)


def _spread(values: np.ndarray, dims: tuple[int, ...], count: int, name: str) -> np.ndarray:
    """Return values in a shape: where there are fewer than elements, the last one stands for the rest, as TensorFlow
    has it. Raises InputError for more, and where the budget has no room."""
    given = len(values)
    if given == count:
        return values.reshape(dims)
    if given > count:
        raise InputError(f"the constant '{name}' holds {given} values for {count} elements: the model file is damaged.")
    budget.require_elements(dims, values.dtype, name)
    if given == 0:
        nothing = b"" if values.dtype == object else 0
        return np.full(dims, nothing, values.dtype)
    spread = np.empty(count, values.dtype)
    spread[:given] = values
    spread[given:] = values[-1]
    return spread.reshape(dims)


def charged_tensor(proto: Any, name: str) -> np.ndarray:
    """Return a tensor that becomes no constant, but takes memory as one."""
    array = tensor(proto, name)
    budget.charge(array, name)
    return array


def text(data: bytes) -> str | bytes:
    """Decode bytes as UTF-8 text; return them as they are if they are none."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def func(proto: Any) -> FuncRef:
    """Return a function's name with the attributes that it is bound to, or an annotation with its own."""
    return FuncRef(proto.name, {key: attr(value) for key, value in sorted_items(proto.attr)} if proto.attr else {})


def sorted_items(attributes: Any) -> list[tuple[str, Any]]:
    """Return the items of a map of attributes by name: protobuf has them in another order in each process."""
    return sorted(attributes.items(), key=itemgetter(0))


_CONVERT: dict[str, Any] = {
    "s": text,
    "i": int,
    "f": float,
    "b": bool,
    "type": dtype,
    "shape": shape,
    "tensor": lambda proto: charged_tensor(proto, "of an attribute"),
    "func": func,
}


# The member of AttrValue, or of its list, that holds what an op definition calls "string".
_MEMBERS = {"string": "s", "int": "i", "float": "f", "bool": "b", "type": "type", "shape": "shape"}

_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str, bytes),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "type": (DType,),
    "shape": (tuple, type(None)),
    "tensor": (np.ndarray,),
    "func": (FuncRef,),
}


def is_a(value: Any, attr_type: str) -> bool:
    """Return whether an attribute's value is of the type that an op definition declares: "int", "list(shape)"."""
    if attr_type.startswith("list("):
        # One AttrValue holds items of one type.
        return type(value) is list and (not value or type(value[0]) in _KINDS.get(attr_type[5:-1], ()))
    return type(value) in _KINDS.get(attr_type, ())


def attr(value: Any, attr_type: str = "") -> Any:
    """Return an attribute's value: int, float, bool, str (bytes if not UTF-8), DType, a shape (a tuple with None for
    unknown dimensions, or None), an array, a FuncRef, or a list of these.

    attr_type: what it should be by the op definition, which is looked for first; what it is else is found too."""
    member = _MEMBERS.get(attr_type)
    if member is not None and value.HasField(member):
        return _CONVERT[member](getattr(value, member))
    kind = value.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "list":
        return [_CONVERT[field.name](item) for field, items in value.list.ListFields() for item in items]
    if kind == "placeholder":
        raise InputError("the model holds a function whose attributes are not bound to values; it cannot be converted.")
    return _CONVERT[kind](getattr(value, kind))
