"""Resizing, cropping, and moving data between space, batch and depth."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.ir.graph import Value
from fuseconv.lower.carriers import carried, cast
from fuseconv.lower.layout import channels_last, restored
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.shapes import known, reshape, shape_of

_BLOCK_TYPES = (types.FLOAT32, types.UINT8, types.INT8, types.INT32, types.INT64)
_INT = types.INT32


@lowers
def ResizeBilinear(tfl, images, size, *, align_corners=False, half_pixel_centers=False):
    """RESIZE_BILINEAR in float32, which is also the type of the result for integers."""
    x = carried(tfl, images, (types.FLOAT32,)) if images.dtype is not _INT else cast(tfl, images, types.FLOAT32)
    return tfl.resize_bilinear(x, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


@lowers
def ResizeNearestNeighbor(tfl, images, size, *, align_corners=False, half_pixel_centers=False):
    """RESIZE_NEAREST_NEIGHBOR."""
    x = carried(tfl, images, _BLOCK_TYPES)
    flags = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    return cast(tfl, tfl.resize_nearest_neighbor(x, size, **flags), images.dtype)


@lowers
def SpaceToDepth(tfl, x, *, block_size, data_format="NHWC"):
    """SPACE_TO_DEPTH."""
    last = channels_last(tfl, carried(tfl, x, _BLOCK_TYPES), data_format)
    return restored(tfl, cast(tfl, tfl.space_to_depth(last, block_size=block_size), x.dtype), data_format)


@lowers
def DepthToSpace(tfl, x, *, block_size, data_format="NHWC"):
    """DEPTH_TO_SPACE."""
    last = channels_last(tfl, carried(tfl, x, _BLOCK_TYPES), data_format)
    return restored(tfl, cast(tfl, tfl.depth_to_space(last, block_size=block_size), x.dtype), data_format)


@lowers
def SpaceToBatch(tfl, x, paddings, *, block_size):
    """SPACE_TO_BATCH_ND."""
    return _blocks(tfl, "SPACE_TO_BATCH_ND", x, tfl.ints([block_size] * 2), paddings)


@lowers
def BatchToSpace(tfl, x, crops, *, block_size):
    """BATCH_TO_SPACE_ND."""
    return _blocks(tfl, "BATCH_TO_SPACE_ND", x, tfl.ints([block_size] * 2), crops)


@lowers
def SpaceToBatchND(tfl, x, block_shape, paddings):
    """SPACE_TO_BATCH_ND of one or two dimensions."""
    return _blocks(tfl, "SPACE_TO_BATCH_ND", x, block_shape, paddings)


@lowers
def BatchToSpaceND(tfl, x, block_shape, crops):
    """BATCH_TO_SPACE_ND of one or two dimensions."""
    return _blocks(tfl, "BATCH_TO_SPACE_ND", x, block_shape, crops)


def _blocks(tfl: Lowering, kind: str, x: Value, block: Value, margins: Value) -> Value:
    """Moves blocks of the first dimensions after the batch. The kernels take one or two of these and exactly one more
    dimension, so that what follows is gathered into one."""
    shape = shape_of(x)
    (spatial,) = known(shape_of(block, 1), "the number of dimensions that it moves")
    require(spatial in (1, 2), f"{kind} moves one or two dimensions")
    rest = shape[1 + spatial :]
    moved = reshape(tfl, carried(tfl, x, _BLOCK_TYPES), [*shape[: 1 + spatial], product(rest)])
    (y,) = tfl.op(kind, (moved, cast(tfl, block, _INT), cast(tfl, margins, _INT)), {})
    return cast(tfl, reshape(tfl, y, [*shape_of(y)[: 1 + spatial], *rest], x), x.dtype)
