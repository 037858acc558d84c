"""SOFTMAX and LOG_SOFTMAX, written out."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 7, 11])


def wide(rng, shape, dtype):
    return (rng.standard_normal(shape) * 30).astype(dtype)


def softmax(x, axis=-1):
    power = tf.exp(x - tf.reduce_max(x, axis, keepdims=True))
    return power / tf.reduce_sum(power, axis, keepdims=True)


def log_softmax(x, axis=-1):
    shifted = x - tf.reduce_max(x, axis, keepdims=True)
    return shifted - tf.math.log(tf.reduce_sum(tf.exp(shifted), axis, keepdims=True))


def test_softmax():
    check(softmax, X, ops=["SOFTMAX"], inputs=wide)


@pytest.mark.parametrize("fn", [softmax, lambda x: tf.exp(log_softmax(x))])
def test_along_one_axis_of_an_unknown_size(fn):
    check(fn, tf.TensorSpec([None, 7, None]), ops=["SOFTMAX"], inputs=wide, static=False)


@pytest.mark.parametrize("fn", [log_softmax, lambda x: x - tf.reduce_logsumexp(x, -1, keepdims=True)])
def test_log_softmax(fn):
    check(fn, X, ops=["LOG_SOFTMAX"], inputs=wide)


@pytest.mark.parametrize("shape", [[None, 1025], [None, None, 4]])
def test_the_logarithm_of_many_elements_stays(shape):
    converted = check(log_softmax, tf.TensorSpec(shape), inputs=wide)
    assert "LOG_SOFTMAX" not in converted.ops


LOGARITHMS = [
    lambda x, axes: tf.exp(x - tf.reduce_logsumexp(x, axes, keepdims=True)),
    lambda x, axes: tf.exp(log_softmax(x, axes)),
]


@pytest.mark.parametrize("fn", [softmax, *LOGARITHMS])
def test_along_several_axes(fn):
    image = tf.TensorSpec([None, 3, 7, 5])
    check(lambda x: fn(x, [2, 3]), image, ops=["RESHAPE", "SOFTMAX", "RESHAPE"], inputs=wide)
    check(lambda x: fn(x, [-1, -3, -2]), image, ops=["RESHAPE", "SOFTMAX", "RESHAPE"], inputs=wide)
    check(lambda x: fn(x, [-1]), image, ops=["SOFTMAX"], inputs=wide)
    check(lambda x: fn(x, [-1]), tf.TensorSpec([None, 2, 3, 1, 5]), ops=["SOFTMAX"], inputs=wide)


@pytest.mark.parametrize("fn", [softmax, *LOGARITHMS])
def test_along_several_axes_of_unknown_sizes_it_stays(fn):
    assert "SOFTMAX" not in check(lambda x: fn(x, [1, 2]), tf.TensorSpec([2, None, 5]), inputs=wide, static=False).ops
    assert "SOFTMAX" not in check(lambda x: fn(x, [1, 2]), tf.TensorSpec([2, 3, 5, 4]), inputs=wide).ops


def test_a_layer_over_several_axes():
    import keras

    check(keras.layers.Softmax((1, 2)), X, ops=["RESHAPE", "SOFTMAX", "RESHAPE"], inputs=wide)


def test_along_another_axis_it_stays():
    converted = check(lambda x: softmax(x, 1), X, inputs=wide, static=False)
    assert "SOFTMAX" not in converted.ops
    assert any(r.rule == "softmax" and r.kind == "refused" for r in converted.report.records)


def test_without_the_maximum_it_stays():
    fn = lambda x: tf.exp(x) / tf.reduce_sum(tf.exp(x), -1, keepdims=True)  # noqa: E731
    assert "SOFTMAX" not in check(fn, X, static=False).ops
