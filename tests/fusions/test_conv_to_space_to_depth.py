"""Convolutions that cut an image into patches."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

IMAGE = tf.TensorSpec([None, 8, 12, 3])


def cut(x, block=4, stride=None, padding="VALID", eye=None):
    eye = np.eye(block * block * 3, dtype=np.float32) if eye is None else eye
    return tf.nn.conv2d(x, eye.reshape(block, block, 3, -1), stride or block, padding)


@pytest.mark.parametrize("size", [2, 4])
def test_patches_of_keras(size):
    import keras

    check(lambda x: keras.ops.image.extract_patches(x, size), IMAGE, ops=["SPACE_TO_DEPTH"])


def test_a_dense_layer_behind_them():
    w = np.random.default_rng(0).standard_normal((48, 5), np.float32)
    check(
        lambda x: tf.reshape(cut(x), [-1, 6, 48]) @ w, IMAGE, ops=["SPACE_TO_DEPTH", "RESHAPE", "FULLY_CONNECTED"]
    )
    check(lambda x: tf.nn.relu(cut(x, padding="SAME")), IMAGE, ops=["SPACE_TO_DEPTH", "RELU"])


@pytest.mark.parametrize(
    "options",
    [
        {"stride": 2},  # the windows overlap
        {"block": 5},  # they are cut
        {"block": 5, "padding": "SAME"},  # they are padded
        {"eye": np.eye(48, dtype=np.float32)[::-1].copy()},
        {"eye": np.eye(48, 40, dtype=np.float32)},
    ],
)
def test_others_stay(options):
    assert "CONV_2D" in check(lambda x: cut(x, **options), IMAGE).ops


def test_a_size_that_is_not_known():
    image = np.random.default_rng(0).standard_normal((1, 8, 12, 3), np.float32)
    check(cut, tf.TensorSpec([1, None, 12, 3]), inputs=[image], static=False, ops=["CONV_2D"])
