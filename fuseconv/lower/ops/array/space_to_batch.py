"""Moving blocks between space and batch."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value, constant
from fuseconv.lower.rules import Lowering, constant_of, lowers
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.type_promotion import cast, promote

_TYPES = (types.FLOAT32, types.UINT8, types.INT8, types.INT32, types.INT64)


@lowers
def SpaceToBatch(tfl, x, paddings, *, block_size):
    """SPACE_TO_BATCH_ND."""
    return SpaceToBatchND(tfl, x, tfl.ints([block_size] * 2), paddings)


@lowers
def BatchToSpace(tfl, x, crops, *, block_size):
    """BATCH_TO_SPACE_ND."""
    return BatchToSpaceND(tfl, x, tfl.ints([block_size] * 2), crops)


@lowers
def SpaceToBatchND(tfl, x, block_shape, paddings):
    """SPACE_TO_BATCH_ND of two dimensions; of more, once for every two."""
    return cast(tfl, _to_batch(tfl, promote(tfl, x, _TYPES), block_shape, paddings), x.dtype)


@lowers
def BatchToSpaceND(tfl, x, block_shape, crops):
    """BATCH_TO_SPACE_ND of two dimensions; of more, once for every two."""
    return cast(tfl, _to_space(tfl, promote(tfl, x, _TYPES), block_shape, crops), x.dtype)


def _to_batch(tfl: Lowering, x: Value, block: Value, paddings: Value) -> Value:
    """Move blocks of x into the batch: [n,s1,..,rest] -> [b1*..*n,s1/b1,..,rest]."""
    if _count(block) <= 2:
        return _build_merged(tfl, "SPACE_TO_BATCH_ND", x, block, paddings)
    two, others = _split_block_and_margins(block, paddings)
    near = _build_merged(tfl, "SPACE_TO_BATCH_ND", x, *two)
    batch, height, width, *inner = shape_of(near)
    far = _to_batch(tfl, reshape(tfl, near, [batch * height * width, *inner], x), *others)
    # The blocks of the first two dimensions must come first, and now come second.
    ordered = _swap_leading_dims(tfl, far, _size(others), _size(two))
    return reshape(tfl, ordered, [batch * _size(others), height, width, *shape_of(far)[1:]], near, x)


def _to_space(tfl: Lowering, x: Value, block: Value, crops: Value) -> Value:
    """Move the batch of x into blocks: [b1*..*n,s1,..,rest] -> [n,s1*b1,..,rest]."""
    if _count(block) <= 2:
        return _build_merged(tfl, "BATCH_TO_SPACE_ND", x, block, crops)
    two, others = _split_block_and_margins(block, crops)
    batch, height, width, *inner = shape_of(x)
    ordered = _swap_leading_dims(tfl, x, _size(two), _size(others))
    far = _to_space(tfl, reshape(tfl, ordered, [batch * height * width, *inner], x), *others)
    near = reshape(tfl, far, [batch // _size(others), height, width, *shape_of(far)[1:]], x)
    return _build_merged(tfl, "BATCH_TO_SPACE_ND", near, *two)


def _build_merged(tfl: Lowering, kind: str, x: Value, block: Value, margins: Value) -> Value:
    """Build the kernel on one or two spatial dimensions; it takes exactly one more: those that follow are merged."""
    shape = shape_of(x)
    count = _count(block)
    rest = shape[1 + count :]
    merged = reshape(tfl, x, [*shape[: 1 + count], product(rest)])
    (y,) = tfl.op(kind, (merged, cast(tfl, block, types.INT32), cast(tfl, margins, types.INT32)), {})
    return reshape(tfl, y, [*shape_of(y)[: 1 + count], *rest], x)


def _count(block: Value) -> int:
    return static_dims(shape_of(block, 1), "the number of dimensions that move")[0]


def _split_block_and_margins(block: Value, margins: Value) -> tuple[list[Value], list[Value]]:
    """Return block and margins of the first two dimensions, and of the others."""
    arrays = [constant_of(block, "the block"), constant_of(margins, "what is padded or cropped")]
    return [constant(array[:2]) for array in arrays], [constant(array[2:]) for array in arrays]


def _size(parted: list[Value]) -> int:
    """Return the number of elements of a block."""
    return int(np.prod(constant_of(parted[0], "the block")))


def _swap_leading_dims(tfl: Lowering, x: Value, outer: int, inner: int) -> Value:
    """Return x [outer*inner*..] as [inner,outer,..]."""
    rows = reshape(tfl, x, [outer, inner, product(shape_of(x)) // (outer * inner)])
    return tfl.transpose(rows, [1, 0, 2])
