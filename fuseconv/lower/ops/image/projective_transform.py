"""Images as a projection shows them.

Source of the contract: TensorFlow's core/kernels/image/image_ops.h, which tells for each pixel of the result where it
lies in the image, and what is beside the image.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape, shape_of
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, scalar, select
from fuseconv.lower.support.type_promotion import cast


@lowers
def ImageProjectiveTransformV2(tfl, images, transforms, output_shape, *, interpolation, fill_mode="CONSTANT"):
    """As ImageProjectiveTransformV3, with 0 beside the image."""
    nothing = scalar(0, types.FLOAT32)
    return ImageProjectiveTransformV3(
        tfl, images, transforms, output_shape, nothing, interpolation=interpolation, fill_mode=fill_mode
    )


@lowers
def ImageProjectiveTransformV3(
    tfl, images, transforms, output_shape, fill_value, *, interpolation, fill_mode="CONSTANT"
):
    """GATHER of the pixel at each place, or of the four around it, which are mixed."""
    require(interpolation in ("NEAREST", "BILINEAR"), f"interpolation={interpolation} is not known")
    require(fill_mode in _MODES, f"fill_mode={fill_mode} is not known")
    _, height, width, _ = shape_of(images, 4)
    count, _ = shape_of(transforms, 2)
    parts = tfl.split(scalar(1, types.INT32), transforms, num_splits=8)
    a = [reshape(tfl, part, (count, 1, 1), transforms) for part in parts]
    x, y = _numbers(tfl, output_shape, 1, [1, 1, -1]), _numbers(tfl, output_shape, 0, [1, -1, 1])

    def plane(of_x: Value, of_y: Value) -> Value:
        return tfl.add(tfl.mul(of_x, x), tfl.mul(of_y, y))

    depth = tfl.add(plane(a[6], a[7]), 1.0)
    behind = tfl.equal(depth, 0.0)
    depth = select(tfl, behind, 1.0, depth)
    down, right = (
        _MODES[fill_mode](tfl, tfl.div(tfl.add(plane(*line[:2]), line[2]), depth), _length(tfl, size, images))
        for line, size in ((a[3:6], height), (a[:3], width))
    )
    fill = cast(tfl, fill_value, images.dtype)
    if interpolation == "NEAREST":
        made = _pixels(tfl, images, _nearest(tfl, down), _nearest(tfl, right), fill)
    else:
        made = _mixed(tfl, cast(tfl, images, types.FLOAT32), down, right, cast(tfl, fill, types.FLOAT32))
        made = cast(tfl, made, images.dtype)
    return select(tfl, tfl.expand_dims(behind, np.array(-1, np.int32)), fill, made)


def _numbers(tfl: Lowering, sizes: Value, axis: int, shape: list[int]) -> Value:
    """Return 0, 1, ... as floats of this shape, as many as `sizes` has for an axis."""
    if isinstance(sizes.data, np.ndarray):
        return tfl.const(np.arange(sizes.data[axis], dtype=np.float32).reshape(shape))
    size = tfl.gather(cast(tfl, sizes, types.INT32), scalar(axis, types.INT32), axis=0)
    numbers = tfl.range(scalar(0, types.INT32), size, scalar(1, types.INT32))
    return tfl.reshape(cast(tfl, numbers, types.FLOAT32), shape)


def _length(tfl: Lowering, size: Dim, images: Value) -> Value:
    return cast(tfl, dim_scalar(tfl, size, images), types.FLOAT32)


def _pixels(tfl: Lowering, images: Value, row: Value, column: Value, fill: Value) -> Value:
    """Return the pixels [batch, rows, columns, channels] at whole places [1 or batch, rows, columns]; `fill` beside
    images."""
    batch, height, width, channels = shape_of(images)
    inside = None
    places = []
    for place, size in ((row, height), (column, width)):
        last = tfl.sub(_length(tfl, size, images), 1.0)
        within = tfl.logical_and(tfl.greater_equal(place, 0.0), tfl.less_equal(place, last))
        inside = within if inside is None else tfl.logical_and(inside, within)
        places.append(cast(tfl, tfl.minimum(tfl.maximum(place, 0.0), last), types.INT32))
    first = tfl.mul(iota(tfl, batch, images), dim_scalar(tfl, product([height, width]), images))
    index = tfl.add(tfl.mul(places[0], dim_scalar(tfl, width, images)), places[1])
    index = tfl.add(reshape(tfl, first, (batch, 1, 1), images), index)
    flat = reshape(tfl, images, (product([batch, height, width]), channels), images)
    taken = build_legalized(tfl, "GATHER", lambda wide: tfl.gather(wide, index, axis=0), flat)
    return select(tfl, tfl.expand_dims(inside, np.array(-1, np.int32)), taken, fill)


def _nearest(tfl: Lowering, place: Value) -> Value:
    """Return the nearest whole place; halves away from zero."""
    return select(tfl, tfl.less(place, 0.0), tfl.ceil(tfl.sub(place, 0.5)), tfl.floor(tfl.add(place, 0.5)))


def _mixed(tfl: Lowering, images: Value, down: Value, right: Value, fill: Value) -> Value:
    """Mix the four pixels around each place by how near it is: bilinear interpolation."""
    (top, below), (left, beside) = ((floor := tfl.floor(place), tfl.add(floor, 1.0)) for place in (down, right))

    def between(one: Value, other: Value, place: Value, floor: Value) -> Value:
        part = tfl.expand_dims(tfl.sub(place, floor), np.array(-1, np.int32))
        return tfl.add(tfl.mul(one, tfl.sub(np.float32(1), part)), tfl.mul(other, part))

    upper, lower = (
        between(_pixels(tfl, images, row, left, fill), _pixels(tfl, images, row, beside, fill), right, left)
        for row in (top, below)
    )
    return between(upper, lower, down, top)


def _constant(tfl: Lowering, place: Value, length: Value) -> Value:
    return place


def _clamped(tfl: Lowering, place: Value, length: Value) -> Value:
    return tfl.minimum(tfl.maximum(place, 0.0), tfl.sub(length, 1.0))


def _reflected(tfl: Lowering, place: Value, length: Value) -> Value:
    """Return ... 1 0 | 0 1 2 | 2 1 ..."""
    twice = tfl.mul(length, 2.0)
    steps = tfl.floor(tfl.div(tfl.neg(place), twice))
    near = tfl.add(tfl.mul(twice, steps), place)
    before = select(tfl, tfl.less(near, tfl.neg(length)), tfl.add(near, twice), tfl.sub(tfl.neg(near), 1.0))
    rest = tfl.sub(place, tfl.mul(twice, tfl.floor(tfl.div(place, twice))))
    beyond = select(tfl, tfl.greater_equal(rest, length), tfl.sub(tfl.sub(twice, rest), 1.0), rest)
    return _outside_or(tfl, place, length, before, beyond)


def _wrapped(tfl: Lowering, place: Value, length: Value) -> Value:
    """Return ... 1 2 | 0 1 2 | 0 1 ..."""
    last = tfl.maximum(tfl.sub(length, 1.0), 1.0)
    turns = tfl.add(tfl.floor(tfl.div(tfl.neg(place), last)), 1.0)
    before = tfl.add(place, tfl.mul(length, turns))
    beyond = tfl.sub(place, tfl.mul(length, tfl.floor(tfl.div(place, last))))
    return _outside_or(tfl, place, length, before, beyond)


def _outside_or(tfl: Lowering, place: Value, length: Value, before: Value, beyond: Value) -> Value:
    """Return a place in the image as it is, the others as they are where they lie before or beyond it."""
    far = tfl.greater(place, tfl.sub(length, 1.0))
    moved = select(tfl, elementwise(tfl, "LESS", place, 0), before, select(tfl, far, beyond, place))
    return _clamped(tfl, moved, length)


# Where a place lies, by fill_mode.
_MODES = {"CONSTANT": _constant, "NEAREST": _clamped, "REFLECT": _reflected, "WRAP": _wrapped}
