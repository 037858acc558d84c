"""Helpers of fusions that merge constants: matching shapes, and arithmetic that loses no accuracy."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.fuse.match import Match
from fuseconv.ir import types
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Value
from fuseconv.ir.mapped_arrays import drop_pages
from fuseconv.ir.product import Product

# Factors within these bounds (and zero) leave the digits of what they scale.
_SMALLEST_FACTOR, _LARGEST_FACTOR = 1e-15, 1e15
# Weights up to this cannot make a sum overflow that did not overflow before.
_LARGEST = 1e30
# From here on, adding a number and taking it away again rounds what it is added to, which a model may mean to do.
_ROUNDS = 1024.0
_SHORT = 4096


def finite_array(value: Value | None) -> np.ndarray | None:
    """Return the array of a constant of float32, all of it finite; None for any other value."""
    if value is None or value.data is None or value.dtype is not types.FLOAT32 or value.quantization is not None:
        return None
    return value.data if math.isfinite(_largest(value.data)) else None


def per_channel(array: np.ndarray, shape: Shape | None, channels: int) -> np.ndarray | None:
    """Return the constant as a vector of `channels` numbers, if it tells nothing but channels of a tensor of this
    shape.

    The channels are the last dimensions, as many of them as have `channels` elements together. None if there are none
    such, or if the constant differs along other dimensions, or if it has more dimensions than the tensor.
    """
    if array.size == channels and shape and array.shape[-1:] == shape[-1:] == (channels,) and array.ndim <= len(shape):
        return array.reshape(channels)
    if array.size == 1 and (shape is None or array.ndim <= len(shape)):
        return None if shape is None else _repeated(array.reshape(()), channels)
    if shape is None or array.ndim > len(shape):
        return None
    trailing = trailing_dims(shape, channels)
    if trailing is None:
        return None
    inner: np.ndarray = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
    stretched = broadcast_constant(inner, trailing)
    return None if stretched is None else stretched.reshape(channels)


def _repeated(number: np.ndarray, count: int) -> np.ndarray:
    """Return a vector of a number, which takes no memory if it is long: making such a view takes ten times as long."""
    return np.full(count, number) if count <= _SHORT else np.broadcast_to(number, (count,))


def broadcast_constant(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return the array, broadcast to this shape; None if it has more elements in a dimension, or more dimensions above
    1."""
    if array.shape == shape:
        return array
    outer = max(array.ndim - len(shape), 0)
    inner = array.shape[outer:]
    fits = all(dim in (1, size) for dim, size in zip(inner[::-1], shape[::-1])) and set(array.shape[:outer]) <= {1}
    return np.broadcast_to(array.reshape(inner), shape) if fits else None


def trailing_dims(shape: Shape, elements: int) -> tuple[int, ...] | None:
    """Return the last dimensions of a shape whose product is the given number of elements; None if there are none."""
    for count in range(1, len(shape) + 1):
        trailing = shape[-count:]
        if not all(isinstance(dim, int) for dim in trailing):
            return None
        if math.prod(trailing) == elements:  # type: ignore[arg-type]
            return trailing  # type: ignore[return-value]
    return None


def scaled(array: np.ndarray, factors: np.ndarray) -> np.ndarray | None:
    """Return the array times factors that broadcast to it; None where that could overflow, or lose digits that
    count."""
    if not _keep_digits(factors):
        return None
    with np.errstate(all="ignore"):
        product = np.multiply(array, factors)
    return product if _fits(product) else None


def scaled_weights(weights: Value, factors: np.ndarray) -> Value | None:
    """Return the same of a constant that may be large: a `Product`."""
    if not _keep_digits(factors):
        return None
    largest = weights.largest if isinstance(weights, Product) else _largest(weights.stored)  # type: ignore[arg-type]
    drop_pages(weights.stored)  # type: ignore[arg-type]
    product = Product(weights, factors, largest * _largest(factors))
    if product.largest <= _LARGEST:
        return product
    with np.errstate(all="ignore"):
        return product if _fits(product.data) else None


def _keep_digits(factors: np.ndarray) -> bool:
    sizes: np.ndarray = np.abs(factors).reshape(-1)
    if np.count_nonzero(sizes) != sizes.size:
        sizes = sizes[sizes != 0]
    # An index takes a tenth of the time of a minimum, and finds NaN as that does.
    return not sizes.size or (sizes.item(sizes.argmin()) >= _SMALLEST_FACTOR and _largest(sizes) <= _LARGEST_FACTOR)


def reciprocal(factors: np.ndarray) -> np.ndarray | None:
    """Return the factor that replaces a division by these numbers; None where the result differs by more than
    rounding."""
    if not factors.size or not factors.all() or not _keep_digits(factors):
        return None
    return np.divide(np.float32(1), factors)


def summed(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return the sum of two constants that are added to the same value; None where adding them one by one rounds on
    purpose."""
    if _largest(a) < _ROUNDS and _largest(b) < _ROUNDS:  # as in most models
        return np.add(a, b)
    with np.errstate(all="ignore"):
        total = np.add(a, b)
    size: np.ndarray = np.maximum(np.abs(a), np.abs(b))
    rounds = (size >= _ROUNDS) & (np.abs(total) < size / _ROUNDS)
    return total if _fits(total) and not rounds.any() else None


def _fits(array: np.ndarray) -> bool:
    return _largest(array) <= _LARGEST


def _largest(array: np.ndarray) -> float:
    """Return the size of the largest element; NaN if one is NaN."""
    flat = array.ravel("K")
    if 0 < flat.size <= _SHORT:  # to find their places takes a tenth of the time of two reductions
        return float(max(flat.item(flat.argmax()), -flat.item(flat.argmin())))
    return float(np.maximum(flat.max(initial=0), -flat.min(initial=0)))


def require_float32(m: Match) -> None:
    """Refuse other types than float32: TFLite's kernels compute activations and norms in no other."""
    if m.result.dtype is not types.FLOAT32:
        m.refuse(f"TFLite computes it in float32, not in {m.result.dtype}")
