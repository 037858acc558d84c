"""Name the bilinear resizing of images, which PyTorch's exports write as four gathers and three interpolations.

    a + (b - a) * w of a = x[y0, x0] + (x[y0, x1] - x[y0, x0]) * v, ...  ->  ResizeBilinear(x)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.terms import either_way, op_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import ADDS

# Where [height, width, a, b] that is gathered stands in an image [a, height, width, b].
_IN_IMAGE = [1, 2, 0, 3]
# As (n + before) * scale + after, the kernel computes where the n-th row of the result lies in the image.
_CENTERS = {"half_pixel_centers": (0.5, -0.5), "align_corners": (0.0, 0.0), "": (0.0, 0.0)}


class _Pixels(NamedTuple):
    """Pixels of x [height, width, a, b] at places [rows, columns, 2], transposed by order."""

    x: Value
    places: np.ndarray
    order: list[int]


def bilinear_resize(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Resize by an op: AddV2(top, Mul(Sub(bottom, top), w)), where both interpolate the pixels of a row, ->
    ResizeBilinear(x), if the rows and columns are those between which it interpolates, with these weights."""
    outer = _interpolation(op)
    if outer is None or op.result.dtype is not types.FLOAT32:
        return None
    sides = [_interpolation(side.op) for side in outer[:2]]
    if sides[0] is None or sides[1] is None:
        return None
    corners = [_pixels(value) for side in sides if side is not None for value in side[:2]]
    first = corners[0]
    if first is None or any(each is None or each.x is not first.x or each.order != first.order for each in corners):
        return None
    places = np.stack([each.places for each in corners if each is not None])
    rows, columns, flags = _weights(outer[2], first, 0), _weights(sides[0][2], first, 1), None
    if rows is not None and columns is not None and np.array_equal(sides[0][2].data, sides[1][2].data):  # type: ignore[arg-type]
        flags = _flags(first, places, rows, columns)
    if flags is None:
        return None
    sizes = tf.ints(list(first.places.shape[:2]))
    images = _transposed(first.x, [2, 0, 1, 3], tf)
    made = tf.add("ResizeBilinear", [images, sizes], flags, types.FLOAT32, _resized(images, first))
    return [_transposed(made, [_IN_IMAGE[axis] for axis in first.order], tf)]


def _interpolation(op: Op | None) -> tuple[Value, Value, Value] | None:
    """Return (a, b, w) of a + (b - a) * w, of a constant w."""
    if op is None or op.kind not in ADDS:
        return None
    for a, product in either_way(op):
        scaled = op_of(product, "tf.Mul")
        for difference, weight in either_way(scaled) if scaled is not None else ():
            less = op_of(difference, "tf.Sub")
            if weight.is_const and less is not None:
                b, taken = less.operands
                if taken is a and b is not None and a.shape == b.shape == op.result.shape:
                    return a, b, weight
    return None


def _pixels(value: Value) -> _Pixels | None:
    """Return the pixels that a value is: a GatherNd of an image, perhaps transposed."""
    op, order = value.op, [0, 1, 2, 3]
    if op is not None and op.kind == "tf.Transpose":
        gathered, permutation = op.operands
        if gathered is None or permutation is None or permutation.data is None:
            return None
        op, order = gathered.op, [int(axis) for axis in permutation.data]
    if op is None or op.kind != "tf.GatherNd" or len(order) != 4:
        return None
    x, places = op.operands
    if x is None or places is None or places.data is None or x.shape is None or len(x.shape) != 4:
        return None
    known = all(isinstance(size, int) for size in x.shape[:2])
    return _Pixels(x, places.data, order) if known and places.data.ndim == 3 and places.data.shape[-1] == 2 else None


def _weights(weight: Value, pixels: _Pixels, side: int) -> np.ndarray | None:
    """Return the weights of rows (side 0) or columns (side 1), which are the same for all else."""
    data, made = weight.data, pixels.places.shape[side]
    assert data is not None
    if data.size == 1:
        return np.full(made, data.reshape(()))
    axis = pixels.order.index(side) - 4 + data.ndim
    if data.ndim > 4 or axis < 0 or data.shape[axis] != made or data.size != made:
        return None
    return data.reshape(-1)


def _flags(pixels: _Pixels, places: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> dict[str, bool] | None:
    """Return the attributes with which ResizeBilinear interpolates as pixels [top left, top right, bottom left, bottom
    right] do with these weights; None if it never does."""
    found = set(_CENTERS)
    for side, weights, low, high in ((0, rows, [0, 1], [2, 3]), (1, columns, [0, 2], [1, 3])):
        # Neither the pixels across nor, of one corner, those of the other one make a difference.
        along = np.moveaxis(places[..., side], side + 1, 1)
        lows, highs = (np.concatenate([*along[ends]], axis=1) for ends in (low, high))
        begin, end, size = lows[:, 0], highs[:, 0], _size(pixels, side)
        if (lows != lows[:, :1]).any() or (highs != highs[:, :1]).any() or ((weights < 0) | (weights > 1)).any():
            return None
        if ((begin < 0) | (end >= size) | (end < begin) | (end > begin + 1)).any():
            return None
        at = begin + weights.astype(np.float64) * (end - begin)
        found = {name for name in found if _lies_at(at, size, name)}
    name = next((name for name in _CENTERS if name in found), None)
    return None if name is None else {name: True} if name else {}


def _lies_at(at: np.ndarray, size: int, name: str) -> bool:
    """Return whether rows lie where the kernel takes them from an image of so many, to float32's precision."""
    made, (before, after) = len(at), _CENTERS[name]
    scale = (size - 1) / (made - 1) if name == "align_corners" and made > 1 else size / made
    expected = np.clip((np.arange(made) + before) * scale + after, 0, size - 1)
    return bool(np.abs(at - expected).max(initial=0) <= 2 * np.finfo(np.float32).eps * size)


def _size(pixels: _Pixels, side: int) -> int:
    size = (pixels.x.shape or ())[side]
    assert isinstance(size, int)
    return size


def _resized(images: Value, pixels: _Pixels) -> tuple:
    assert images.shape is not None
    return images.shape[0], *pixels.places.shape[:2], images.shape[3]


def _transposed(x: Value, order: list[int], tf: TfBuilder) -> Value:
    assert x.shape is not None
    return tf.add("Transpose", [x, tf.ints(order)], {}, x.dtype, tuple(x.shape[axis] for axis in order))
