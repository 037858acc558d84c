"""LEAKY_RELU and PRELU."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, convert_function

X = tf.TensorSpec([None, 6, 5])
SLOPES = np.array([0.1, 0.5, -0.3, 0.9, 0.0], np.float32)
STEEP = np.array([0.1, 2.5, -0.3, 0.9, 0.0], np.float32)


@pytest.mark.parametrize("slope", [0.2, 0.0, 0.999, -0.5])
def test_maximum(slope):
    check(lambda x: tf.maximum(x, slope * x), X, ops=["LEAKY_RELU"], static=False)


def test_maximum_with_a_steep_slope_stays():
    # TensorFlow takes this for a leaky relu whatever the slope is, so there is nothing to compare with.
    assert sorted(convert_function(lambda x: tf.maximum(x, 1.5 * x), X).ops) == ["MAXIMUM", "MUL"]
    converted = check(lambda x: tf.maximum(x, STEEP * x), X, ops=["MAXIMUM", "MUL"], static=False)
    assert any(r.kind == "refused" and "slope is above 1" in r.why for r in converted.report.records)


def test_a_slope_a_channel():
    check(lambda x: tf.maximum(x, SLOPES * x), X, ops=["PRELU"])


@pytest.mark.parametrize("slopes", [SLOPES, STEEP, np.float32(0.3), STEEP.reshape(1, 5), np.full((6, 5), 0.4, "f4")])
def test_keras_form(slopes):
    op = "PRELU" if slopes.size > 1 else "LEAKY_RELU"
    check(lambda x: tf.nn.relu(x) + -slopes * tf.nn.relu(-x), X, ops=[op], static=False)
    check(lambda x: tf.nn.relu(x) - slopes * tf.nn.relu(-x), X, ops=[op], static=False)


@pytest.mark.parametrize("slopes", [SLOPES, STEEP, np.float32(0.3)])
def test_two_parts(slopes):
    op = "PRELU" if slopes.size > 1 else "LEAKY_RELU"
    for form in (
        lambda x: tf.maximum(x, 0.0) + slopes * tf.minimum(x, 0.0),
        lambda x: tf.nn.relu(x) + slopes * (x - tf.abs(x)) * 0.5,
        lambda x: slopes * (0.5 * (x - tf.abs(x))) + tf.nn.relu(x),
    ):
        check(form, X, ops=[op], static=False)


def test_other_parts_stay():
    for form in (
        lambda x: tf.nn.relu(x) + SLOPES * tf.minimum(x, 1.0),
        lambda x: tf.nn.relu(x) + SLOPES * tf.minimum(x + 1, 0.0),
        lambda x: tf.nn.relu(x) + SLOPES * (x - tf.abs(x)) * 0.25,
        lambda x: tf.nn.relu(x) + SLOPES * (tf.abs(x) - x) * 0.5,
    ):
        assert "PRELU" not in check(form, X, static=False).ops


def test_keras_layer():
    import keras

    layer = keras.layers.PReLU(shared_axes=[1, 2], alpha_initializer="random_normal")
    layer.build((None, 8, 8, 3))
    check(layer, tf.TensorSpec([None, 8, 8, 3]), ops=["PRELU"])


def test_selected():
    check(lambda x: tf.where(x > 0, x, 0.3 * x), X, ops=["LEAKY_RELU"], static=False)
    check(lambda x: tf.where(x >= 0, x, STEEP * x), X, ops=["PRELU"], static=False)
    check(lambda x: tf.where(x < 0, STEEP * x, x), X, ops=["PRELU"], static=False)
    assert "PRELU" not in check(lambda x: tf.where(x < 0, x, STEEP * x), X, static=False).ops


def test_slopes_that_are_fed():
    check(lambda x, a: tf.nn.relu(x) - a * tf.nn.relu(-x), X, tf.TensorSpec([5]), ops=["PRELU"], static=False)


def test_slopes_that_would_enlarge_the_data_stay():
    x = tf.TensorSpec([None, 1, 5])
    slopes = np.full((4, 5), 0.3, np.float32)
    assert "PRELU" not in check(lambda x: tf.nn.relu(x) - slopes * tf.nn.relu(-x), x, static=False).ops
