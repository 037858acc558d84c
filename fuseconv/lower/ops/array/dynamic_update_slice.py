"""Lowering of dynamic updates of slices, which writes to TensorLists become."""

from __future__ import annotations

from fuseconv.lower.rules import lowers
from fuseconv.lower.support.legalize_operands import build_legalized


@lowers
def XlaDynamicUpdateSlice(tfl, x, update, indices):
    """DYNAMIC_UPDATE_SLICE."""
    return build_legalized(
        tfl, "DYNAMIC_UPDATE_SLICE", lambda a, b: tfl.dynamic_update_slice(a, b, indices), x, update
    )  # fmt: skip
