"""Layers that change the sizes of pictures [batch, height, width, channels]."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.keras.call import Call
from fuseconv.load.keras.layers.reshaping import repeated
from fuseconv.load.keras.layers.settings import channels_first, sizes, to_channels_first, to_channels_last
from fuseconv.load.keras.registry import ANY, builtin

# The kernels of ScaleAndTranslate, by the names of interpolations; with antialiasing also those that have ops of their
# own without.
_SPANS = {"lanczos3": "lanczos3", "lanczos5": "lanczos5", "gaussian": "gaussian", "mitchellcubic": "mitchellcubic"}
_ANTIALIASED = {"bilinear": "triangle", "bicubic": "keyscubic"}
# Values closer to each other than this are stretched by infinity, and what comes of it is no number.
_LEAST_RANGE = 255 / float(np.finfo(np.float32).max)
# A size of a picture: known, or a scalar.
Size = int | Value


def resized(k: Call, x: Value, new: Value, interpolation: str, antialias: bool = False) -> Value:
    """Resize to sizes [2] as tf.image.resize does: to floats of 32 bits, but by nearest neighbors."""
    tf = k.tf
    if interpolation == "nearest":
        return tf.ResizeNearestNeighbor(x, new, half_pixel_centers=True)
    if interpolation == "area":
        return tf.ResizeArea(x, new, dtype=types.FLOAT32)
    if interpolation == "bilinear" and not antialias:
        return tf.ResizeBilinear(x, new, half_pixel_centers=True, dtype=types.FLOAT32)
    if interpolation == "bicubic" and not antialias:
        return tf.ResizeBicubic(x, new, half_pixel_centers=True, dtype=types.FLOAT32)
    kernel = (_SPANS | _ANTIALIASED).get(interpolation)
    if kernel is None:
        k.refuse(f"interpolation={interpolation!r}")
    old = [k.known(x, at) for at in (1, 2)]
    if new.data is None:
        k.refuse("the size of its result is not known")
    scale = tf.array(new.data.astype(np.float32) / np.array(old, np.float32), types.FLOAT32)
    origin = tf.array(np.zeros(2), types.FLOAT32)
    return tf.ScaleAndTranslate(x, new, scale, origin, kernel_type=kernel, antialias=antialias, dtype=types.FLOAT32)


@builtin("UpSampling2D", half=True)
def up_sampling2d(
    k: Call, x: Value, *, size: Any = 2, data_format: str | None = None, interpolation: str = "nearest"
) -> Value:
    first = channels_first(k, data_format)
    k.shape(x, 4)
    scale = sizes(k, size, 2)
    x = to_channels_last(k, x) if first else x
    if interpolation not in ("nearest", "bilinear", "bicubic", "lanczos3", "lanczos5", "area", "gaussian",
                             "mitchellcubic"):  # fmt: skip
        k.refuse(f"interpolation={interpolation!r}")
    new = [_times(k, _size(k, x, at + 1), scale[at]) for at in range(2)]
    made = k.computed(resized(k, x, _vector(k, new), interpolation))
    return to_channels_first(k, made) if first else made


@builtin("Resizing", takes=ANY, fill_mode="constant")
def resizing(
    k: Call, x: Value, *, height: int, width: int, interpolation: str = "bilinear", data_format: str | None = None,
    crop_to_aspect_ratio: bool = False, pad_to_aspect_ratio: bool = False, antialias: bool = False,
    fill_value: float = 0.0,
) -> Value:  # fmt: skip
    """Resize pictures to [height, width]; where the ratio is to stay, crop them to it first, or pad them."""
    first = channels_first(k, data_format)
    k.shape(x, 4)
    target, interpolation = sizes(k, [height, width], 2), interpolation.lower()
    if crop_to_aspect_ratio and pad_to_aspect_ratio:
        k.refuse("it crops and pads")
    x = to_channels_last(k, _floats(k, x)) if first else _floats(k, x)
    if crop_to_aspect_ratio:
        x = _cropped_to_ratio(k, x, target, np.float32)
    elif pad_to_aspect_ratio:
        x = _padded_to_ratio(k, x, target, fill_value)
    made = resized(k, x, k.tf.ints(target), interpolation, antialias)
    return to_channels_first(k, made) if first else made


@builtin("CenterCrop", takes=ANY)
def center_crop(k: Call, x: Value, *, height: int, width: int, data_format: str | None = None) -> Value:
    """Cut the middle out of pictures; those smaller than it are cropped to its ratio and resized."""
    first = channels_first(k, data_format)
    k.shape(x, 4)
    x = _floats(k, x)
    x = to_channels_last(k, x) if first else x
    target = sizes(k, [height, width], 2)
    given = [_size(k, x, at) for at in (1, 2)]
    if not k.model.keras3 and not all(isinstance(size, int) for size in given):
        k.refuse("the size of its input is not known")
    if any(isinstance(size, int) and size < new for size, new in zip(given, target)):
        static = k.model.keras3 and all(isinstance(size, int) for size in given)
        x = _cropped_to_ratio(k, x, target, np.float64 if static else np.float32)
        made = resized(k, x, k.tf.ints(target), "bilinear")
    else:
        made = _window(k, x, [_half_of_rest(k, size, new) for size, new in zip(given, target)], target)
    return to_channels_first(k, made) if first else made


def _half_of_rest(k: Call, size: Size, new: int) -> Size:
    if isinstance(size, int):
        return (size - new) // 2
    return k.tf.FloorDiv(k.tf.Sub(size, k.tf.ints(new)), k.tf.ints(2))


def _window(k: Call, x: Value, start: list[Size], size: list[Any]) -> Value:
    """Cut a window of a size out of pictures: x[:, start:start + size], of which a start may be negative where Keras
    has it so."""
    end = [_plus(k, at, n) for at, n in zip(start, size)]
    begin, until = (_vector(k, [0, *each, 0]) for each in (start, end))
    return k.tf.StridedSlice(x, begin, until, k.tf.ints([1] * 4), begin_mask=0b1001, end_mask=0b1001)


@builtin("RandomCrop", takes=ANY, unread=("rng_type",))
def random_crop(k: Call, x: Value, *, height: int, width: int, data_format: str | None = None) -> Value:
    """Hand on the input in Keras 3; in tf-keras, cut the largest window of the ratio and resize it."""
    channels_first(k, data_format)
    k.shape(x, 4)
    if k.model.keras3:
        for at in range(1, 4):
            k.known(x, at)
        return _floats(k, x)
    target = sizes(k, [height, width], 2)
    return resized(k, _cropped_to_ratio(k, _floats(k, x), target, np.float32), k.tf.ints(target), "bilinear")


@builtin("AutoContrast", takes=ANY, unread=("data_format",))
def auto_contrast(k: Call, x: Value, *, value_range: list[float]) -> Value:
    """Stretch the values of each channel of each picture to the whole range; a channel of one value stays."""
    tf, given = k.tf, _floats(k, x)
    k.shape(given, 4)
    low, high = (float(value) for value in value_range)
    x = _moved(k, given, (low, high), (0, 255))
    least, most = (build(x, tf.ints([1, 2]), keep_dims=True) for build in (tf.Min, tf.Max))
    scale = tf.RealDiv(tf.number(255, x.dtype), tf.Sub(most, least))
    x = tf.AddV2(tf.Mul(x, scale), tf.Mul(tf.Neg(least), scale))
    x = tf.Maximum(tf.Minimum(x, tf.number(255, x.dtype)), tf.number(0, x.dtype))
    made = _moved(k, x, (0, 255), (low, high))
    stretched = tf.Greater(tf.Sub(most, least), tf.number(_LEAST_RANGE, x.dtype), dtype=types.BOOL)
    return tf.SelectV2(stretched, made, given, dtype=x.dtype)


def _moved(k: Call, x: Value, given: tuple[float, float], new: tuple[float, float]) -> Value:
    """Move numbers of a range to another, in Keras' steps."""
    if given == new:
        return x
    tf = k.tf
    x = tf.RealDiv(tf.Sub(x, tf.number(given[0], x.dtype)), tf.number(given[1] - given[0], x.dtype))
    return tf.AddV2(tf.Mul(x, tf.number(new[1] - new[0], x.dtype)), tf.number(new[0], x.dtype))


