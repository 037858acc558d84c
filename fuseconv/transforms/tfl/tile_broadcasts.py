"""Repeat along dimensions of 1 by TILE: BROADCAST_TO(x[1, 16], [32, 16]) -> TILE(x, [32, 1]).

LiteRT's kernel of BROADCAST_TO computes the place of each element, where TILE copies rows, and takes up to 200 times as
long. Where it repeats the whole of x, in dimensions before x's, it takes no longer than TILE behind a RESHAPE. What
computes element by element broadcasts by itself (`canonicalize-tfl`); this is for what is left, such as a class token
for each example.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import open_sizes
from fuseconv.ir.graph import Op, Value
from fuseconv.pass_manager import rewrite_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.kernel_limits import TYPES


@rewrite_pass("tile-broadcasts", ("tfl.BROADCAST_TO",), requires=(TFL_ONLY,))
def tile_broadcasts(op: Op, out: list[Op]) -> list[Value] | None:
    """Copy rows, not elements: BROADCAST_TO(x[1, 16], [n, 16]) -> TILE(x, [n, 1])."""
    made: list[Op] = []
    value = _tiled(op, Builder(made, op.name, op.sources))
    if value is None:
        return None
    out.extend(made)
    value.shape = op.result.shape
    return [value]


def _tiled(op: Op, tfl: Builder) -> Value | None:
    x, wide = op.operands
    shape = op.result.shape
    if x is None or wide is None or x.shape is None or shape is None or x.dtype not in TYPES["TILE"]:
        return None
    if op.result.quantization is not None or op.result.variable:
        return None
    added = len(shape) - len(x.shape)
    before = (1,) * added + x.shape
    repeats = [a == 1 and b != 1 for a, b in zip(before, shape)]
    if any(a != b and not repeated for a, b, repeated in zip(before, shape, repeats)):
        return None  # a size that is not known may be 1
    if added and not any(repeats[added:]):
        return None
    multiples = _multiples(wide, repeats, tfl)
    if multiples is None or sum(not isinstance(size, int) for size in before) > 1:
        return None
    if before != x.shape:
        x = tfl.reshape(x, open_sizes(before))
        x.shape = before
    return tfl.tile(x, multiples)  # type: ignore[no-any-return]


def _multiples(sizes: Value, repeats: Sequence[bool], tfl: Builder) -> Value | None:
    """Return the sizes, int32 [rank], where a dimension is repeated, else 1. None if that would take more than other
    constants among what is joined to the sizes: what LiteRT knows as it allocates tensors it has to know then yet."""
    if sizes.data is not None:
        return tfl.const(np.where(repeats, sizes.data, 1).astype(np.int32))
    op = sizes.op
    if all(repeats) and sizes.dtype is types.INT32:
        return sizes
    if op is None or op.kind != "tfl.CONCATENATION" or sizes.dtype is not types.INT32:
        return None
    parts, start = [], 0
    for part in op.operands:
        count = part.shape[0] if part is not None and part.shape else None
        if part is None or not isinstance(count, int):
            return None
        own = repeats[start : start + count]
        start += count
        if not any(own):
            parts.append(tfl.const(np.ones(count, np.int32)))
        elif part.data is not None:
            parts.append(tfl.const(np.where(own, part.data, 1).astype(np.int32)))
        elif all(own):
            parts.append(part)
        else:
            return None
    return tfl.concatenation(*parts, axis=0)  # type: ignore[no-any-return]
