"""Colors of images: hue, saturation and value, and contrast."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.lower.rules import Lowering, lowers
from fuseconv.lower.support.dynamic_shapes import shape_of
from fuseconv.lower.support.legalize_operands import elementwise, scalar, select
from fuseconv.lower.support.type_promotion import in_float32

_ONE = np.ones((), np.float32)


@lowers
@in_float32
def RGBToHSV(tfl, x):
    """Hue, saturation and value from MAXIMUM and MINIMUM of the three channels."""
    return _joined(tfl, _hsv(tfl, x), x)


@lowers
@in_float32
def HSVToRGB(tfl, x):
    """Each color is a piece of a triangle wave of the hue."""
    return _rgb(tfl, *_parts(tfl, x), x)


@lowers
@in_float32
def AdjustHue(tfl, x, delta):
    """The hue moved by delta, there and back."""
    hue, saturation, value = _hsv(tfl, x)
    moved = tfl.add(hue, delta)
    return _rgb(tfl, tfl.sub(moved, tfl.floor(moved)), saturation, value, x)


@lowers
@in_float32
def AdjustSaturation(tfl, x, scale):
    """The saturation times the scale, there and back."""
    hue, saturation, value = _hsv(tfl, x)
    return _rgb(tfl, hue, _cut(tfl, tfl.mul(saturation, scale)), value, x)


@lowers
@in_float32
def AdjustContrastv2(tfl, x, factor):
    """The distance to the MEAN of the image's channel, times the factor."""
    rank = len(shape_of(x))
    mean = tfl.mean(x, [rank - 3, rank - 2], keep_dims=True)
    return elementwise(tfl, "ADD", elementwise(tfl, "MUL", elementwise(tfl, "SUB", x, mean), factor), mean)


def _parts(tfl: Lowering, x: Value) -> list[Value]:
    return tfl.split(scalar(len(shape_of(x)) - 1, types.INT32), x, num_splits=3)


def _joined(tfl: Lowering, parts: list[Value], x: Value) -> Value:
    return tfl.concatenation(*parts, axis=len(shape_of(x)) - 1)


def _hsv(tfl: Lowering, x: Value) -> list[Value]:
    """Return hue, saturation and value of RGB; all are from 0 to 1, and the hue of gray is 0."""
    red, green, blue = _parts(tfl, x)
    value = tfl.maximum(tfl.maximum(red, green), blue)
    span = tfl.sub(value, tfl.minimum(tfl.minimum(red, green), blue))
    saturation = select(tfl, tfl.greater(value, 0.0), tfl.div(span, value), 0)
    sixth = tfl.div(scalar(1 / 6, types.FLOAT32), span)
    of_green = tfl.add(tfl.mul(tfl.sub(blue, red), sixth), 2 / 6)
    of_blue = tfl.add(tfl.mul(tfl.sub(red, green), sixth), 4 / 6)
    other = select(tfl, tfl.equal(green, value), of_green, of_blue)
    hue = select(tfl, tfl.equal(red, value), tfl.mul(tfl.sub(green, blue), sixth), other)
    hue = select(tfl, tfl.greater(span, 0.0), hue, 0)
    return [select(tfl, tfl.less(hue, 0.0), tfl.add(hue, 1.0), hue), saturation, value]


def _rgb(tfl: Lowering, hue: Value, saturation: Value, value: Value, x: Value) -> Value:
    turn = tfl.mul(hue, 6.0)
    red = tfl.sub(tfl.abs_(tfl.sub(turn, 3.0)), 1.0)
    green, blue = (tfl.sub(scalar(2, types.FLOAT32), tfl.abs_(tfl.sub(turn, at))) for at in (2.0, 4.0))
    rest = tfl.sub(_ONE, saturation)
    mixed = (tfl.add(rest, tfl.mul(saturation, _cut(tfl, color))) for color in (red, green, blue))
    return _joined(tfl, [tfl.mul(color, value) for color in mixed], x)


def _cut(tfl: Lowering, x: Value) -> Value:
    return tfl.minimum(tfl.maximum(x, 0.0), 1.0)
