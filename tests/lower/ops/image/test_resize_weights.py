"""Parity of resized images whose sizes are not known."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

IMAGE = tf.TensorSpec([None, None, None, 2])
METHODS = ["bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"]


@pytest.mark.parametrize("method", METHODS)
def test_to_a_known_size(method):
    check(lambda x: tf.image.resize(x, [5, 13], method), IMAGE, static=False)


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "lanczos3"])
def test_without_aliasing(method):
    check(lambda x: tf.image.resize(x, [3, 13], method, antialias=True), IMAGE, static=False)


@pytest.mark.parametrize("method", ["bicubic", "area", "lanczos3"])
def test_to_a_multiple(method):
    check(lambda x: tf.image.resize(x, tf.shape(x)[1:3] * 2, method), IMAGE, static=False)


def test_one_unknown_size():
    check(lambda x: tf.image.resize(x, [5, 9], "bicubic"), tf.TensorSpec([None, None, 6, 2]), static=False)
    check(lambda x: tf.image.resize(x, [5, 9], "bicubic"), tf.TensorSpec([1, 7, None, 2], tf.uint8), static=False)


def test_places_beside_the_image_are_empty():
    def fn(x):
        return tf.raw_ops.ScaleAndTranslate(images=x, size=[8, 30], scale=[1.5, 0.7], translation=[2.0, -1.5],
                                            kernel_type="triangle", antialias=True)  # fmt: skip

    check(fn, IMAGE, static=False)


def test_an_image_that_is_moved_at_run_time():
    def fn(x, scale, move):
        return tf.raw_ops.ScaleAndTranslate(images=x, size=[8, 9], scale=scale, translation=move,
                                            kernel_type="keyscubic", antialias=False)  # fmt: skip

    place = tf.TensorSpec([2])
    draw = lambda rng, shape, dtype: rng.uniform(0.8, 1.5, shape).astype(dtype)  # noqa: E731
    check(fn, tf.TensorSpec([2, 7, 6, 3]), place, place, inputs=draw)
