"""Functions of `keras.ops` that are no plain arithmetic: activations with settings, sums along an axis, windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers import activations, pooling, tensors
from fuseconv.load.keras.layers.operations import operation
from fuseconv.load.keras.layers.pictures import resized
from fuseconv.load.keras.layers.settings import axes_of, channels_first, sizes

# Activations by their operations, with the settings that they must have.
_ACTIVATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "SparsePlus": ("sparse_plus", {}), "SparseSigmoid": ("sparse_sigmoid", {}),
    "Sparsemax": ("sparsemax", {"axis": -1}), "Squareplus": ("squareplus", {"b": 4}),
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


@operation("Celu")
def celu(k: Call, x: Value, *, alpha: float = 1.0) -> Value:
    return activations.celu(k, tensors.floats(k, x), alpha)


@operation("Glu")
def glu(k: Call, x: Value, *, axis: int = -1) -> Value:
    return activations.glu(k, tensors.floats(k, x), axis)


@operation("HardShrink")
def hard_shrink(k: Call, x: Value, *, threshold: float = 0.5) -> Value:
    return activations.hard_shrink(k, tensors.floats(k, x), threshold)


@operation("SoftShrink")
def soft_shrink(k: Call, x: Value, *, threshold: float = 0.5) -> Value:
    return activations.soft_shrink(k, tensors.floats(k, x), threshold)


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


@operation("Norm")
def norm(
    k: Call, x: Value, *, ord: float | str | None = None, axis: int | list[int], keepdims: bool = False
) -> Value:
    """Return the root of the sum of squares along one dimension or two; along one also the sum, or the largest, of
    absolute values (ord 1, infinity)."""
    count = len(axes_of(k, axis, len(k.shape(tensors.floats(k, x)))))
    if count == 1 and ord in (1, math.inf):
        return tensors.reduced(k, "Sum" if ord == 1 else "Max", k.tf.Abs(x), axis, keepdims)
    if count > 2 or ord not in ((None, 2) if count == 1 else (None, "fro")):
        k.refuse(f"ord={str(ord)[:60]}, axis={axis}")
    return k.tf.Sqrt(tensors.reduced(k, "Sum", k.tf.Square(x), axis, keepdims))


@operation("TopK")
def top_k(call: Call, x: Value, *, k: int, sorted: bool = True) -> list[Value]:
    return tensors.top_k(call, x, k, sorted)


@operation("FullLike", half=True, dtype=None)
def full_like(k: Call, x: Value, fill_value: Any) -> Value:
    if not tensors.is_number(fill_value) or (isinstance(fill_value, float) and not x.dtype.is_float):
        k.refuse(f"fill_value={str(fill_value)[:60]}")
    return k.tf.Fill(k.tf.shape(x), k.tf.number(fill_value, x.dtype), dtype=x.dtype)


@operation("Tril")
def tril(call: Call, x: Value, *, k: int = 0) -> Value:
    if k < 0:
        call.refuse(f"k={k}")
    return tensors.band(call, x, -1, k)


@operation("Triu")
def triu(call: Call, x: Value, *, k: int = 0) -> Value:
    if k > 0:
        call.refuse(f"k={k}")
    return tensors.band(call, x, -k, -1)


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

