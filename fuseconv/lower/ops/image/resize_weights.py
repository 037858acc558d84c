"""Resize weights computed at run time, for images of unknown size.

Matrices [made, n] of `made` rows that are sums of n, as `resampling` computes them where the sizes are known. A kernel
is 0 beyond its reach, so that every pixel can be weighed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering
from fuseconv.lower.support.dynamic_shapes import dim_scalar, iota, reshape
from fuseconv.lower.support.legalize_operands import scalar
from fuseconv.lower.support.type_promotion import cast

BICUBIC_STEPS = 1024
# Where sin(x) / x is 1 to the last bit, and x is not 0.
_NEAR = 1e-5


def bicubic(tfl: Lowering, n: Dim, made: Dim, *sources: Value) -> Value:
    """Return the weights of ResizeBicubic for centers of pixels at a half; sizes are computed of those of `sources`."""
    centers = tfl.mul(tfl.add(_rows(tfl, made, *sources), 0.5), _scale(tfl, n, made, *sources))
    places = tfl.sub(centers, 0.5)
    whole = tfl.floor(places)
    steps = tfl.round_(tfl.mul(tfl.sub(places, whole), float(BICUBIC_STEPS)))
    distance = tfl.sub(tfl.sub(_columns(tfl, n, *sources), whole), tfl.mul(steps, 1 / BICUBIC_STEPS))
    return _normalized(tfl, _cubic(tfl, tfl.abs_(distance)))


def area(tfl: Lowering, n: Dim, made: Dim, *sources: Value) -> Value:
    """Return the weights of ResizeArea: the overlap of each image pixel with each pixel of the result, normalized."""
    scale = _scale(tfl, n, made, *sources)
    rows, columns = _rows(tfl, made, *sources), _columns(tfl, n, *sources)
    begin, end = tfl.mul(rows, scale), tfl.mul(tfl.add(rows, 1.0), scale)
    overlap = tfl.sub(tfl.minimum(end, tfl.add(columns, 1.0)), tfl.maximum(begin, columns))
    return tfl.div(tfl.relu(overlap), scale)


def spans(
    tfl: Lowering, n: Dim, made: Dim, scale: Value, move: Value, kernel: str, antialias: bool, *sources: Value
) -> Value:
    """Return the weights of ScaleAndTranslate; scale, move: float32 of one element."""
    inverse = tfl.div(1.0, scale)
    centers = tfl.mul(tfl.add(_rows(tfl, made, *sources), 0.5), inverse)
    centers = tfl.sub(centers, tfl.mul(inverse, move))
    distance = tfl.abs_(tfl.sub(tfl.add(_columns(tfl, n, *sources), 0.5), centers))
    if antialias:
        distance = tfl.div(distance, tfl.maximum(inverse, 1.0))
    weights = _normalized(tfl, KERNELS[kernel](tfl, distance))
    beside = tfl.logical_or(
        tfl.less(centers, 0.0), tfl.greater(centers, cast(tfl, dim_scalar(tfl, n, *sources), types.FLOAT32))
    )
    return tfl.select_v2(beside, _zero(), weights)


def _rows(tfl: Lowering, made: Dim, *sources: Value) -> Value:
    return reshape(tfl, cast(tfl, iota(tfl, made, *sources), types.FLOAT32), (made, 1), *sources)


def _columns(tfl: Lowering, n: Dim, *sources: Value) -> Value:
    return cast(tfl, iota(tfl, n, *sources), types.FLOAT32)


def _scale(tfl: Lowering, n: Dim, made: Dim, *sources: Value) -> Value:
    """Return the ratio of the image's size to the result's."""
    return tfl.div(*(cast(tfl, dim_scalar(tfl, dim, *sources), types.FLOAT32) for dim in (n, made)))


def _normalized(tfl: Lowering, weights: Value) -> Value:
    return tfl.div(weights, tfl.sum(weights, [1], keep_dims=True))


def _zero() -> Value:
    return scalar(0.0, types.FLOAT32)


def _polynomial(tfl: Lowering, x: Value, *factors: float) -> Value:
    """Return the polynomial with these factors, that of the highest power first."""
    y = tfl.mul(x, factors[0])
    for factor in factors[1:-1]:
        y = tfl.mul(tfl.add(y, factor) if factor else y, x)
    return tfl.add(y, factors[-1])


def _two_sides(tfl: Lowering, x: Value, near: tuple[float, ...], far: tuple[float, ...]) -> Value:
    """Return a polynomial up to 1, another one up to 2, and then 0."""
    outer = tfl.select_v2(tfl.less(x, 2.0), _polynomial(tfl, x, *far), _zero())
    return tfl.select_v2(tfl.less(x, 1.0), _polynomial(tfl, x, *near), outer)


def _cubic(tfl: Lowering, x: Value) -> Value:
    return _two_sides(tfl, x, (1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0))


def _mitchell(tfl: Lowering, x: Value) -> Value:
    return _two_sides(tfl, x, (7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9))


def _triangle(tfl: Lowering, x: Value) -> Value:
    return tfl.relu(tfl.sub(1.0, x))


def _gaussian(tfl: Lowering, x: Value) -> Value:
    return tfl.select_v2(tfl.less(x, 1.5), tfl.exp(tfl.mul(tfl.mul(x, x), -2.0)), _zero())


def _lanczos(radius: float) -> Callable[[Lowering, Value], Value]:
    def weigh(tfl: Lowering, x: Value) -> Value:
        angle = tfl.mul(tfl.maximum(x, _NEAR), math.pi)
        inner = tfl.mul(angle, 1 / radius)
        waves = tfl.mul(tfl.div(tfl.sin(angle), angle), tfl.div(tfl.sin(inner), inner))
        return tfl.select_v2(tfl.less(x, radius), waves, _zero())

    return weigh


KERNELS: dict[str, Callable[[Lowering, Value], Value]] = {
    "lanczos1": _lanczos(1.0),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": _gaussian,
    "triangle": _triangle,
    "keyscubic": _cubic,
    "mitchellcubic": _mitchell,
}
