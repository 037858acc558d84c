"""Parity of colors."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check


def unit(rng, shape, dtype):
    """Numbers from 0 to 1, often equal."""
    return (rng.integers(0, 6, shape) / 5).astype(dtype)


IMAGE = tf.TensorSpec([None, 4, 5, 3])
OPS = {
    "to_hsv": tf.image.rgb_to_hsv,
    "to_rgb": tf.image.hsv_to_rgb,
    "saturation": lambda x: tf.image.adjust_saturation(x, 1.7),
    "hue": lambda x: tf.image.adjust_hue(x, 0.3),
    "hue_back": lambda x: tf.image.adjust_hue(x, -0.6),
    "contrast": lambda x: tf.image.adjust_contrast(x, 1.7),
}


@pytest.mark.parametrize("op", OPS)
def test_colors(op):
    check(OPS[op], IMAGE, inputs=unit)


@pytest.mark.parametrize("op", ["to_hsv", "to_rgb"])
def test_colors_of_halves(op):
    def even(rng, shape, dtype):
        return rng.uniform(0.1, 0.9, shape).astype(dtype)

    check(OPS[op], tf.TensorSpec([2, 4, 5, 3], tf.float16), inputs=even, atol=1e-2)


def test_gray_has_no_hue():
    gray = np.repeat(np.linspace(0, 1, 5, dtype=np.float32), 3).reshape(5, 3)
    check(tf.image.rgb_to_hsv, tf.TensorSpec([5, 3]), inputs=[gray])
