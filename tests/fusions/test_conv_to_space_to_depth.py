"""Convolutions that cut an image into patches."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.check_pass import check_pass

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


@pytest.mark.parametrize("bias, attrs", [
    (0.0, {"dilation_w_factor": 2}),
    (0.0, {"fused_activation_function": "RELU"}),
    (1.0, {}),
])  # fmt: skip
def test_what_space_to_depth_does_not_do(bias, attrs):
    attrs = {"padding": "SAME", "stride_h": 2, "stride_w": 2} | attrs
    eye = np.eye(12, dtype=np.float32).reshape(12, 2, 2, 3).tolist()
    check_pass("fuse-tfl-patterns", f"""
    main {{
      input %x: float32[1,8,12,3]
      %y: float32[1,4,6,12] = tfl.CONV_2D(%x, float32[12,2,2,3] {eye}, float32[12] {[bias] * 12}) {attrs}
      return %y
    }}
    """)
