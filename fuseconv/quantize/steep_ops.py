"""Ops on integers that would lose the numbers they compute: where they are steep, or where numbers cancel out."""

from __future__ import annotations

from collections.abc import Mapping

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.quantize.affine import Range
from fuseconv.tfl.integer import Kernels

# Of the largest number of a range, so small a part has no more than some steps of int8 in front of zero.
_LEAST_STEPS = 16
# The same where an op is steep: four steps of int8, eight parts of the tables of int16 do.
_LEAST_STEPS_OF_STEEP = {types.INT8: 64, types.INT16: 16}


def lost_in_steps(op: Op, ranges: Mapping[Value, Range], kernels: Kernels) -> str:
    """Return why an op on integers would lose its numbers: few steps where it is steep, or a sum that is smaller than
    the steps of what cancels out in it. Empty if it would not."""
    if op.type not in ("ADD", "SUB") and op.type not in kernels.steep_at_zero:
        return ""
    known = [Range.of(v.data) if v.data is not None else ranges[v] for v in op.operands if v is not None]
    if op.type in kernels.steep_at_zero and _comes_near_zero(known[-1], _LEAST_STEPS_OF_STEEP[kernels.activations]):
        return "its operand comes near zero"
    if op.type in ("ADD", "SUB") and abs(ranges[op.result]) * _LEAST_STEPS < max(map(abs, known)):
        return "its operands cancel out"
    return ""


def _comes_near_zero(values: Range, steps: int) -> bool:
    return max(values.least, -values.largest) * steps < abs(values)
