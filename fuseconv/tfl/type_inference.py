"""Helpers of the op table for inferring result types."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir.dims import Dim, Shape, either, floordiv, fresh
from fuseconv.ir.graph import Value
from fuseconv.tfl.opdef import KERNELS, ResultType


class ShapeError(ValueError):
    """Raised where the operands of an op do not fit together."""


# How many of an op's operands hold what its result holds (None: all); the others say which elements are taken.
_HOLDERS = {
    "ADD": None, "CONCATENATION": None, "EXPAND_DIMS": 1, "GATHER": 1, "MUL": None, "PACK": None, "RESHAPE": 1,
    "SLICE": 1, "SQUEEZE": 1, "STRIDED_SLICE": 1, "SUB": None,
}  # fmt: skip
# TensorFlow's shapes are no longer; a damaged model may claim any length.
_MAX_RANK = 254


def same(x: Value) -> ResultType:
    """Return the result is of the operand's type and shape."""
    return x.dtype, x.shape


def content(value: Value | None) -> list[Dim] | None:
    """Return the elements of an integer operand, flattened, as far as all are known as ints or symbolic dimensions."""
    if value is None:
        return None
    if value.data is not None:
        items = value.data.reshape(-1).tolist()
        return items if value.dtype.is_integer else [*map(int, items)]
    if value.content is not None:
        return list(value.content.reshape(-1))
    return None


def ints(value: Value | None) -> list[int] | None:
    """Return the elements of an integer operand, flattened, if all are known numbers."""
    items = content(value)
    if items is None:
        return None
    known = [item for item in items if isinstance(item, int)]
    return known if len(known) == len(items) else None


def scalar(value: Value | None) -> Dim | None:
    """Return the only element of an integer operand, if it is known."""
    items = content(value)
    return items[0] if items is not None and len(items) == 1 else None


def unknown(rank: int) -> Shape:
    """Return a shape of which only the rank is known."""
    return tuple(fresh() for _ in range(rank))


def shape_of(value: Value | None) -> Shape | None:
    """Return the shape that a shape operand holds; only its rank, if the operand is not known but has a known
    length."""
    items = content(value)
    if items is not None:
        return tuple(items)
    if value is not None and value.shape is not None and len(value.shape) == 1:
        (rank,) = value.shape
        return unknown(rank) if isinstance(rank, int) and rank <= _MAX_RANK else None
    return None


def sizes_of(value: Value | None) -> Shape | None:
    """Return the sizes that an operand holds, as `shape_of` does. Raises ShapeError if one is negative: no kernel takes
    it for a size that is not known."""
    sizes = shape_of(value)
    for size in sizes or ():
        if isinstance(size, int) and size < 0:
            raise ShapeError(f"a dimension of {size} elements")
    return sizes


def axis_of(axis: int, rank: int) -> int:
    """Return an axis counted from the front. Raises ShapeError if there is none such."""
    if not -rank <= axis < rank:
        raise ShapeError(f"axis {axis} of a tensor of {rank} dimensions")
    return axis % rank


def merge(dims: Iterable[Dim]) -> Dim:
    """Return one dimension for several that must be equal when the op runs: a known size if there is one. Raises
    ShapeError if two are known, and differ."""
    dims = list(dims)
    known = None
    for dim in dims:
        if isinstance(dim, int):
            if known not in (None, dim):
                raise ShapeError(f"dimensions {known} and {dim} differ")
            known = dim
    return dims[0] if known is None else known


def merged(*shapes: Shape | None) -> Shape | None:
    """Return one shape for several that must be equal when the op runs. Raises ValueError if they cannot be."""
    known = [shape for shape in shapes if shape is not None]
    return tuple(merge(dims) for dims in zip(*known, strict=True)) if known else None


def exactly(size: Dim, parts: Dim) -> Dim:
    """Return how long each of so many equal parts is. Raises ShapeError if they cannot be equal."""
    if isinstance(size, int) and isinstance(parts, int) and size % parts:
        raise ShapeError(f"{size} elements in {parts} equal parts")
    return floordiv(size, parts)


def require_least(least: int, what: str, *numbers: Dim) -> None:
    """Raise ShapeError if one of these numbers is known to be less than `least`."""
    for number in numbers:
        if isinstance(number, int) and number < least:
            raise ShapeError(f"{what} of {number}")


def require_most(most: Dim, what: str, *numbers: Dim) -> None:
    """Raise ShapeError if one of these numbers is known to be more than `most`."""
    for number in numbers:
        if isinstance(number, int) and isinstance(most, int) and number > most:
            raise ShapeError(f"{what} of {number}, and there are {most}")


def require_vector(value: Value, length: Dim | None = None) -> None:
    """Raise ShapeError unless an operand may be a vector, of this length if one is given."""
    if value.shape is not None and len(value.shape) != 1:
        raise ShapeError(f"an operand of {len(value.shape)} dimensions that must be a vector")
    if value.shape is not None and length is not None:
        merge((length, value.shape[0]))


def broadcast_dim(a: Dim, b: Dim) -> Dim:
    """Return the dimension that two broadcast to. Raises ShapeError if they do not."""
    if a == b or b == 1:
        return a
    if a == 1:
        return b
    if isinstance(a, int) and isinstance(b, int):
        raise ShapeError(f"dimensions {a} and {b} do not broadcast")
    # An unknown beside a known size is 1 or that size, and gives that size.
    if isinstance(a, int) or isinstance(b, int):
        return a if isinstance(a, int) else b
    return either(a, b)


def broadcast(*shapes: Shape | None) -> Shape | None:
    """Return the shape that all of these broadcast to; None if one is not known. Raises ShapeError if they do not."""
    result: Shape = ()
    for shape in shapes:
        if shape is None:
            return None
        if not shape or shape == result:
            continue
        if not result:
            result = shape
            continue
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + shape
        result = tuple(broadcast_dim(a, b) for a, b in zip(left, right, strict=True))
    return result


def result_content(kind: str, operands: Sequence[Value | None], attrs: dict[str, Any]) -> np.ndarray | None:
    """Return the symbolic content of the result of an op on sizes, as ints and symbolic dimensions; None where it is
    not known.

    So the pieces of a shape that is taken apart and put together again are still known, whether or not their numbers
    are."""
    if kind == "SHAPE":
        x = operands[0]
        return None if x is None or x.shape is None else np.array(x.shape, object)
    if kind not in _HOLDERS or not any(value is not None and value.content is not None for value in operands):
        return None
    holders = operands[: _HOLDERS[kind]]
    arrays = []
    for index, value in enumerate(operands):
        held = None if value is None else value.data
        if value is not None and held is None and index < len(holders):
            held = value.content
        if held is None:
            return None
        arrays.append(held)
    made = KERNELS[kind](*arrays, **attrs)
    # Of a scalar, numpy hands out the element itself.
    return None if made is None else np.asarray(made, object)
