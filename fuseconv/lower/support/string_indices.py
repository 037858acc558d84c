"""Data movement of strings whose kernels are missing: the op moves int32 indices of the strings, and GATHER reads the
strings at them. No kernel takes strings from two tensors into one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, require
from fuseconv.lower.support.dynamic_shapes import iota, reshape, shape_of


def build_on_indices(tfl: Lowering, build: Callable[..., Any], *data: Value) -> Any:
    """Build `build(*data)`, an op that only moves elements, on the indices of the strings, then GATHER the strings."""
    require(len(data) == 1, "TFLite has no kernel that takes strings from two tensors into one")
    (x,) = data
    size = product(shape_of(x))
    row = reshape(tfl, x, (size,), x)
    made = build(reshape(tfl, iota(tfl, size, x), shape_of(x), x))
    if isinstance(made, list):
        return [tfl.gather(row, places, axis=0) for places in made]
    return tfl.gather(row, made, axis=0)
