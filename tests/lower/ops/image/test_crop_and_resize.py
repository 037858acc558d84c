"""Parity of crops."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def draw(rng, shape, dtype):
    """Pixels, boxes that reach beyond the image or fit it exactly, and the first images of the batch."""
    if len(shape) == 4:
        return (10 * rng.random(shape)).astype(dtype)
    if len(shape) == 2:
        boxes = rng.uniform(-0.3, 1.3, shape)
        boxes[0] = [0, 0, 1, 1]
        return boxes.astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(4, 5), (1, 3), (6, 1), (9, 8)])
def test_crop_and_resize(method, size):
    def layer(image, boxes, which):
        return tf.image.crop_and_resize(image, boxes, which, size, method, 0.5)

    check(layer, spec(None, 9, 8, 3), spec(None, 4), spec(None, dtype=tf.int32), inputs=draw)


def test_crop_and_resize_of_unknown_size():
    def layer(image, boxes, which):
        return tf.image.crop_and_resize(image, boxes, which, (4, 5))

    check(layer, spec(None, None, None, 3), spec(None, 4), spec(None, dtype=tf.int32), inputs=draw)


@pytest.mark.parametrize("dtype", [tf.uint8, tf.int64, tf.float16, tf.float64])
def test_crop_and_resize_of_other_types(dtype):
    def layer(image):
        boxes = np.array([[0, 0.1, 1, 0.9], [0.2, -0.2, 0.7, 1]], np.float32)
        return tf.image.crop_and_resize(image, boxes, [1, 0], (4, 5))

    check(layer, spec(2, 9, 8, 3, dtype=dtype))


@pytest.mark.parametrize("height", [10, 25, 48])
def test_a_box_that_fits_the_image_ends_where_it_does_in_tensorflow(height):
    # For some of these sizes the last row falls beside the image by a rounding error.
    def layer(image):
        return [tf.image.crop_and_resize(image, [[0.0, 0.0, 1.0, 1.0]], [0], (n, 3)) for n in range(2, 15)]

    check(layer, spec(1, height, 8, 1))


def test_a_size_that_is_an_input_is_refused():
    def layer(image, size):
        return tf.image.crop_and_resize(image, [[0.0, 0.1, 1.0, 0.9]], [0], size)

    check_refused(layer, spec(2, 9, 8, 3), spec(2, dtype=tf.int32), match="size of the crops")
