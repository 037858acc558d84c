"""Importers of StableHLO's ops, by kind."""

from __future__ import annotations

from fuseconv.load.stablehlo.ops import control, elementwise, products, reductions, shapes
from fuseconv.load.stablehlo.ops.registry import TABLE

for _module in (control, elementwise, products, reductions, shapes):
    TABLE.collect(_module)

__all__ = ["TABLE"]