def _cropped_to_ratio(k: Call, x: Value, target: list[int], kind: Any) -> Value:
    """Cut the largest window in the middle of pictures that has the ratio of a size. kind: of the floats that Keras
    computes it in."""
    given = [_size(k, x, at) for at in (1, 2)]
    whole = [_bounded(k, "Minimum", given[at], _of_ratio(k, given[1 - at], target[at], target[1 - at], kind))
             for at in range(2)]  # fmt: skip
    if k.model.keras3:
        whole = [_bounded(k, "Maximum", size, 1) for size in whole]
    start = [_half(k, size, less) for size, less in zip(given, whole)]
    return _window(k, x, start, whole) if whole != given else x


def _padded_to_ratio(k: Call, x: Value, target: list[int], fill: float) -> Value:
    """Pad pictures on two sides, so that they have the ratio of a size, or nearly so."""
    given = [_size(k, x, at) for at in (1, 2)]
    whole = [_bounded(k, "Maximum", given[at], _of_ratio(k, given[1 - at], target[at], target[1 - at], np.float32))
             for at in range(2)]  # fmt: skip
    half = [_half(k, more, size) for size, more in zip(given, whole)]
    if half == [0, 0]:
        return x
    rows = [k.tf.ints([0, 0]), *(_vector(k, [each, each]) for each in half), k.tf.ints([0, 0])]
    pads = k.tf.ints([list(row.data) for row in rows]) if all(row.is_const for row in rows) else k.tf.Pack(*rows)  # type: ignore[arg-type]
    return k.tf.PadV2(x, pads, k.tf.number(fill, x.dtype)) if fill else k.tf.Pad(x, pads)


