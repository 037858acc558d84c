"""Transposes and reshapes that move outwards and meet."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
SEQUENCE = tf.TensorSpec([None, 12, 4])
PLANES = tf.TensorSpec([None, 4, 5, 6])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W1, W2, B = draw(3, 4, 4), draw(3, 3, 4, 4), draw(4)


def conv1(x, padding="SAME", w=W1):
    return tf.nn.conv1d(x, w, 1, padding)


def conv2(x):
    """A convolution of planes, [n, c, h, w]."""
    y = tf.nn.conv2d(tf.transpose(x, [0, 2, 3, 1]), W2, 1, "SAME") + B
    return tf.transpose(y, [0, 3, 1, 2])


def test_elementwise_between_convolutions():
    ops = ["RESHAPE", "CONV_2D", "TANH", "CONV_2D", "RESHAPE"]
    check(lambda x: conv1(tf.tanh(conv1(x))), SEQUENCE, ops=ops)
    ops = ["TRANSPOSE", "CONV_2D", "TANH", "CONV_2D", "TRANSPOSE"]
    check(lambda x: conv2(tf.tanh(conv2(x))), PLANES, ops=ops)


def test_gates_and_residuals():
    def fn(x):
        for _ in range(2):
            x = conv1(x)
            y = tf.pad(x, [[0, 0], [2, 0], [0, 0]])
            x = x + conv1(tf.tanh(conv1(y, "VALID")) * tf.sigmoid(conv1(y, "VALID", -W1)))
        return x

    block = ["CONV_2D", "PAD", "CONV_2D", "TANH", "CONV_2D", "LOGISTIC", "MUL", "CONV_2D", "ADD"]
    check(fn, SEQUENCE, ops=["RESHAPE", *2 * block, "RESHAPE"])


def test_dense_layers_of_rows_between_convolutions():
    ops = ["RESHAPE", "CONV_2D", "FULLY_CONNECTED", "CONV_2D", "RESHAPE"]
    check(lambda x: conv1(tf.nn.relu(tf.linalg.matmul(conv1(x), W2[0, 0]) + B)), SEQUENCE, ops=ops)
    # Of channels that come first, each row of the product is another.
    w = draw(6, 3)
    check(lambda x: tf.linalg.matmul(conv2(x), w), PLANES, ops=["TRANSPOSE", "CONV_2D", "TRANSPOSE", "FULLY_CONNECTED"])


def test_keras_layers():
    import keras

    x = y = keras.Input((12, 4))
    for rate in (1, 2):
        z = keras.layers.Conv1D(4, 2, padding="causal", dilation_rate=rate, activation="gelu")(y)
        y = keras.layers.Add()([y, keras.layers.Conv1D(4, 1)(z)])
    model = keras.Model(x, keras.layers.GlobalAveragePooling1D()(y))
    assert check(model, SEQUENCE).ops.count("RESHAPE") == 1


def test_planes_through_pads_joins_and_means():
    def fn(x):
        y = tf.pad(tf.tanh(conv2(x)), [[0, 0], [0, 0], [1, 1], [0, 2]], constant_values=0.5)
        y = tf.concat([y, tf.exp(y)], 1) * draw(8, 1, 1)
        weights = draw(3, 3, 8, 4)
        y = tf.nn.conv2d(tf.transpose(y, [0, 2, 3, 1]), weights, 1, "SAME")
        return tf.reduce_mean(tf.abs(tf.transpose(y, [0, 3, 1, 2])), [2, 3])

    ops = check(fn, PLANES).ops
    assert ops.count("TRANSPOSE") == 1, ops


def test_squeeze_and_excitation_of_planes():
    w = draw(4, 4)

    def fn(x):
        y = tf.tanh(conv2(x))
        gate = tf.sigmoid(tf.matmul(tf.reduce_mean(y, [2, 3]), w))
        return conv2(y * gate[:, :, None, None])

    assert check(fn, PLANES).ops.count("TRANSPOSE") == 2


def test_kept_dimensions():
    def fn(x):
        y = tf.tanh(conv2(x))
        return conv2(y - tf.reduce_max(y, [1], keepdims=True))

    assert check(fn, PLANES).ops.count("TRANSPOSE") == 2


def test_activations_reach_the_convolution():
    def fn(x):
        y = conv2(x)
        return conv2(tf.nn.relu(y) + tf.nn.relu(-y))

    check(fn, PLANES, ops=["TRANSPOSE", "CONV_2D", "RELU", "NEG", "RELU", "ADD", "CONV_2D", "TRANSPOSE"])


def test_softmax_along_another_dimension():
    # The channels are last in the one form only.
    check(lambda x: tf.nn.softmax(conv1(tf.nn.softmax(conv1(x)))), SEQUENCE,
          ops=["RESHAPE", *2 * ["CONV_2D", "SOFTMAX"], "RESHAPE"])  # fmt: skip
    assert check(lambda x: conv2(tf.nn.softmax(conv2(x))), PLANES).ops.count("TRANSPOSE") == 4


@pytest.mark.parametrize("kept", ["output", "reader"])
def test_other_readers_get_what_they_read(kept):
    def fn(x):
        y = tf.tanh(conv2(x))
        return conv2(y), (y if kept == "output" else tf.cumsum(y, 3))

    assert check(fn, PLANES).ops.count("TRANSPOSE") == 3


def test_operands_from_elsewhere():
    # One transpose more for y, two fewer between the convolutions.
    ops = check(lambda x, y: conv2(tf.tanh(conv2(x)) + y), PLANES, PLANES).ops
    assert ops.count("TRANSPOSE") == 3, ops
    # Nothing to win: one for another.
    ops = ["TRANSPOSE", "CONV_2D", "TRANSPOSE", "TANH"]
    check(lambda x: tf.tanh(conv2(x) + 0.0) * 1.0, PLANES, ops=ops)


def test_operands_of_fewer_dimensions_stay():
    row = tf.TensorSpec([6])
    assert check(lambda x, y: conv2(conv2(x) * y), PLANES, row).ops.count("TRANSPOSE") == 4
    number = tf.TensorSpec([])
    assert check(lambda x, y: conv2(conv2(x) * y), PLANES, number).ops.count("TRANSPOSE") == 2


def test_unknown_sizes():
    planes = tf.TensorSpec([None, 4, None, None])
    assert check(lambda x: conv2(tf.tanh(conv2(x))), planes).ops.count("TRANSPOSE") == 2
    check(lambda x: conv1(tf.tanh(conv1(x))), tf.TensorSpec([None, None, 4]))


def test_transposes_of_other_orders_stay():
    def fn(x):
        y = tf.tanh(tf.transpose(x, [0, 2, 3, 1]))
        return tf.transpose(y, [0, 2, 1, 3])

    # They are one behind the other once the tangent is out of the way.
    check(fn, PLANES, ops=["TRANSPOSE", "TANH", "TRANSPOSE"])


def test_a_scalar_that_becomes_a_vector():
    check(lambda x: tf.reverse(tf.reshape(tf.cast(x, tf.int32), [1]), [0]), tf.TensorSpec([], tf.int64))
    check(lambda x, y: tf.cumsum(tf.reshape(tf.tanh(x) * y, [1])), tf.TensorSpec([]), tf.TensorSpec([]))


GROUPS = tf.TensorSpec([None, 6, 5, 4])


def norm(x, groups):
    """A norm of groups of channels, as Keras writes it."""
    size, channels = tf.shape(x)[0], x.shape[-1]
    grouped = tf.reshape(x, [size, *x.shape[1:-1], groups, channels // groups])
    mean, variance = tf.nn.moments(grouped, [1, 2, 4], keepdims=True)
    factor = tf.math.rsqrt(variance + 1e-3) * draw(1, 1, 1, groups, channels // groups)
    y = grouped * factor + (draw(1, 1, 1, groups, channels // groups) - mean * factor)
    return tf.reshape(y, [size, *x.shape[1:]])


@pytest.mark.parametrize("groups", [1, 4])
def test_a_norm_of_whole_groups_needs_no_reshapes(groups):
    ops = check(lambda x: tf.nn.relu(norm(x, groups)), GROUPS).ops
    assert not {"RESHAPE", "SQUARE", "RELU"} & set(ops)


def test_a_norm_of_groups_works_on_five_dimensions():
    ops = check(lambda x: tf.nn.relu(norm(x, 2)), GROUPS).ops
    assert ops.count("RESHAPE") == 2 and "RELU" not in ops


def test_ops_along_the_dimension_of_one_stay():
    def fn(x):
        y = x[..., None]
        return (y + draw(4, 3))[..., 0], tf.concat([tf.tanh(y), y], -1)

    check(fn, GROUPS)
    check(lambda x: tf.reduce_sum(tf.exp(x[..., None]), -1), GROUPS)
    check(lambda x: tf.pad(x[..., None], [[0, 0]] * 4 + [[0, 1]]), GROUPS)
    check(lambda x: tf.nn.softmax(x[:, None] * 2.0, 1)[:, 0], GROUPS)


@pytest.mark.parametrize("use", [
    lambda y: (tf.transpose(y), y), lambda y: y - tf.transpose(y), lambda y: tf.matmul(tf.transpose(y), y),
    lambda y: tf.concat([tf.transpose(y), y], 0), lambda y: y + tf.reshape(y, [-1, 1, 3]),
], ids=["results", "difference", "product", "concatenation", "broadcast"])  # fmt: skip
@pytest.mark.parametrize("units", [0, 1])
def test_a_reader_of_a_value_in_both_forms(use, units):
    def fn(x):
        return use(tf.exp(tf.reshape(tf.abs(x), [3, 3]) if units else tf.transpose(x)))

    check(fn, tf.TensorSpec([3, *[1] * units, 3]))


def test_a_loop_that_hands_on_a_value_in_both_forms():
    def body(i, x, y):
        z = tf.tanh(tf.transpose(x))
        return i + 1, tf.transpose(z), z + y

    check(lambda x: tf.while_loop(lambda i, *_: i < 3, body, [0, x, x])[1:], tf.TensorSpec([3, 3]))
