"""Take slices by the ops that copy runs of elements: STRIDED_SLICE -> SLICE, or GATHER of one place of a dimension.

LiteRT's STRIDED_SLICE copies one element at a time: of 64 x 400 integers it takes 25 times as long as SLICE, x[:, 0] of
64 x 40 x 8 takes four times as long as GATHER. XNNPACK, which takes no time for either, takes slices of floats in
signatures alone, and no SLICE whose sizes come from the tensor, and nothing that takes a dimension away.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.slice_spec import Entry, Pick, SliceSpec, Take
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import TYPES

_KINDS = frozenset({"tfl.STRIDED_SLICE"})
_OF_SIZES = frozenset({types.INT32, types.INT64})
# The most elements of a vector of sizes, or of a matrix with two numbers for each of 8 dimensions.
_MOST_SIZES = 16


@module_pass("lower-strided-slices", requires=(TFL_ONLY,), kinds=_KINDS)
def lower_strided_slices(module: Module) -> None:
    """Replace slices of stride 1: STRIDED_SLICE -> SLICE, x[:, 2] -> GATHER(x, 2, axis=1)."""
    delegated = {signature.graph for signature in module.signatures}
    for graph in module.graphs():
        rewrite_ops(graph, _KINDS, partial(_lowered, delegated=graph in delegated))


def _lowered(op: Op, out: list[Op], delegated: bool) -> list[Value] | None:
    """delegated: XNNPACK may take the slices of floats."""
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
    if delegated and x.dtype is types.FLOAT32 and not op.result.is_static:
        return None
    return _slice(tfl, op, x, entries)


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


def _slice(tfl: Builder, op: Op, x: Value, entries: Sequence[Entry]) -> list[Value] | None:
    # SLICE of texts fails to prepare for another size than before.
    if x.dtype not in TYPES["SLICE"] or x.dtype is types.STRING:
        return None
    begins: list[Dim] = []
    sizes: list[Dim] = []
    for entry, size in zip(entries, x.shape):  # type: ignore[arg-type]
        assert isinstance(entry, Take)
        if isinstance(size, int):
            taken = range(size)[entry.begin : entry.end]
            begins.append(taken.start)
            sizes.append(len(taken))
        elif entry.takes_all():
            begins.append(0)
            sizes.append(-1)
        else:
            return None
    return tfl.typed_op("SLICE", [x, tfl.ints(begins), tfl.ints(sizes)], [(x.dtype, op.result.shape)], {})
