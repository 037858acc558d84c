"""Take slices by the ops that copy runs of elements: STRIDED_SLICE -> SLICE, or GATHER of one place of a dimension.

LiteRT's STRIDED_SLICE copies one element at a time. For 64 x 400 integers it takes 25 times as long as SLICE, and for
x[:, 0] of 64 x 40 x 8 four times as long as GATHER. XNNPACK, which is as fast, takes slices of floats in signatures
alone, and none that takes a dimension away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.slice_spec import Entry, Pick, SliceSpec, Take
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import TYPES

_KINDS = frozenset({"tfl.STRIDED_SLICE"})
_OF_SIZES = frozenset({types.INT32, types.INT64})
# The most elements of a vector of sizes, or of a matrix with two numbers for each of 8 dimensions.
_MOST_SIZES = 16


@rewrite_pass("lower-strided-slices", _KINDS, requires=(TFL_ONLY,))
def lower_strided_slices(op: Op, out: list[Op]) -> list[Value] | None:
    """Replace slices of stride 1: STRIDED_SLICE -> SLICE of known sizes, x[:, 2] -> GATHER(x, 2, axis=1)."""
    x, *bounds = op.operands
    if x is None or x.shape is None or x.is_const or op.result.variable or not all(b and b.is_const for b in bounds):
        return None
    known = [size for size in x.shape if isinstance(size, int)]
    # LiteRT computes slices of sizes ahead.
    if x.dtype in _OF_SIZES and x.is_static and math.prod(known) <= _MOST_SIZES:
        return None
    spec = SliceSpec.of(op)
    entries = spec.unfold(len(x.shape)) if spec is not None else None
    if entries is None or len(entries) != len(x.shape) or any(entry.stride != 1 for entry in entries):  # type: ignore[union-attr]
        return None
    tfl = Builder(out, op.name, op.sources)
    if any(isinstance(entry, Pick) for entry in entries):
        return _gather(tfl, op, x, entries)
    # What SLICE makes of a tensor that is written with an unknown size is of dynamic size, and so is all behind it.
    return _slice(tfl, op, x, entries, known) if x.is_static else None


def _gather(tfl: Builder, op: Op, x: Value, entries: Sequence[Entry]) -> list[Value] | None:
    """Return what takes one place of one dimension, and all of the others."""
    places = [axis for axis, entry in enumerate(entries) if not entry.takes_all(x.shape[axis])]  # type: ignore[union-attr, index]
    entry = entries[places[0]] if len(places) == 1 else None
    if not isinstance(entry, Pick) or x.dtype not in TYPES["GATHER"]:
        return None
    size, index = x.shape[places[0]], entry.index  # type: ignore[index]
    if index < 0 and isinstance(size, int):
        index += size
    if index < 0:
        return None
    operands = [x, tfl.const(np.int32(index))]
    return tfl.typed_op("GATHER", operands, [(x.dtype, op.result.shape)], {"axis": places[0], "batch_dims": 0})


def _slice(
    tfl: Builder, op: Op, x: Value, entries: Sequence[Entry], sizes: Sequence[int]
) -> list[Value] | None:  # fmt: skip
    if x.dtype not in TYPES["SLICE"]:
        return None
    taken = [range(size)[entry.begin : entry.end] for size, entry in zip(sizes, entries) if isinstance(entry, Take)]
    begins, counts = tfl.ints([each.start for each in taken]), tfl.ints([len(each) for each in taken])
    return tfl.typed_op("SLICE", [x, begins, counts], [(x.dtype, op.result.shape)], {})
