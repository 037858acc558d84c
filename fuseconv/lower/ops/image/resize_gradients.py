"""Gradients of resized images: products with the matrices of what each pixel weighed, transposed.

Source of the contract: TensorFlow's core/kernels/image, resize_bilinear_op.cc and resize_nearest_neighbor_op.cc.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, exact_quotient
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.image.resize_matmul import resized, scale_of
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of
from fuseconv.lower.support.type_promotion import cast


class _Places(NamedTuple):
    """Where the pixels of a gradient lie in the image: (n + before) * scale + after, of the n-th; bilinear: between
    pixels, else at the nearest."""

    bilinear: bool
    align_corners: bool
    before: float = 0.0
    after: float = 0.0

    def known(self, made: int, n: int) -> np.ndarray:
        """Return what each of n pixels of the image weighs in each of those made of it: [made, n]."""
        budget.require_room(made * n, 8, "the gradient of a resized image")
        place = (np.arange(made, dtype=np.float32) + np.float32(self.before)) * scale_of(n, made, self.align_corners)
        place, pixels = (place + np.float32(self.after))[:, None], np.arange(n, dtype=np.float32)
        if self.bilinear:
            return np.maximum(1 - np.abs(pixels - np.clip(place, 0, n - 1)), 0)
        return pixels == np.minimum(np.floor(place), n - 1)

    def computed(self, tfl: Lowering, made: Dim, n: Dim, *sources: Value) -> Value:
        """Return the same at run time, of the shapes of `sources`."""
        require(not self.align_corners, "the size of the image must be known where corners are aligned")
        rows, pixels = (cast(tfl, iota(tfl, each, *sources), types.FLOAT32) for each in (made, n))
        size, grown = (cast(tfl, dim_scalar(tfl, each, *sources), types.FLOAT32) for each in (n, made))
        place = reshape(tfl, rows, (made, 1), *sources)
        place = tfl.mul(tfl.add(place, self.before) if self.before else place, tfl.div(size, grown))
        place = tfl.add(place, self.after) if self.after else place
        last = tfl.sub(size, 1.0)
        if self.bilinear:
            inside = tfl.minimum(tfl.maximum(place, 0.0), last)
            return tfl.relu(tfl.sub(np.float32(1), tfl.abs_(tfl.sub(pixels, inside))))
        return cast(tfl, tfl.equal(pixels, tfl.minimum(tfl.floor(place), last)), types.FLOAT32)


@lowers
def ResizeBilinearGrad(tfl, grads, original_image, *, align_corners=False, half_pixel_centers=False):
    """Products with the transposed matrices of both dimensions."""
    shift = 0.5 if half_pixel_centers else 0.0
    return _of_image(tfl, grads, original_image, _Places(True, align_corners, shift, -shift))


@lowers
def ResizeNearestNeighborGrad(tfl, grads, size, *, align_corners=False, half_pixel_centers=False):
    """AVERAGE_POOL_2D times the pixels of a window where each pixel was repeated; else products with the transposed
    matrices of both dimensions."""
    require(grads.dtype.is_float, f"gradients of {grads.dtype} are not supported")
    repeated = None if align_corners else _repeats(tfl, grads, half_pixel_centers)
    if repeated is not None:
        height, width = repeated
        window = {"filter_height": height, "filter_width": width, "stride_h": height, "stride_w": width}
        mean = tfl.average_pool_2d(cast(tfl, grads, types.FLOAT32), padding="VALID", **window)
        return cast(tfl, tfl.mul(mean, float(height * width)), tfl.dtype)
    before, after = 0.5 if half_pixel_centers else 0.0, 0.5 if align_corners else 0.0
    return _of_image(tfl, grads, size, _Places(False, align_corners, before, after))


def _repeats(tfl: Lowering, grads: Value, half_pixel: bool) -> tuple[int, int] | None:
    """Return how often each row and column of the image was repeated; None if not all were equally often."""
    grown = [exact_quotient(made, n) for made, n in zip(shape_of(grads, 4)[1:3], shape_of(tfl.source.result, 4)[1:3])]
    height, width = (each if isinstance(each, int) and each > 0 else 0 for each in grown)
    # Without centers, the rounding of other ratios may put a pixel into the row before its own.
    exact = half_pixel or all(each & (each - 1) == 0 for each in (height, width))
    return (height, width) if height and width and exact else None


def _of_image(tfl: Lowering, grads: Value, sized: Value, places: _Places) -> Value:
    """Return the gradient of an image; sized: another operand whose shape may tell the image's."""

    def weights(axis: int, made: Dim, n: Dim) -> np.ndarray | Value:
        if isinstance(made, int) and isinstance(n, int):
            return places.known(made, n).T
        return tfl.transpose(places.computed(tfl, made, n, grads, sized), [1, 0])

    return cast(tfl, resized(tfl, grads, weights, sized), tfl.dtype)
