"""Glimpses, windows of images at computed places."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter

from fuseconv.testing import check, convert_function

raw = tf.raw_ops
IMAGES = tf.TensorSpec([None, 7, 6, 2])
OFFSETS = tf.TensorSpec([None, 2])


@pytest.mark.parametrize("op", [raw.ExtractGlimpse, raw.ExtractGlimpseV2], ids=["V1", "V2"])
@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("normalized", [False, True])
def test_zeros_outside(op, centered, normalized):
    def fn(images, offsets):
        return op(input=images, size=[3, 4], offsets=offsets, centered=centered, normalized=normalized,
                  uniform_noise=False, noise="zero")  # fmt: skip

    at = [-9.0, -1.3, -0.4, 0.0, 0.2, 0.9, 1.0, 4.7, 8.0]
    offsets = np.array(list(itertools.product(at, at)), np.float32)
    images = np.random.default_rng(0).standard_normal((len(offsets), 7, 6, 2)).astype(np.float32)
    check(fn, IMAGES, OFFSETS, inputs=[images, offsets], atol=0, static=False)


def test_images_of_unknown_size():
    def fn(images, offsets):
        return raw.ExtractGlimpseV2(input=images, size=[9, 2], offsets=offsets, uniform_noise=False, noise="zero")

    check(fn, tf.TensorSpec([None, None, None, 3]), OFFSETS, atol=0, static=False)


@pytest.mark.parametrize("noise", ["uniform", "gaussian"])
def test_noise_outside(noise):
    """What the image holds is TensorFlow's; what it does not is within the image's range, and each time another."""

    def fn(images, offsets):
        return raw.ExtractGlimpseV2(input=images, size=[5, 4], offsets=offsets, centered=False, normalized=False,
                                    uniform_noise=noise == "uniform", noise=noise)  # fmt: skip

    images = np.random.default_rng(0).uniform(3, 5, (2, 7, 6, 2)).astype(np.float32)
    runner = Interpreter(model_content=convert_function(fn, IMAGES, OFFSETS).data).get_signature_runner()
    made = [runner(x0=images, x1=np.float32([[4, -2], [0, 1]]))["y0"] for _ in range(2)]
    np.testing.assert_array_equal(made[0][0, :3, 2:], images[0, 4:, :2])
    np.testing.assert_array_equal(made[0][1], images[1, :5, 1:5])
    beyond = [np.concatenate([y[0, 3:].ravel(), y[0, :, :2].ravel()]) for y in made]
    assert (np.abs(beyond[0] - 4) <= 1).all() and np.std(beyond[0]) > 0.1 and (beyond[0] != beyond[1]).mean() > 0.5
