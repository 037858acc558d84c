"""Resizing, and moving data between space and depth."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import product
from fuseconv.lower.rules import lowers
from fuseconv.lower.support.data_format import channels_last, to_data_format
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of
from fuseconv.lower.support.type_promotion import cast, promote

_TYPES = (types.FLOAT32, types.UINT8, types.INT8, types.INT32, types.INT64)
_NARROW_TYPES = (types.UINT8, types.INT8, types.INT16, types.FLOAT32)


@lowers
def ResizeBilinear(tfl, images, size, *, align_corners=False, half_pixel_centers=False):
    """RESIZE_BILINEAR in float32, the type of the result whatever the images are.

    The kernels weigh four pixels at once, where TensorFlow goes from left to right, then from top to bottom. So the
    last bit may differ, and a number halfway between two may be one off if the model rounds it."""
    x = cast(tfl, images, types.FLOAT32)
    return tfl.resize_bilinear(x, size, align_corners=align_corners, half_pixel_centers=half_pixel_centers)


@lowers
def ResizeNearestNeighbor(tfl, images, size, *, align_corners=False, half_pixel_centers=False):
    """RESIZE_NEAREST_NEIGHBOR, of numbers of four or eight bytes as float32 of the same bits, which are only moved:
    TF 2.21's kernel takes no int32, and none takes int64."""
    dtype, dims = images.dtype, shape_of(images)
    flags = {"align_corners": align_corners, "half_pixel_centers": half_pixel_centers}
    if dtype is types.FLOAT32 or dtype.numpy.itemsize < 4:
        x = promote(tfl, images, _NARROW_TYPES)
        return cast(tfl, tfl.resize_nearest_neighbor(x, size, **flags), dtype)
    words = (2,) if dtype.numpy.itemsize == 8 else ()
    x = tfl.bitcast(images, results=[(types.FLOAT32, (*dims, *words))])
    x = reshape(tfl, x, (*dims[:-1], product([dims[-1], *words])), images)
    x = tfl.resize_nearest_neighbor(x, size, **flags)
    x = reshape(tfl, x, (*shape_of(x)[:-1], dims[-1], *words), images)
    return tfl.bitcast(x, results=[(dtype, (*shape_of(x)[:3], dims[-1]))])


@lowers
def SpaceToDepth(tfl, x, *, block_size, data_format="NHWC"):
    """SPACE_TO_DEPTH."""
    last = channels_last(tfl, promote(tfl, x, _TYPES), data_format)
    return to_data_format(tfl, cast(tfl, tfl.space_to_depth(last, block_size=block_size), x.dtype), data_format)


@lowers
def DepthToSpace(tfl, x, *, block_size, data_format="NHWC"):
    """DEPTH_TO_SPACE."""
    last = channels_last(tfl, promote(tfl, x, _TYPES), data_format)
    return to_data_format(tfl, cast(tfl, tfl.depth_to_space(last, block_size=block_size), x.dtype), data_format)
