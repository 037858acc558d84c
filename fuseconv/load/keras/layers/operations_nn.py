"""Functions of `keras.ops` that are no plain arithmetic: activations with settings, sums along an axis, windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers import activations, pooling, tensors
from fuseconv.load.keras.layers.operations import operation
from fuseconv.load.keras.layers.pictures import resized
from fuseconv.load.keras.layers.settings import channels_first, sizes

# Activations by their operations, with the settings that they must have.
_ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "Celu": ("celu", {"alpha": 1.0}), "Glu": ("glu", {"axis": -1}), "HardShrink": ("hard_shrink", {"threshold": 0.5}),
    "SoftShrink": ("soft_shrink", {"threshold": 0.5}), "SparsePlus": ("sparse_plus", {}),
    "SparseSigmoid": ("sparse_sigmoid", {}), "Sparsemax": ("sparsemax", {"axis": -1}),
    "Squareplus": ("squareplus", {"b": 4}),
}  # fmt: skip
_FLOATS = {"Arctan": "Atan", "Arcsin": "Asin", "Arccos": "Acos", "Sinh": "Sinh", "Cosh": "Cosh", "Arcsinh": "Asinh",
           "Arccosh": "Acosh", "Arctanh": "Atanh"}  # fmt: skip
_CHECKED = {"Isnan": "IsNan", "Isinf": "IsInf", "Isfinite": "IsFinite"}


def _activated(name: str) -> Callable[..., Value]:
    return lambda k, x: activations.activate(k, tensors.floats(k, x), name)


def _checked(kind: str) -> Callable[..., Value]:
    return lambda k, x: k.tf.add(kind, [tensors.floats(k, x)], {}, types.BOOL)


def _unary(kind: str) -> Callable[..., Value]:
    return lambda k, x: k.tf.add(kind, [tensors.floats(k, x)], {}, x.dtype)


for _name, (_activation, _fixed) in _ACTIVATIONS.items():
    operation(_name, **_fixed)(_activated(_activation))
for _name, _kind in _FLOATS.items():
    operation(_name)(_unary(_kind))
for _name, _kind in _CHECKED.items():
    operation(_name)(_checked(_kind))
operation("Round", decimals=0)(_unary("Round"))


@operation("Arctan2")
def arctan2(k: Call, x1: Any, x2: Any) -> Value:
    return tensors.binary(k, "Atan2", tensors.floats(k, x1), tensors.floats(k, x2))


@operation("Conjugate")
def conjugate(k: Call, x: Value) -> Value:
    return tensors.floats(k, x)


@operation("Cumsum", dtype=None)
def cumsum(k: Call, x: Value, *, axis: int) -> Value:
    return tensors.accumulated(k, "Cumsum", x, axis)


@operation("Cumprod", dtype=None)
def cumprod(k: Call, x: Value, *, axis: int) -> Value:
    return tensors.accumulated(k, "Cumprod", x, axis)


@operation("Logsumexp")
def logsumexp(k: Call, x: Value, *, axis: int | list[int] | None = None, keepdims: bool = False) -> Value:
    return tensors.logsumexp(k, tensors.floats(k, x), axis, keepdims)


@operation("Average")
def average(k: Call, x: Value, *, axis: int | list[int] | None = None) -> Value:
    return tensors.reduced(k, "Mean", tensors.floats(k, x), axis, False)


@operation("Norm", ord=None)
def norm(k: Call, x: Value, *, axis: int, keepdims: bool = False) -> Value:
    return k.tf.Sqrt(tensors.reduced(k, "Sum", k.tf.Square(tensors.floats(k, x)), axis, keepdims))


@operation("TopK")
def top_k(call: Call, x: Value, *, k: int, sorted: bool = True) -> list[Value]:
    return tensors.top_k(call, x, k, sorted)


@operation("FullLike", half=True, dtype=None)
def full_like(k: Call, x: Value, fill_value: Any) -> Value:
    if not tensors.is_number(fill_value) or (isinstance(fill_value, float) and not x.dtype.is_float):
        k.refuse(f"fill_value={str(fill_value)[:60]}")
    return k.tf.Fill(k.tf.shape(x), k.tf.number(fill_value, x.dtype), dtype=x.dtype)


@operation("Tril", k=0)
def tril(k: Call, x: Value) -> Value:
    return tensors.band(k, x, -1, 0)


@operation("Triu", k=0)
def triu(k: Call, x: Value) -> Value:
    return tensors.band(k, x, 0, -1)


@operation("MaxPool")
def max_pool(
    k: Call, x: Value, *, pool_size: int | list[int], strides: int | list[int] | None = None, padding: str = "valid",
    data_format: str | None = None,
) -> Value:  # fmt: skip
    return pooling.pool(k, tensors.floats(k, x), _rank(k, x), True, pool_size, strides, padding, data_format)


@operation("AveragePool")
def average_pool(
    k: Call, x: Value, *, pool_size: int | list[int], strides: int | list[int] | None = None, padding: str = "valid",
    data_format: str | None = None,
) -> Value:  # fmt: skip
    return pooling.pool(k, tensors.floats(k, x), _rank(k, x), False, pool_size, strides, padding, data_format)


def _rank(k: Call, x: Value) -> int:
    """Return the number of dimensions that windows go over."""
    rank = len(k.shape(x)) - 2
    return rank if 1 <= rank <= 3 else k.refuse(f"its input has the shape {x.shape}")


@operation("Resize", crop_to_aspect_ratio=False, pad_to_aspect_ratio=False, fill_mode="constant", fill_value=0.0)
def resize(
    k: Call, x: Value, *, size: list[int], interpolation: str = "bilinear", antialias: bool = False,
    data_format: str | None = None,
) -> Value:  # fmt: skip
    k.shape(tensors.floats(k, x), 4)
    if channels_first(k, data_format):
        k.refuse("its pictures have the channels first")
    return resized(k, x, k.tf.ints(sizes(k, size, 2)), interpolation, antialias)

