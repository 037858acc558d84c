"""Layers that are written once for each step of a sequence."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from fuseconv.testing import check
from tests.random_weights import randomize

RNG = np.random.default_rng(0)
W, B = RNG.standard_normal((4, 6)).astype(np.float32), RNG.standard_normal(6).astype(np.float32)
SEQUENCE = tf.TensorSpec([None, 5, 4])


def test_time_distributed_layers():
    frames = x = keras.Input((5, 8, 8, 3))
    for layer in (layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(2)):
        x = layers.TimeDistributed(layer)(x)
    model = keras.Model(frames, x)
    randomize(model, 1)
    ops = ["RESHAPE", "CONV_2D", "MAX_POOL_2D", "RESHAPE", "FULLY_CONNECTED"]
    for batch in (None, 1):
        check(model, tf.TensorSpec([batch, 5, 8, 8, 3]), ops=ops)


def test_a_model_with_branches():
    image = x = keras.Input((8, 8, 3))
    x = layers.ZeroPadding2D()(x)
    x = layers.BatchNormalization()(layers.Conv2D(4, 3, use_bias=False)(x))
    x = layers.Add()([layers.DepthwiseConv2D(3, padding="same")(x), layers.ReLU()(x)])
    x = x * layers.Conv2D(4, 1, activation="sigmoid")(layers.GlobalAveragePooling2D(keepdims=True)(x))
    inner = keras.Model(image, layers.Dense(3)(layers.GlobalMaxPooling2D()(x)))
    frames = keras.Input((3, 8, 8, 3))
    model = keras.Model(frames, layers.GlobalMaxPooling1D()(layers.TimeDistributed(inner)(frames)))
    randomize(model, 1)
    ops = check(model, tf.TensorSpec([None, 3, 8, 8, 3])).ops
    assert ops.count("DEPTHWISE_CONV_2D") == 1 and not {"PACK", "UNPACK"} & set(ops)


@pytest.mark.parametrize("axis", [0, 1])
def test_steps_that_are_written_out(axis):
    def fn(x):
        steps = tf.unstack(x, 5, axis) if axis == 0 else [x[:, step] for step in range(5)]
        return tf.stack([tf.tanh(tf.matmul(step, W) + B) for step in steps], axis)

    spec = tf.TensorSpec([5, None, 4]) if axis == 0 else SEQUENCE
    draw = lambda rng, shape, dtype: rng.standard_normal((5, 3, 4)).astype(dtype)  # noqa: E731
    ops = ["FULLY_CONNECTED", "TANH"]
    assert set(check(fn, spec, static=False, inputs=None if axis else draw).ops) - {"RESHAPE"} == set(ops)


@pytest.mark.parametrize(
    "steps",
    [
        lambda x: [tf.matmul(x[:, step], W * step) for step in range(5)],  # other weights
        lambda x: [tf.matmul(x[:, step], W) for step in (0, 1, 2, 4, 3)],  # another order
        lambda x: [tf.matmul(x[:, step], W) for step in range(4)],  # not all
        lambda x: [tf.tanh(tf.matmul(x[:, step], W)) if step else tf.matmul(x[:, 0], W) for step in range(5)],
        lambda x: [tf.matmul(x[:, step], W) - tf.reduce_sum(x[:, step], 0)[:1] for step in range(5)],  # rows meet
        lambda x: [tf.matmul(x[:, step], W) * tf.matmul(x[:, 0], W) for step in range(5)],  # one step for all
    ],
)
def test_steps_that_differ_stay(steps):
    assert "PACK" in check(lambda x: tf.stack(steps(x), 1), SEQUENCE).ops


def test_steps_that_others_read_stay():
    def fn(x):
        steps = [tf.tanh(tf.matmul(x[:, step], W)) for step in range(5)]
        return tf.stack(steps, 1), steps[2]

    assert "PACK" in check(fn, SEQUENCE).ops
