"""Image resizing by matrix products: each row of the result is a weighted sum of rows of the image, and so are columns.

What each pixel weighs is computed as TensorFlow's CPU kernels do (core/kernels/image: resize_bicubic_op.cc,
resize_area_op.cc, scale_and_translate_op.cc), at run time where the sizes are not known.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import Dim, Shape, Sym
from fuseconv.ir.graph import Value
from fuseconv.lower.ops.image import resize_weights
from fuseconv.lower.ops.image.resize_weights import BICUBIC_STEPS
from fuseconv.lower.rules import Lowering, lowers, require
from fuseconv.lower.support.dynamic_shapes import reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import scalar
from fuseconv.lower.support.type_promotion import cast

_SIZE = "the size of the image must be known when the model is converted"
_TINY = 1000 * float(np.finfo(np.float32).tiny)


@lowers
def ResizeBicubic(tfl, images, size, *, align_corners=False, half_pixel_centers=False):
    """Products with the matrices of both dimensions."""
    sources = _sources(tfl, images, size)

    def weights(axis: int, n: Dim, made: Dim) -> np.ndarray | Value:
        if isinstance(n, int) and isinstance(made, int):
            return _bicubic(n, made, align_corners, half_pixel_centers)
        require(half_pixel_centers, f"{_SIZE} where centers of pixels are not at a half")
        return resize_weights.bicubic(tfl, n, made, *sources)

    return resized(tfl, images, weights, *sources[1:])


@lowers
def ResizeArea(tfl, images, size, *, align_corners=False):
    """Products with the matrices of both dimensions."""
    sources = _sources(tfl, images, size)

    def weights(axis: int, n: Dim, made: Dim) -> np.ndarray | Value:
        if isinstance(n, int) and isinstance(made, int):
            return _area(n, made, align_corners)
        require(not align_corners, f"{_SIZE} where corners are aligned")
        return resize_weights.area(tfl, n, made, *sources)

    return resized(tfl, images, weights, *sources[1:])


@lowers
def ScaleAndTranslate(tfl, images, size, scale, translation, *, kernel_type="lanczos3", antialias=True):
    """Products with the matrices of both dimensions."""
    require(kernel_type in _KERNELS, f"kernel_type={kernel_type} is not known")
    kernel, radius = _KERNELS[kernel_type]
    sources = _sources(tfl, images, size)

    def weights(axis: int, n: Dim, made: Dim) -> np.ndarray | Value:
        if isinstance(n, int) and isinstance(made, int) and scale.data is not None and translation.data is not None:
            factor, move = (float(x.data[axis]) for x in (scale, translation))
            return _spans(n, made, factor, move, kernel, radius, antialias)
        require(kernel_type in resize_weights.KERNELS, f"{_SIZE} for kernel_type={kernel_type}")
        place = (tfl.strided_slice(x, [axis], [axis + 1], [1]) for x in (scale, translation))
        return resize_weights.spans(tfl, n, made, *place, kernel_type, antialias, *sources)

    return resized(tfl, images, weights, *sources[1:])


def _sources(tfl: Lowering, images: Value, size: Value) -> list[Value]:
    """Return what the sizes of the result can be read off: the images, and for each size that has nothing to do with
    theirs a vector as long, a RANGE."""
    sources = [images]
    known = {name for dim in shape_of(images, 4) if isinstance(dim, Sym) for name in dim.symbols()}
    for axis, dim in enumerate(shape_of(tfl.source.result, 4)[1:3]):
        if isinstance(dim, Sym) and not known.issuperset(dim.symbols()):
            count = tfl.gather(cast(tfl, size, types.INT32), scalar(axis, types.INT32))
            vector = tfl.range(scalar(0, types.INT32), count, scalar(1, types.INT32))
            vector.shape = (dim,)
            sources.append(vector)
    return sources


def resized(
    tfl: Lowering, images: Value, weights: Callable[[int, Dim, Dim], np.ndarray | Value], *sources: Value
) -> Value:
    """Resize images by two products: [n, h, w, c] -> float32 [n, rows, columns, c]; weights(0, h, rows) is [rows, h],
    weights(1, w, columns) is [columns, w]. Unknown sizes are computed from the shapes of `images` and `sources`."""
    batch, h, w, channels = shape_of(images, 4)
    (c,) = static_dims([channels], "the channels")
    _, rows, columns, _ = shape_of(tfl.source.result, 4)
    x = cast(tfl, images, types.FLOAT32)
    vertical = _matrix(tfl, weights(0, h, rows), (rows, h), images, *sources)
    y = tfl.batch_matmul(vertical, reshape(tfl, x, (batch, h, w * c), images))
    horizontal = _matrix(tfl, weights(1, w, columns), (columns, w), images, *sources)
    y = tfl.batch_matmul(horizontal, reshape(tfl, y, (batch * rows, w, c), images, *sources))
    return reshape(tfl, y, (batch, rows, columns, c), images, *sources)


def _matrix(tfl: Lowering, weights: np.ndarray | Value, shape: Shape, *sources: Value) -> Value:
    """Return the weights as one matrix for all images."""
    if isinstance(weights, np.ndarray):
        return tfl.const(weights.astype(np.float32)[None])
    weights.shape = shape
    return reshape(tfl, weights, (1, *shape), *sources)


def scale_of(n: int, made: int, align_corners: bool) -> np.float32:
    """Return the ratio of the image's size to the result's; with align_corners, of the distances between the outermost
    pixels."""
    return np.float32(n - 1) / np.float32(made - 1) if align_corners and made > 1 else np.float32(n) / np.float32(made)


def _bicubic(n: int, made: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """Return what each pixel of a row weighs in each of the result, [made, n]: four a row, by TensorFlow's table of
    steps."""
    scale = scale_of(n, made, align_corners)
    matrix = _zeros(made, n)
    places = np.arange(made, dtype=np.float32)
    places = (places + np.float32(0.5)) * scale - np.float32(0.5) if half_pixel else places * scale
    whole = np.floor(places).astype(int)
    steps = np.rint((places - whole) * np.float32(BICUBIC_STEPS)).astype(int)
    sharpness = -0.5 if half_pixel else -0.75
    for tap, distance in ((-1, BICUBIC_STEPS + steps), (0, steps), (1, BICUBIC_STEPS - steps),
                          (2, 2 * BICUBIC_STEPS - steps)):  # fmt: skip
        weight = _cubic(distance / BICUBIC_STEPS, sharpness)
        index = np.clip(whole + tap, 0, n - 1)
        if half_pixel:  # what lies beside the image has no weight
            weight = np.where(index == whole + tap, weight, 0)
        np.add.at(matrix, (np.arange(made), index), weight)
    return _normalized(matrix) if half_pixel else matrix


def _zeros(made: int, n: int) -> np.ndarray:
    budget.require_room(made * n, 8, "the matrix of an image's new size")
    return np.zeros((made, n))


def _cubic(distance: np.ndarray, a: float) -> np.ndarray:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return np.where(distance <= 1, near, np.where(distance < 2, far, 0.0))


def _area(n: int, made: int, align_corners: bool) -> np.ndarray:
    matrix = _zeros(made, n)
    scale = scale_of(n, made, align_corners)
    begin = np.arange(made, dtype=np.float32) * scale
    end = np.arange(1, made + 1, dtype=np.float32) * scale
    for row in range(made):
        for pixel in range(int(np.floor(begin[row])), int(np.ceil(end[row]))):
            overlap = min(end[row], pixel + 1) - max(begin[row], pixel)
            matrix[row, np.clip(pixel, 0, n - 1)] += overlap / scale
    return matrix


def _spans(
    n: int, made: int, scale: float, move: float, kernel: Callable, radius: float, antialias: bool
) -> np.ndarray:
    """Return what each pixel of a row weighs in each of the result, [made, n], for a kernel of `radius` pixels, which
    antialiasing widens by how much the image shrinks. A place outside the image has zeros."""
    inverse = np.float32(1) / np.float32(scale)
    width = max(inverse, np.float32(1)) if antialias else np.float32(1)
    matrix = _zeros(made, n)
    for row in range(made):
        center = (np.float32(row) + np.float32(0.5)) * inverse - inverse * np.float32(move)
        if center < 0 or center > n:
            continue
        begin = max(int(np.ceil(center - radius * width - 0.5)), 0)
        end = min(int(np.floor(center + radius * width - 0.5)), n - 1)
        pixels = np.arange(begin, end + 1)
        matrix[row, pixels] = kernel(np.abs((pixels + 0.5 - center) / width))
    return _normalized(matrix)


def _normalized(matrix: np.ndarray) -> np.ndarray:
    total = matrix.sum(axis=1, keepdims=True)
    return np.divide(matrix, total, out=np.zeros_like(matrix), where=np.abs(total) >= _TINY)


def _lanczos(radius: float) -> tuple[Callable, float]:
    def weigh(x: np.ndarray) -> np.ndarray:
        return np.where(x <= radius, np.sinc(x) * np.sinc(x / radius), 0)

    return weigh, radius


def _gaussian(x: np.ndarray) -> np.ndarray:
    return np.where(x < 1.5, np.exp(-(x**2) / (2 * 0.5**2)), 0)


def _mitchell(x: np.ndarray) -> np.ndarray:
    near = (7 * x**3 - 12 * x**2 + 16 / 3) / 6
    far = (-7 / 3 * x**3 + 12 * x**2 - 20 * x + 32 / 3) / 6
    return np.where(x < 1, near, np.where(x < 2, far, 0))


# What a pixel weighs by its distance, and how far that reaches.
_KERNELS: dict[str, tuple[Callable, float]] = {
    "lanczos1": _lanczos(1.0),
    "lanczos3": _lanczos(3.0),
    "lanczos5": _lanczos(5.0),
    "gaussian": (_gaussian, 1.5),
    "box": (lambda x: np.where(x < 0.5, 1.0, np.where(x == 0.5, 0.5, 0.0)), 0.5),
    "triangle": (lambda x: np.maximum(1 - x, 0), 1.0),
    "keyscubic": (lambda x: _cubic(x, -0.5), 2.0),
    "mitchellcubic": (_mitchell, 2.0),
}
