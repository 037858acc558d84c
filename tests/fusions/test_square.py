"""SQUARED_DIFFERENCE and RSQRT."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 6, 5])


def positive(rng, shape, dtype):
    return rng.uniform(0.1, 9.0, shape).astype(dtype)


@pytest.mark.parametrize("fn", [lambda x, y: tf.square(x - y), lambda x, y: (x - y) * (x - y)])
def test_squared_difference(fn):
    check(fn, X, X, ops=["SQUARED_DIFFERENCE"])
    check(fn, X, tf.TensorSpec([5]), ops=["SQUARED_DIFFERENCE"], static=False)


def test_a_difference_that_is_read_elsewhere_stays():
    assert "SQUARED_DIFFERENCE" not in check(lambda x, y: (tf.square(x - y), x - y), X, X, static=False).ops


def test_five_dimensions_stay():
    x = tf.TensorSpec([None, 2, 3, 4, 5])
    assert "SQUARED_DIFFERENCE" not in check(lambda x, y: tf.square(x - y), x, tf.TensorSpec([5]), static=False).ops


@pytest.mark.parametrize("fn", [lambda x: 1.0 / tf.sqrt(x), lambda x: tf.math.reciprocal(tf.sqrt(x))])
def test_reciprocal_root(fn):
    check(lambda x: fn(x + 0.1), X, ops=["ADD", "RSQRT"], inputs=positive)
    check(lambda x: fn(tf.maximum(x, 0.1)), X, ops=["MAXIMUM", "RSQRT"], inputs=positive)


def test_the_root_of_what_may_be_0_is_divided_by():
    check(lambda x: 1.0 / tf.sqrt(x), X, ops=["SQRT", "DIV"], inputs=positive)


def test_numbers_are_multiplied_by_a_reciprocal_root():
    rows = tf.TensorSpec([None, 6, 1])
    check(lambda y, x: y / tf.sqrt(x + 0.1), X, rows, ops=["ADD", "RSQRT", "MUL"], inputs=positive)
    check(lambda y, x: tf.nn.relu(y / tf.sqrt(x + 0.1)), X, rows, inputs=positive)
    check(lambda y, x: y / tf.sqrt(x), X, rows, ops=["SQRT", "DIV"], inputs=positive)

    def read_twice(y, x):
        root = tf.sqrt(x + 0.1)
        return y / root, root

    check(read_twice, X, rows, ops=["ADD", "SQRT", "DIV"], inputs=positive)


def test_squares():
    check(lambda x: x * x, X, ops=["MUL"])
    for fn in (lambda x, y: (x - y, tf.square(x - y)), lambda x, y: (x - y, tf.square(y - x))):
        check(fn, X, tf.TensorSpec([5]), ops=["SUB", "MUL"])
    check(lambda x, y: (x - y, tf.math.squared_difference(x, y)), X, tf.TensorSpec([5]), ops=["SUB", "MUL"])
    check(lambda x: tf.reduce_mean(x * x, -1), X, ops=["MUL", "MEAN"])


def test_other_products_stay():
    check(lambda x, y: (x + y, tf.square(y - x)), X, X, ops=["ADD", "SQUARED_DIFFERENCE"], static=False)
    check(lambda x: tf.nn.relu(x * x), X, static=False)
    check(lambda x: x * x, tf.TensorSpec([None, 6], tf.int32), ops=["MUL"])


def test_five_dimensions_are_subtracted():
    x = tf.TensorSpec([None, 2, 3, 4, 5])
    check(tf.math.squared_difference, x, tf.TensorSpec([4, 1]), ops=["SUB", "MUL"], static=False)
