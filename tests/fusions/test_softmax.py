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


def log_softmax(x):
    shifted = x - tf.reduce_max(x, -1, keepdims=True)
    return shifted - tf.math.log(tf.reduce_sum(tf.exp(shifted), -1, keepdims=True))


def test_softmax():
    check(softmax, X, ops=["SOFTMAX"], inputs=wide)


@pytest.mark.parametrize("fn", [log_softmax, lambda x: x - tf.reduce_logsumexp(x, -1, keepdims=True)])
def test_log_softmax(fn):
    check(fn, X, ops=["LOG_SOFTMAX"], inputs=wide)


def test_along_another_axis_it_stays():
    converted = check(lambda x: softmax(x, 1), X, inputs=wide, static=False)
    assert "SOFTMAX" not in converted.ops
    assert any(r.rule == "softmax" and r.kind == "refused" for r in converted.report.records)


def test_without_the_maximum_it_stays():
    fn = lambda x: tf.exp(x) / tf.reduce_sum(tf.exp(x), -1, keepdims=True)  # noqa: E731
    assert "SOFTMAX" not in check(fn, X, static=False).ops
