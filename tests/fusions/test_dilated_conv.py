"""Dilated convolutions that are written with SpaceToBatchND."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 11, 9, 3])
WAVE = tf.TensorSpec([None, 16, 3])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W2, W1 = draw(3, 3, 3, 4), draw(3, 3, 4)


def by_blocks(x, conv, block, pads, crops):
    return tf.batch_to_space(conv(tf.space_to_batch(x, block, pads)), block, crops)


def conv2d(x):
    return tf.nn.conv2d(x, W2, 1, "VALID")


@pytest.mark.parametrize(
    "block, pads, crops, ops",
    [
        ([2, 2], [[0, 1], [0, 1]], [[0, 1], [0, 1]], ["CONV_2D"]),
        ([2, 2], [[2, 3], [2, 3]], [[0, 1], [0, 1]], ["CONV_2D"]),
        ([2, 3], [[2, 3], [3, 3]], [[0, 1], [0, 0]], ["CONV_2D"]),
        ([2, 2], [[4, 1], [3, 2]], [[0, 1], [0, 1]], ["PAD", "CONV_2D"]),
        ([2, 2], [[1, 0], [1, 0]], [[1, 0], [0, 0]], ["PAD", "CONV_2D"]),
    ],
)
def test_two_dimensions(block, pads, crops, ops):
    check(lambda x: by_blocks(x, conv2d, block, pads, crops), IMAGE, ops=ops)


def test_depthwise_with_bias():
    w, b = draw(3, 3, 3, 2), draw(6)
    conv = lambda x: tf.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID")  # noqa: E731
    fn = lambda x: tf.nn.relu(by_blocks(x, conv, [2, 2], [[2, 3], [2, 3]], [[0, 1], [0, 1]]) + b)  # noqa: E731
    check(fn, IMAGE, ops=["DEPTHWISE_CONV_2D"])


def test_what_crops_more_than_it_pads_stays():
    fn = lambda x: by_blocks(x, conv2d, [2, 2], [[0, 1], [0, 1]], [[0, 2], [1, 1]])  # noqa: E731
    ops = ["SPACE_TO_BATCH_ND", "CONV_2D", "BATCH_TO_SPACE_ND"]
    converted = check(fn, IMAGE, ops=ops, static=False)
    assert any(r.rule == "dilated_convolution" and r.kind == "refused" for r in converted.report.records)


def test_strides_stay():
    conv = lambda x: tf.nn.conv2d(x, W2, [1, 2, 1, 1], "VALID")  # noqa: E731
    fn = lambda x: by_blocks(x, conv, [2, 2], [[0, 1], [0, 1]], [[0, 0], [0, 1]])  # noqa: E731
    assert "SPACE_TO_BATCH_ND" in check(fn, IMAGE, static=False).ops


@pytest.mark.parametrize("padding, pads", [("valid", []), ("same", []), ("causal", ["PAD"])])
def test_keras_layer(padding, pads):
    import keras

    layer = keras.layers.Conv1D(4, 3, padding=padding, dilation_rate=3, activation="relu", bias_initializer="normal")
    layer.build((None, 16, 3))
    check(layer, WAVE, ops=["RESHAPE", "CONV_2D", "RESHAPE", *pads])


def test_unknown_length():
    import keras

    layer = keras.layers.Conv1D(4, 3, padding="causal", dilation_rate=2)
    layer.build((None, None, 3))
    assert check(layer, tf.TensorSpec([None, None, 3])).ops.count("CONV_2D") == 1


def test_two_convolutions_of_one_block():
    blocks = lambda x: tf.space_to_batch(x, [2, 2], [[2, 3], [2, 3]])  # noqa: E731
    back = lambda y: tf.batch_to_space(y, [2, 2], [[0, 1], [0, 1]])  # noqa: E731
    check(lambda x: (back(conv2d(blocks(x))), back(tf.nn.tanh(conv2d(blocks(x))))), IMAGE, static=False)
    check(lambda x: (back(conv2d(blocks(x))), back(conv2d(blocks(x)) + 1.0)), IMAGE, static=False)


def test_one_dimension_as_the_height():
    w = draw(3, 1, 3, 4)
    conv = lambda x: tf.squeeze(tf.nn.conv2d(tf.expand_dims(x, 2), w, 1, "VALID"), [2])  # noqa: E731
    pads = [[0, 2]]
    check(lambda x: by_blocks(x, conv, [3], pads, pads), WAVE, ops=["RESHAPE", "CONV_2D", "RESHAPE"], static=False)


def test_a_reshape_of_more_than_the_added_dimension_stays():
    conv = lambda x: tf.reshape(tf.nn.conv2d(x[:, None], W1[None], 1, "VALID"), [-1, 8, 3])  # noqa: E731
    assert "SPACE_TO_BATCH_ND" in check(lambda x: by_blocks(x, conv, [2], [[0, 0]], [[0, 0]]), WAVE, static=False).ops
