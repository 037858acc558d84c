"""Logarithms beside constants, of whole numbers and of the slope of tanh, however large x is."""

import math
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.fusions.test_mish import wide

X = tf.TensorSpec([None, 6, 5])
SOFTPLUS = ["LEAKY_RELU", "LOGISTIC", "LOG", "RELU", "SUB"]


@pytest.mark.parametrize("c", [1.0, -0.5, [0.5, 1, 2, 3, 4], -math.log(2)], ids=str)
@pytest.mark.parametrize("function", [lambda x, c: tf.nn.softplus(x) + c, lambda x, c: tf.nn.softplus(x) - c,
                                      lambda x, c: c - tf.nn.softplus(x)], ids=["sum", "less", "rest"])  # fmt: skip
def test_softplus_beside_a_constant(function, c):
    converted = check(lambda x: function(x, tf.constant(c, tf.float32)), X, inputs=wide, atol=1e-6)
    rest = Counter(converted.ops) - Counter(SOFTPLUS)
    assert rest in (Counter(["ADD"]), Counter(["SUB"]))


def test_a_logarithm_beside_a_constant():
    check(lambda x: 1.0 + tf.math.log1p(tf.abs(x)), X, ops=["ABS", "ADD", "LOG", "ADD"], atol=1e-6)


@pytest.mark.parametrize("c", [0.25, [1, 1, 1, 1, 0.4], 0.0], ids=str)
def test_small_constants_leave_the_digits_of_small_results(c):
    converted = check(lambda x: tf.nn.softplus(x - 12.0) + tf.constant(c, tf.float32), X, atol=1e-6)
    assert "LOG" not in converted.ops


def test_a_softplus_that_others_read_keeps_its_digits():
    def function(x):
        evidence = tf.nn.softplus(x - 12.0)
        return evidence, evidence + 1.0

    assert "LOG" not in check(function, X, atol=1e-6).ops


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64, tf.uint8, tf.bool])
def test_whole_numbers(dtype):
    def draw(rng, shape, dtype):
        return rng.choice([0, 1, 2, 100, 2**24 + 1] if np.dtype(dtype).itemsize > 1 else [0, 1], shape).astype(dtype)

    spec = tf.TensorSpec([None, 7], dtype)
    check(lambda n: tf.math.log1p(tf.cast(n, tf.float32)), spec, inputs=draw, ops=["CAST", "ADD", "LOG"], atol=1e-6)


def test_numbers_of_16_bits_are_no_whole_ones():
    assert "TANH" in check(lambda x: tf.math.log1p(tf.cast(tf.abs(x), tf.float32)), tf.TensorSpec([3], tf.float16)).ops


def test_the_slope_of_tanh():
    def function(x):
        return tf.reduce_sum(2.0 * (np.float32(math.log(2)) - x - tf.nn.softplus(-2.0 * x)), -1), tf.tanh(x)

    converted = check(function, X, inputs=wide, atol=1e-6)
    assert "ELU" not in converted.ops and converted.ops.count("LOGISTIC") == 1
