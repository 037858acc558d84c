"""Constants and activations that pass reshapes and transposes on their way to weights."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
SEQUENCE = tf.TensorSpec([None, 12, 4])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


W, B, WF = draw(3, 4, 6), draw(6), draw(4, 6)


def conv(x, padding="SAME"):
    return tf.nn.conv1d(x, W, 1, padding)


def test_one_dimension():
    check(lambda x: tf.nn.relu(conv(x) * B + B), SEQUENCE, ops=["RESHAPE", "CONV_2D", "RESHAPE"])


def test_keras_layer():
    import keras

    model = keras.Sequential([keras.layers.Conv1D(6, 3), keras.layers.BatchNormalization(), keras.layers.ReLU()])
    model.build((None, 12, 4))
    for number, weight in enumerate(model.weights):
        weight.assign(tf.random.stateless_uniform(weight.shape, [number, 1], 0.1, 1.0))
    check(model, SEQUENCE, ops=["RESHAPE", "CONV_2D", "RESHAPE"])


def test_heads():
    bias, scale = draw(2, 3), draw(3)
    heads = lambda x: tf.reshape(tf.matmul(x, WF), [-1, 12, 2, 3])  # noqa: E731
    check(lambda x: heads(x) + bias, SEQUENCE, ops=["FULLY_CONNECTED", "RESHAPE"])
    ops = ["FULLY_CONNECTED", "RESHAPE", "TRANSPOSE"]
    check(lambda x: tf.transpose(heads(x) * scale, [0, 2, 1, 3]) * draw(2, 1, 1), SEQUENCE, ops=ops)


def test_constants_along_other_dimensions_stay():
    check(lambda x: conv(x) + draw(12, 1), SEQUENCE, ops=["RESHAPE", "CONV_2D", "RESHAPE", "ADD"], static=False)
    flat = lambda x: tf.reshape(tf.matmul(x, WF), [-1, 72])  # noqa: E731
    check(lambda x: flat(x) * draw(72), SEQUENCE, ops=["FULLY_CONNECTED", "RESHAPE", "MUL"], static=False)


def test_another_reader_keeps_them_behind():
    def fn(x):
        y = conv(x)
        return y, y * B

    check(fn, SEQUENCE, ops=["RESHAPE", "CONV_2D", "RESHAPE", "MUL"], static=False)


def test_attention_scale():
    wq, wk = draw(4, 6), draw(4, 6)

    def split(x, w):
        return tf.transpose(tf.reshape(tf.matmul(x, w), [-1, 12, 2, 3]), [0, 2, 1, 3])

    def scores(x):
        return tf.matmul(split(x, wq), split(x, wk), transpose_b=True) * 0.57735

    assert "MUL" not in check(scores, SEQUENCE).ops


def test_the_scale_of_a_product_of_inputs_stays():
    x = tf.TensorSpec([None, 4, 4])
    check(lambda x, y: tf.matmul(x, y) * 0.5, x, x, ops=["BATCH_MATMUL", "MUL"], static=False)


def test_an_activation_moves_to_a_sum():
    flat = lambda x, y: tf.reshape(x + y, [-1, 48])  # noqa: E731
    check(lambda x, y: tf.nn.relu(flat(x, y)), SEQUENCE, SEQUENCE, ops=["ADD", "RESHAPE"])
    check(lambda x, y: tf.nn.relu(tf.nn.relu6(flat(x, y))), SEQUENCE, SEQUENCE, ops=["ADD", "RESHAPE"])
    check(lambda x, y: tf.nn.tanh(flat(x, y)), SEQUENCE, SEQUENCE, ops=["ADD", "RESHAPE", "TANH"])
