"""Crops of images, resized to one size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, product
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, constant_of, lowers
from fuseconv.lower.support.dynamic_shapes import dim_vector, reshape, shape_of
from fuseconv.lower.support.legalize_operands import elementwise, select
from fuseconv.lower.support.type_promotion import cast


@lowers
def CropAndResize(tfl, image, boxes, box_ind, crop_size, *, method="bilinear", extrapolation_value=0.0):
    """Each row and column of a crop is found in the image, gathered, and mixed with its neighbor."""
    batch, height, width, channels = shape_of(image, 4)
    y1, x1, y2, x2 = tfl.split(np.array(1, np.int32), cast(tfl, boxes, types.FLOAT32), num_splits=4)
    rows, columns = constant_of(crop_size, "the size of the crops").tolist()
    y = _sample_positions(tfl, y1, y2, rows, dim_vector(tfl, height, image), [-1, rows, 1])
    x = _sample_positions(tfl, x1, x2, columns, dim_vector(tfl, width, image), [-1, 1, columns])
    pixels = reshape(tfl, cast(tfl, image, types.FLOAT32), [product([batch, height, width]), channels], image)
    first = tfl.mul(tfl.reshape(box_ind, [-1, 1, 1]), dim_vector(tfl, height, image))

    def at(row: Value, column: Value) -> Value:
        line = tfl.mul(tfl.add(first, row), dim_vector(tfl, width, image))
        return tfl.gather(pixels, tfl.add(line, column))

    if method == "nearest":
        crops = at(_rounded(tfl, y), _rounded(tfl, x))
    else:
        upper = _mixed(tfl, at(y.before, x.before), at(y.before, x.after), x)
        lower = _mixed(tfl, at(y.after, x.before), at(y.after, x.after), x)
        crops = _mixed(tfl, upper, lower, y)
    inside = tfl.reshape(tfl.logical_and(y.inside, x.inside), [-1, rows, columns, 1])
    return select(tfl, inside, crops, extrapolation_value)


class _SamplePositions(NamedTuple):
    """The sample positions of the rows, or columns, of the crops: the two image rows between which each lies, the
    distance to the first, and whether it lies in the image."""

    before: Value
    after: Value
    fraction: Value
    inside: Value


def _sample_positions(
    tfl: Lowering, start: Value, end: Value, count: int, extent: Value, shape: list[Dim]
) -> _SamplePositions:
    """Return the rows, or columns, that crops sample, in this shape. start, end [crops,1]: the edges, where 0 and 1 are
    the first and the last of the image."""
    last = tfl.sub(cast(tfl, extent, types.FLOAT32), 1.0)
    # A place on the last row falls beside it, as it does in TensorFlow, only if each operation rounds as TensorFlow's:
    # the divisor is a value of the run time, lest the division becomes a product with the reciprocal.
    if count > 1:
        divisor = tfl.maximum(tfl.minimum(start, 0.0), float(count - 1))
        step = tfl.div(tfl.mul(tfl.sub(end, start), last), divisor)
        steps = np.arange(count, dtype=np.float32)[None]
        places = tfl.add(tfl.mul(start, last), tfl.mul(step, steps))
    else:
        places = tfl.mul(tfl.mul(tfl.add(start, end), 0.5), last)
    places = tfl.reshape(places, shape)
    inside = tfl.logical_and(tfl.greater_equal(places, 0.0), tfl.less_equal(places, last))
    floor = tfl.floor(places)
    within = [tfl.minimum(tfl.maximum(line, 0.0), last) for line in (floor, tfl.ceil(places))]
    before, after = (cast(tfl, line, types.INT32) for line in within)
    return _SamplePositions(before, after, tfl.sub(places, floor), inside)


def _rounded(tfl: Lowering, places: _SamplePositions) -> Value:
    """Return the nearest row or column; the one after if both are."""
    return select(tfl, elementwise(tfl, "GREATER_EQUAL", places.fraction, 0.5), places.after, places.before)


def _mixed(tfl: Lowering, before: Value, after: Value, places: _SamplePositions) -> Value:
    fraction = tfl.expand_dims(places.fraction, np.array(-1, np.int32))
    return tfl.add(before, tfl.mul(tfl.sub(after, before), fraction))
