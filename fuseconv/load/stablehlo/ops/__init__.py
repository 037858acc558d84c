"""Importers of StableHLO's ops, by kind."""

from __future__ import annotations

from fuseconv.load.stablehlo.ops import (
    control,
    convolution,
    custom_calls,
    devices,
    elementwise,
    indexing,
    linear_algebra,
    loops,
    products,
    random,
    reductions,
    scatter,
    shapes,
    sorting,
    window_gradients,
    windows,
)
from fuseconv.load.stablehlo.ops.registry import TABLE

for _module in (
    control, convolution, custom_calls, devices, elementwise, indexing, linear_algebra, loops, products, random,
    reductions, scatter, shapes, sorting, window_gradients, windows,
):  # fmt: skip
    TABLE.collect(_module)

__all__ = ["TABLE"]
