"""Parity of activation functions."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def wide(rng, shape, dtype):
    """Values from every part of an activation's domain, its kinks among them."""
    values = rng.standard_normal(shape) * rng.choice([0.1, 1, 10, 100], shape)
    return np.where(rng.random(shape) < 0.1, rng.choice([0, 6], shape), values).astype(dtype)


ACTIVATIONS = {
    "Relu": (tf.nn.relu, ["RELU"]),
    "Relu6": (tf.nn.relu6, ["RELU6"]),
    "LeakyRelu": (tf.nn.leaky_relu, ["LEAKY_RELU"]),
    "LeakyRelu of another slope": (lambda x: tf.nn.leaky_relu(x, 1.7), ["LEAKY_RELU"]),
    "Elu": (tf.nn.elu, ["ELU"]),
    "Selu": (tf.nn.selu, ["ELU", "LEAKY_RELU", "MUL"]),
    "Softplus": (tf.nn.softplus, None),
    "Softsign": (tf.nn.softsign, ["ABS", "ADD", "DIV"]),
    "Softmax": (tf.nn.softmax, ["SOFTMAX"]),
    "LogSoftmax": (tf.nn.log_softmax, ["LOG_SOFTMAX"]),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(None, 7), (None, None, 3, 5)])
def test_activation(name, shape):
    function, ops = ACTIVATIONS[name]
    check(function, spec(*shape), ops=ops, inputs=wide)


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_activation_in_half_precision(name, dtype):
    # TensorFlow rounds each step on its way to the result, the file only the result.
    check(ACTIVATIONS[name][0], spec(None, 7, dtype=dtype), atol=3e-2)


@pytest.mark.parametrize("shape", [(7,), (2, 1, 3, 2, 5)])
@pytest.mark.parametrize("function", [tf.nn.softmax, tf.nn.log_softmax])
def test_softmax_of_any_rank(function, shape):
    check(function, spec(*shape))


@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.elu, tf.nn.leaky_relu, tf.nn.softplus])
def test_activation_of_a_scalar(function):
    check(function, spec())


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.int64])
@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.relu6])
def test_rectifiers_of_integers(dtype, function):
    check(function, spec(None, 7, dtype=dtype))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_float64_is_refused(name):
    check_refused(ACTIVATIONS[name][0], spec(2, 7, dtype=tf.float64), match="float64")
