"""Parity of images resized by products with matrices."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused
from tests.pairwise import pairwise

raw = tf.raw_ops
SIZES = [(5, 9), (12, 4), (7, 6), (1, 1), (20, 13)]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("flags", [{}, {"align_corners": True}, {"half_pixel_centers": True}], ids=str)
def test_bicubic(size, flags):
    check(lambda x: raw.ResizeBicubic(images=x, size=size, **flags), spec(None, 7, 6, 2))


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("align_corners", [False, True])
def test_area(size, align_corners):
    check(lambda x: raw.ResizeArea(images=x, size=size, align_corners=align_corners), spec(None, 7, 6, 2))


@pairwise(
    method=["lanczos3", "lanczos5", "gaussian", "mitchellcubic", "bicubic", "bilinear", "area"],
    size=SIZES,
    antialias=[False, True],
)
def test_image_resize(method, size, antialias):
    check(lambda x: tf.image.resize(x, size, method, antialias=antialias), spec(None, 7, 6, 2), batches=(2,))


@pytest.mark.parametrize("kernel", ["lanczos1", "box", "triangle", "keyscubic"])
def test_scale_and_translate(kernel):
    def moved(x):
        place = {"size": [9, 8], "scale": [1.3, 0.7], "translation": [-2.2, 1.4]}
        return raw.ScaleAndTranslate(images=x, kernel_type=kernel, **place)

    check(moved, spec(2, 7, 6, 2))


def test_a_pixel_at_the_edge_of_a_box_has_half_its_weight():
    place = {"size": [3, 3], "scale": [0.5, 0.5], "translation": [0.25, 0.25]}
    check(lambda x: raw.ScaleAndTranslate(images=x, kernel_type="box", **place), spec(2, 7, 6, 2))


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int32, tf.float16], ids=lambda t: t.name)
def test_types(dtype):
    check(lambda x: raw.ResizeBicubic(images=x, size=[5, 9]), spec(2, 7, 6, 3, dtype=dtype))


@pairwise(method=["lanczos3", "gaussian", "bicubic", "area"], image=[(None, 7, 6, 2), (1, None, None, 2)])
def test_a_size_that_is_an_operand(method, image):
    def draw(rng, shape, dtype):
        return (rng.integers(3, 12, shape) if dtype == np.int32 else rng.standard_normal(shape)).astype(dtype)

    size = spec(2, dtype=tf.int32)
    check(lambda x, n: tf.image.resize(x, n, method, antialias=True), spec(*image), size, inputs=draw)


def test_a_size_of_the_image_and_one_of_its_values():
    """As when the longer side becomes 16: neither size is one that shapes tell."""

    def boxed(x):
        sizes = tf.cast(tf.shape(x)[1:3], tf.float32)
        made = tf.cast(tf.round(sizes * 16.0 / tf.reduce_max(sizes)), tf.int32)
        return tf.pad(tf.image.resize(x, made, antialias=True), [[0, 0], [0, 16 - made[0]], [0, 16 - made[1]], [0, 0]])

    check(boxed, spec(1, None, None, 3), batches=(2, 17))


def test_sizes_must_be_known():
    image, legacy = spec(1, None, 6, 3), "centers of pixels are not at a half"
    check_refused(lambda x: raw.ResizeBicubic(images=x, size=[5, 9]), image, match=f"ResizeBicubic.*known.*{legacy}")
    aligned = lambda x: raw.ResizeArea(images=x, size=[5, 9], align_corners=True)  # noqa: E731
    check_refused(aligned, image, match="ResizeArea.*known.*corners are aligned")
    box = lambda x: raw.ScaleAndTranslate(  # noqa: E731
        images=x, size=[5, 9], scale=[1.5, 1.0], translation=[0.0, 0.0], kernel_type="box"
    )
    check_refused(box, image, match="ScaleAndTranslate.*known.*kernel_type=box")