def _floats(k: Call, x: Value) -> Value:
    """Return pictures as what the layer computes in: in a graph Keras casts integers before."""
    if k.dtype is not types.FLOAT32:
        k.refuse(f"it computes in {k.dtype}")
    return x if x.dtype is k.dtype else k.tf.Cast(x, dtype=k.dtype)


def _size(k: Call, x: Value, axis: int) -> Size:
    size = k.shape(x)[axis]
    return size if isinstance(size, int) else k.tf.size(x, axis)


def _of_ratio(k: Call, size: Size, factor: int, divisor: int, kind: Any) -> Size:
    """Return size * factor / divisor, computed in floats and cut to an integer."""
    tf = k.tf
    if isinstance(size, int):
        return int(kind(size * factor) / kind(divisor))
    wide = tf.Cast(tf.Mul(size, tf.ints(factor)), dtype=types.FLOAT32)
    return tf.Cast(tf.RealDiv(wide, tf.number(divisor, types.FLOAT32)), dtype=types.INT32)


def _bounded(k: Call, kind: str, a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b) if kind == "Minimum" else max(a, b)
    return k.tf.add(kind, [_scalar(k, a), _scalar(k, b)], {}, types.INT32)


def _half(k: Call, more: Size, less: Size) -> Size:
    """Return half of what one size is more than another."""
    if isinstance(more, int) and isinstance(less, int):
        return (more - less) // 2
    return k.tf.FloorDiv(k.tf.Sub(_scalar(k, more), _scalar(k, less)), k.tf.ints(2))


def _plus(k: Call, a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return k.tf.AddV2(_scalar(k, a), _scalar(k, b))


def _times(k: Call, a: Size, b: int) -> Size:
    return a * b if isinstance(a, int) else k.tf.Mul(a, k.tf.ints(b))


def _scalar(k: Call, size: Size) -> Value:
    return k.tf.ints(size) if isinstance(size, int) else size


def _vector(k: Call, numbers: list[Size]) -> Value:
    """Return sizes as a vector; a constant if all are known."""
    known = [size for size in numbers if isinstance(size, int)]
    return k.tf.ints(known) if len(known) == len(numbers) else k.tf.Pack(*(_scalar(k, size) for size in numbers))


@builtin("UpSampling1D", half=True)
def up_sampling1d(k: Call, x: Value, *, size: int = 2) -> Value:
    k.shape(x, 3)
    return repeated(k, x, sizes(k, size, 1)[0], 1)


@builtin("UpSampling3D", half=True)
def up_sampling3d(k: Call, x: Value, *, size: Any = 2, data_format: str | None = None) -> Value:
    first = channels_first(k, data_format)
    k.shape(x, 5)
    for at, count in enumerate(sizes(k, size, 3)):
        x = repeated(k, x, count, at + (2 if first else 1))
    return x
