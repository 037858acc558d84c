"""Data movement of strings whose kernels are missing: the op moves int32 indices of the strings, and GATHER reads the
strings at them. No kernel takes strings from two tensors into one: these must be constants, which are joined when the
model is converted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value, constant
from fuseconv.lower.rules import Lowering, require
from fuseconv.lower.support.dynamic_shapes import iota, reshape, shape_of


def build_on_indices(tfl: Lowering, build: Callable[..., Any], *data: Value) -> Any:
    """Build `build(*data)`, an op that only moves elements, on the indices of the strings, then GATHER the strings."""
    row, indices = _joined(tfl, data) if len(data) > 1 else _of_one(tfl, *data)
    made = build(*indices)
    if isinstance(made, list):
        return [tfl.gather(row, places, axis=0) for places in made]
    return tfl.gather(row, made, axis=0)


def _of_one(tfl: Lowering, x: Value) -> tuple[Value, list[Value]]:
    """Return the strings of a tensor as a vector, and their indices in the tensor's shape."""
    size = product(shape_of(x))
    return reshape(tfl, x, (size,), x), [reshape(tfl, iota(tfl, size, x), shape_of(x), x)]


def _joined(tfl: Lowering, data: Sequence[Value]) -> tuple[Value, list[Value]]:
    """Return the strings of some constants as one vector, and their indices in it, in each one's shape."""
    known = [x.data for x in data if isinstance(x.data, np.ndarray)]
    require(len(known) == len(data), "TFLite has no kernel that takes strings from two tensors into one")
    ends = np.cumsum([each.size for each in known])
    places = [
        np.arange(end - each.size, end, dtype=np.int32).reshape(each.shape) for each, end in zip(known, ends)
    ]  # fmt: skip
    joined = np.concatenate([each.reshape(-1) for each in known])
    return constant(joined, data[0].dtype), [tfl.const(place) for place in places]
