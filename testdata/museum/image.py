"""Images, spectra and other signals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, floats, spec


@case("tensorflow#33691", "align_corners and half_pixel_centers are ignored", spec(None, 5, 7, 2))
def bilinear_in_each_of_its_kinds() -> Callable[..., Any]:
    def resize(x: tf.Tensor) -> list[tf.Tensor]:
        kinds = ((False, False), (True, False), (False, True))
        resized = tf.raw_ops.ResizeBilinear
        return [resized(images=x, size=[9, 4], align_corners=a, half_pixel_centers=h) for a, h in kinds]

    return resize


@case("tensorflow#33691 tensorflow#62386", "the pixel beside the nearest", spec(None, 5, 7, 2))
def nearest_in_each_of_its_kinds() -> Callable[..., Any]:
    def resize(x: tf.Tensor) -> list[tf.Tensor]:
        kinds = ((False, False), (True, False), (False, True))
        resized = tf.raw_ops.ResizeNearestNeighbor
        return [resized(images=x, size=[9, 4], align_corners=a, half_pixel_centers=h) for a, h in kinds]

    return resize


@case("tensorflow#45090", "an output of 1 by 1", spec(None, None, None, 3))
def upsampling_of_unknown_sizes() -> Callable[..., Any]:
    return lambda x: tf.image.resize(x, 2 * tf.shape(x)[1:3])


@case("tensorflow#45090", "other pixels", spec(None, 4, 5, 3))
def upsampling_by_keras() -> Callable[..., Any]:
    return keras.layers.UpSampling2D((2, 3), interpolation="bilinear")


@case("here", "the middle of an image of unknown size", spec(None, None, 3))
def central_crop_of_unknown_sizes() -> Callable[..., Any]:
    return lambda image: tf.image.central_crop(image, 0.5)


@case("here", "refused", spec(2, 6, 6, 3), spec(3, 4), inputs=[
    np.random.default_rng(3).standard_normal((2, 6, 6, 3)).astype(np.float32),
    floats([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.7], [0.9, 0.8, 0.2, 0.1]),
])  # fmt: skip
def crop_and_resize() -> Callable[..., Any]:
    return lambda images, boxes: tf.image.crop_and_resize(images, boxes, [0, 1, 1], [3, 5])


@case("tensorflow#27303", "refused for sizes that only a run tells", spec(None, None))
def spectrum_of_unknown_length() -> Callable[..., Any]:
    return lambda x: tf.abs(tf.signal.rfft(x, [16]))


@case("tensorflow#48106", "the process ends in the run", spec(100))
def spectrum_longer_than_the_signal() -> Callable[..., Any]:
    return lambda x: tf.abs(tf.signal.rfft(x, [512]))


@case("tensorflow#27303", "refused", spec(None, 64))
def short_time_spectrum() -> Callable[..., Any]:
    return lambda x: tf.abs(tf.signal.stft(x, 16, 8))


@case("tensorflow#54501 LiteRT#130", "refused", spec(None, 9, dtype=tf.complex64))
def inverse_spectrum() -> Callable[..., Any]:
    return lambda x: tf.signal.irfft(x)


@case("tensorflow#42481", "a shape of 2 by 2 in place of 6 by 6", spec(3, 4))
def overlap_and_add() -> Callable[..., Any]:
    return lambda x: tf.signal.overlap_and_add(x, 2)


@case("tensorflow#54501", "refused", spec(1, 64))
def there_and_back_again() -> Callable[..., Any]:
    return lambda x: tf.signal.inverse_stft(tf.signal.stft(x, 16, 8), 16, 8)


_SQUARES = floats([0, 0, 2, 2], [0, 0, 2, 1], [5, 5, 7, 7], [5, 6, 7, 8], [9, 9, 10, 10])


@case("here", "a box whose overlap is the threshold is dropped", spec(5, 4), spec(5),
      inputs=[_SQUARES, floats(0.9, 0.8, 0.7, 0.6, 0.5)])  # fmt: skip
def suppression_at_the_threshold() -> Callable[..., Any]:
    return lambda boxes, scores: tf.image.non_max_suppression(boxes, scores, 5, 0.5)


@case("here", "of boxes with equal scores not the first is selected", spec(5, 4), spec(5),
      inputs=[_SQUARES, floats(0.5, 0.5, 0.5, 0.5, 0.5)])  # fmt: skip
def suppression_of_equal_scores() -> Callable[..., Any]:
    return lambda boxes, scores: tf.image.non_max_suppression(boxes, scores, 3, 0.4)


@case("here", "a box without an area is selected again and again", spec(5, 4), spec(5),
      inputs=[_SQUARES * floats([1], [1], [1], [0], [1]), floats(0.7, 0.6, 0.5, 0.9, 0.8)])  # fmt: skip
def suppression_of_a_box_without_an_area() -> Callable[..., Any]:
    return lambda boxes, scores: tf.image.non_max_suppression(boxes, scores, 5, 0.4)


@case("here", "fewer boxes than asked for: the rest is padded", spec(None, 4), spec(None),
      inputs=[_SQUARES, floats(0.9, 0.8, 0.7, 0.6, 0.5)])  # fmt: skip
def suppression_of_most_boxes() -> Callable[..., Any]:
    return lambda boxes, scores: tf.image.non_max_suppression(boxes, scores, 5, 0.1)
