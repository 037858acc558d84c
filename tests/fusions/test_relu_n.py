"""Maxima and minima that are activations."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 6, 5])
FORMS = {
    "RELU": lambda x: tf.maximum(x, 0.0),
    "RELU6": lambda x: tf.minimum(tf.maximum(x, 0.0), 6.0),
    "RELU6 of relu": lambda x: tf.minimum(tf.nn.relu(x), 6.0),
    "RELU6 clipped": lambda x: tf.clip_by_value(x, 0.0, 6.0),
    "RELU_N1_TO_1": lambda x: tf.maximum(tf.minimum(x, 1.0), -1.0),
    "RELU_N1_TO_1 the other way round": lambda x: tf.minimum(tf.maximum(-1.0, x), 1.0),
    "RELU_0_TO_1": lambda x: tf.minimum(tf.nn.relu(x), 1.0),
}


def wide(rng, shape, dtype):
    return (rng.standard_normal(shape) * 5).astype(dtype)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    check(FORMS[form], X, ops=[form.split()[0]], inputs=wide)


def test_integers_stay():
    x = tf.TensorSpec([None, 5], tf.int32)
    assert check(lambda x: tf.maximum(x, 0), x, static=False).ops == ["MAXIMUM"]


def test_other_bounds_stay_and_say_why():
    converted = check(lambda x: tf.clip_by_value(x, -2.0, 2.0), X, static=False, inputs=wide)
    assert sorted(converted.ops) == ["MAXIMUM", "MINIMUM"]


def test_bounds_for_each_element_stay():
    bounds = tf.constant([1.0, 2.0, 3.0, 4.0, 6.0])
    assert "RELU6" not in check(lambda x: tf.minimum(tf.nn.relu(x), bounds), X, static=False, inputs=wide).ops


def test_behind_a_convolution_they_are_its_activation():
    w = tf.random.stateless_normal([3, 3, 4, 6], [1, 2])
    x = tf.TensorSpec([None, 8, 8, 4])
    for clamp in (FORMS["RELU6"], FORMS["RELU_N1_TO_1"], FORMS["RELU"]):
        check(lambda x, clamp=clamp: clamp(tf.nn.conv2d(x, w, 1, "SAME")), x, ops=["CONV_2D"], static=False)
