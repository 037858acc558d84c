"""Parity of images resized by products with matrices."""

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


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int32, tf.float16], ids=lambda t: t.name)
def test_types(dtype):
    check(lambda x: raw.ResizeBicubic(images=x, size=[5, 9]), spec(2, 7, 6, 3, dtype=dtype))


def test_sizes_must_be_known():
    image, legacy = spec(1, None, 6, 3), "centers of pixels are not at a half"
    check_refused(lambda x: raw.ResizeBicubic(images=x, size=[5, 9]), image, match=f"ResizeBicubic.*known.*{legacy}")
    aligned = lambda x: raw.ResizeArea(images=x, size=[5, 9], align_corners=True)  # noqa: E731
    check_refused(aligned, image, match="ResizeArea.*known.*corners are aligned")
    size = spec(2, dtype=tf.int32)
    check_refused(lambda x, n: raw.ResizeArea(images=x, size=n), spec(1, 7, 6, 3), size, match="ResizeArea.*cannot be")
    box = lambda x: raw.ScaleAndTranslate(  # noqa: E731
        images=x, size=[5, 9], scale=[1.5, 1.0], translation=[0.0, 0.0], kernel_type="box"
    )
    check_refused(box, image, match="ScaleAndTranslate.*known.*kernel_type=box")
