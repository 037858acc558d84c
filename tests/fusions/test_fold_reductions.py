"""Reductions whose results are reshaped."""

import tensorflow as tf

from fuseconv.testing import check

IMAGE = tf.TensorSpec([None, 5, 6, 4])


def test_dimensions_are_kept():
    check(lambda x: tf.reshape(tf.reduce_mean(x, [1, 2]), [-1, 1, 1, 4]), IMAGE, ops=["MEAN"])
    check(lambda x: tf.expand_dims(tf.reduce_sum(x, -1), -1), IMAGE, ops=["SUM"])
    check(lambda x: tf.reduce_max(x, 1)[:, None], tf.TensorSpec([None, None, 4]), ops=["REDUCE_MAX"])


def test_dimensions_are_dropped():
    check(lambda x: tf.reshape(tf.reduce_min(x, [1, 2], keepdims=True), [-1, 4]), IMAGE, ops=["REDUCE_MIN"])
    check(lambda x: tf.squeeze(tf.reduce_prod(x, [2], keepdims=True), 2), IMAGE, ops=["REDUCE_PROD"])
    fn = lambda x: tf.squeeze(tf.reduce_any(x > 0, 1, keepdims=True), 1)  # noqa: E731
    check(fn, IMAGE, ops=["GREATER", "REDUCE_ANY"])


def test_squeeze_and_excitation():
    import keras

    image = keras.Input((5, 6, 4))
    x = keras.layers.GlobalAveragePooling2D()(image)
    x = keras.layers.Reshape((1, 1, 4))(x)
    x = keras.layers.Conv2D(2, 1, activation="relu", bias_initializer="normal")(x)
    x = keras.layers.Conv2D(4, 1, activation="sigmoid", bias_initializer="normal")(x)
    model = keras.Model(image, keras.layers.Multiply()([image, x]))
    check(model, IMAGE, ops=["MEAN", "CONV_2D", "CONV_2D", "LOGISTIC", "MUL"])


def test_other_dimensions_stay():
    check(lambda x: tf.reshape(tf.reduce_mean(x, [1, 2]), [-1, 4, 1]), IMAGE, ops=["MEAN", "RESHAPE"])
    check(lambda x: tf.reduce_mean(x, 1)[:, None, None], IMAGE, ops=["MEAN", "RESHAPE"])
    square = tf.TensorSpec([None, 4, 4])
    check(lambda x: tf.reshape(tf.reduce_sum(x, 1), [-1, 4, 1]), square, ops=["SUM", "RESHAPE"])


def test_dimensions_that_are_given_back_one_by_one():
    rows = tf.TensorSpec([4, 3, 5])
    check(lambda x: x - tf.reduce_max(x, [1, 2])[:, None][:, None], rows, ops=["REDUCE_MAX", "SUB"])
    check(lambda x: tf.vectorized_map(lambda row: row - tf.reduce_max(row), x), rows, ops=["REDUCE_MAX", "SUB"])


def test_another_reader_keeps_the_reshape():
    def fn(x):
        y = tf.reduce_mean(x, [1, 2])
        return y, tf.reshape(y, [-1, 1, 1, 4])

    check(fn, IMAGE, ops=["MEAN", "RESHAPE"])


def test_a_sum_by_the_number_of_its_terms():
    check(lambda x: tf.reduce_sum(x, [1, 2]) / 30, IMAGE, ops=["MEAN"])
    check(lambda x: tf.reduce_sum(x, -1, keepdims=True) * 0.25, IMAGE, ops=["MEAN"])
    check(lambda x: tf.nn.relu(tf.reduce_sum(x, [1, 2]) / 30), IMAGE, ops=["MEAN", "RELU"])


def test_a_sum_by_another_number():
    check(lambda x: tf.reduce_sum(x, [1, 2]) / 31, IMAGE, ops=["SUM", "MUL"])
    check(lambda x: tf.reduce_sum(x, [1, 2]) / tf.constant([30.0, 1.0, 2.0, 3.0]), IMAGE, ops=["SUM", "MUL"])
    assert "MEAN" not in check(lambda x: tf.reduce_sum(x, 0) / 3, IMAGE).ops
    assert "MEAN" not in check(lambda x: tf.reduce_sum(x, [1, 2], keepdims=True) / tf.fill([5, 1, 1], 30.0), IMAGE).ops
