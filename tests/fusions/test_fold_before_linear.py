"""Constants before convolutions and dense layers."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check, convert_function

RNG = np.random.default_rng(0)
IMAGE = tf.TensorSpec([None, 9, 7, 4])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W2, W1, WF = draw(3, 3, 4, 6), draw(1, 1, 4, 6), draw(4, 6)
WD, WT, WG = draw(3, 3, 4, 2), draw(3, 3, 6, 4), draw(3, 3, 2, 6)
A, B = draw(4), draw(4)


def conv(x, w=W2, padding="SAME"):
    return tf.nn.conv2d(x, w, 1, padding)


def test_a_factor():
    check(lambda x: conv(x * A), IMAGE, ops=["CONV_2D"])
    check(lambda x: conv(x / 255.0), IMAGE, ops=["CONV_2D"], static=False)
    depthwise = lambda x: tf.nn.depthwise_conv2d(x, WD, [1, 1, 1, 1], "SAME")  # noqa: E731
    check(lambda x: depthwise(x * A), IMAGE, ops=["DEPTHWISE_CONV_2D"], static=False)
    check(lambda x: tf.matmul(x * A, WF), tf.TensorSpec([None, 5, 4]), ops=["FULLY_CONNECTED"], static=False)
    image = tf.TensorSpec([2, 9, 7, 4])
    check(lambda x: tf.nn.conv2d_transpose(x * A, WT, [2, 18, 14, 6], 2), image, ops=["TRANSPOSE_CONV"])


def test_groups():
    check(lambda x: conv(x * 3.0, WG), IMAGE, ops=["CONV_2D"], static=False)
    check(lambda x: conv(x * A, WG), IMAGE, ops=["CONV_2D", "MUL"], static=False)


def test_all_readers_take_the_factor():
    check(lambda x: (conv(x * A), conv(x * A, W1)), IMAGE, ops=["CONV_2D"] * 2, static=False)
    check(lambda x: (conv(x * A), x * A), IMAGE, ops=["CONV_2D", "MUL"], static=False)


def test_constants_that_repeat_the_data_stay():
    one = tf.TensorSpec([None, 9, 7, 1])
    check(lambda x: conv(x * A), one, ops=["MUL", "CONV_2D"], static=False)
    check(lambda x: conv(x * A + B), one, ops=["MUL", "ADD", "CONV_2D"], static=False)
    unknown = tf.TensorSpec([None, None, None, None])
    assert "MUL" in convert_function(lambda x: conv(x * A), unknown).ops


def test_other_dimensions_stay():
    check(lambda x: conv(x * draw(7, 1)), IMAGE, ops=["CONV_2D", "MUL"], static=False)


def test_a_sum_moves_only_behind_an_op_that_rounds():
    scale = lambda y: tf.math.rsqrt(y * y + 0.1)  # noqa: E731
    ops = ["MUL", "ADD", "RSQRT", "MUL", "CONV_2D"]
    check(lambda x, y: conv(x * scale(y) + B, padding="VALID"), IMAGE, IMAGE, ops=ops, static=False)
    check(lambda x, y: conv(x * scale(y) * A + B, W1), IMAGE, IMAGE, ops=ops, static=False)
    check(lambda x: conv(x + B, padding="VALID"), IMAGE, ops=["ADD", "CONV_2D"], static=False)
    check(lambda x, y: conv(x * y + B, padding="VALID"), IMAGE, IMAGE, ops=["MUL", "ADD", "CONV_2D"], static=False)


def test_a_sum_moves_with_a_factor_that_rounds():
    check(lambda x: conv(x * A + B, padding="VALID"), IMAGE, ops=["CONV_2D"])
    check(lambda x: tf.matmul(tf.nn.relu(tf.matmul(x, WF)) * draw(6) + draw(6), draw(6, 2)), tf.TensorSpec([None, 4]),
          ops=["FULLY_CONNECTED"] * 2)  # fmt: skip
    check(lambda x: conv(x * 0.5 + B, padding="VALID"), IMAGE, ops=["ADD", "CONV_2D"], static=False)


def test_what_is_fed_can_be_large_beside_its_difference():
    def years(rng, shape, dtype):
        return (2000 + rng.integers(-9, 10, shape)).astype(dtype)

    check(lambda x: tf.matmul((x - 2000.0) / 5.0, WF), tf.TensorSpec([None, 4]), inputs=years)
    check(lambda x: tf.matmul(x / 5.0 - 400.0, WF), tf.TensorSpec([None, 4]), inputs=years, atol=1e-4)


def test_zeros_beside_the_data_keep_the_sum():
    ops = ["ABS", "ADD", "RSQRT", "MUL", "ADD", "CONV_2D"]
    check(lambda x, y: conv(x * tf.math.rsqrt(tf.abs(y) + 0.1) + B), IMAGE, IMAGE, ops=ops, static=False)


def test_a_scaled_image_keeps_one_op():
    check(lambda x: conv(x * (1 / 127.5) - 1.0), IMAGE, ops=["ADD", "CONV_2D"])


def test_the_factor_of_a_gate():
    """Squeeze and excitation with a hard sigmoid."""
    gate = tf.TensorSpec([None, 1, 1, 4])
    hard = lambda x: tf.nn.relu6(x + 3.0) / 6.0  # noqa: E731
    check(lambda x, g: conv(x * hard(g)), IMAGE, gate, ops=["ADD", "MUL", "CONV_2D"])
    check(lambda x, g: conv(x * (tf.tanh(g) * A)), IMAGE, gate, ops=["TANH", "MUL", "CONV_2D"], static=False)
    scalar = tf.TensorSpec([None, 1, 1, 1])
    check(lambda x, g: conv(x * (tf.tanh(g) * A)), IMAGE, scalar, ops=["TANH", "MUL", "MUL", "CONV_2D"], static=False)


def test_an_activation_between_keeps_the_ops():
    check(lambda x: conv(tf.nn.relu(x * A)), IMAGE, ops=["MUL", "CONV_2D"], static=False)
