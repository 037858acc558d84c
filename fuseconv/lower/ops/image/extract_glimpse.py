"""Windows of images at places that the model computes, partly outside of them."""

from __future__ import annotations

import functools

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of, shape_vector, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.type_promotion import cast


@lowers("ExtractGlimpse", "ExtractGlimpseV2")
def ExtractGlimpse(tfl, images, size, offsets, *, centered=True, normalized=True, uniform_noise=True, noise="uniform"):
    """GATHER of the pixels at each window's places. What is outside of the image is 0, or noise: RANDOM_UNIFORM numbers
    between the image's least and largest, or RANDOM_STANDARD_NORMAL ones of each channel's mean and deviation."""
    batch, height, width, channels = shape_of(images, 4)
    window = static_dims(shape_of(tfl.source.result)[1:3], "the size of glimpses")
    rows, columns = (
        _places(tfl, offsets, axis, cast(tfl, dim_scalar(tfl, (height, width)[axis], images), types.FLOAT32),
                count, centered, normalized)
        for axis, count in enumerate(window)
    )  # fmt: skip
    rows, down = _within(tfl, tfl.expand_dims(rows, 2), dim_scalar(tfl, height, images))
    columns, across = _within(tfl, tfl.expand_dims(columns, 1), dim_scalar(tfl, width, images))
    place = elementwise(tfl, "ADD", tfl.mul(rows, dim_scalar(tfl, width, images)), columns)
    count = window[0] * window[1]
    pixels = reshape(tfl, images, (batch, height * width, channels), images)
    seen = tfl.gather(pixels, reshape(tfl, place, (batch, count), images), axis=1, batch_dims=1)
    inside = reshape(tfl, tfl.logical_and(down, across), (batch, count, 1), images)
    dims = (batch, count, channels)
    kind = "uniform" if uniform_noise else noise
    outside = 0.0 if kind == "zero" else _noise(tfl, kind, images, shape_vector(tfl, dims, images))
    return reshape(tfl, select(tfl, inside, seen, outside), (batch, *window, channels), images)


def _places(
    tfl: Lowering, offsets: Value, axis: int, extent: Value, count: int, centered: bool, normalized: bool
) -> Value:
    """Return the rows, or columns, [batch, count] of each window, some of them outside of the image."""
    first = tfl.source.type == "ExtractGlimpse"
    start = tfl.gather(offsets, scalar(axis, types.INT32), axis=1)
    if normalized:
        start = tfl.mul(start, extent)
    if centered:
        middle = tfl.mul(extent, 0.5)
        start = tfl.add(tfl.mul(start, 0.5), middle) if first or normalized else tfl.add(start, middle)
    # The first version takes the offset for the middle of the window always.
    if first or (centered and normalized):
        start = tfl.add(start, -count / 2)
    return tfl.add(tfl.expand_dims(cast(tfl, start, types.INT32), 1), iota(tfl, count))


def _within(tfl: Lowering, places: Value, extent: Value) -> tuple[Value, Value]:
    """Return the places, or others in the image, and whether they are in it."""
    last = tfl.sub(extent, 1)
    near = tfl.maximum(tfl.minimum(places, last), 0)
    return near, tfl.equal(near, places)


def _noise(tfl: Lowering, kind: str, images: Value, dims: Value) -> Value:
    """Return noise [batch, pixels, channels] like that of the images."""
    axes = [1, 2, 3] if kind == "uniform" else [1, 2]
    like = functools.partial(tfl.squeeze, squeeze_dims=(1,))
    low, high = (like(reduce(images, axes, keep_dims=True)) for reduce in (tfl.reduce_min, tfl.reduce_max))
    if kind == "uniform":
        return tfl.add(tfl.mul(tfl.random_uniform(dims, seed=0, seed2=0), tfl.sub(high, low)), low)
    require(kind == "gaussian", f"noise {kind!r} is not known")
    mean = tfl.mean(images, axes, keep_dims=True)
    distance = tfl.sub(images, mean)
    deviation = tfl.sqrt(tfl.mean(tfl.mul(distance, distance), axes, keep_dims=True))
    normal = tfl.mul(tfl.random_standard_normal(dims, seed=0, seed2=0), like(deviation))
    return tfl.maximum(tfl.minimum(tfl.add(normal, like(mean)), high), low)
