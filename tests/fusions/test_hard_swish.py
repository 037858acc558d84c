"""HARD_SWISH, as Keras and tf-slim write it."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 6, 5])
FORMS = {
    "keras": lambda x: x * (tf.nn.relu6(x + 3.0) / 6.0),
    "mobilenet": lambda x: x * (tf.nn.relu6(x + 3.0) * (1.0 / 6.0)),
    "sixth last": lambda x: x * tf.nn.relu6(x + 3.0) / 6.0,
    "sixth last, a factor": lambda x: x * tf.nn.relu6(3.0 + x) * 0.16666667,
    "sixth first": lambda x: (x * 0.16666667) * tf.nn.relu6(x + 3.0),
    "clipped": lambda x: x * (tf.clip_by_value(x + 3.0, 0.0, 6.0) / 6.0),
}


def wide(rng, shape, dtype):
    return (rng.standard_normal(shape) * 4).astype(dtype)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    check(FORMS[form], X, ops=["HARD_SWISH"], inputs=wide)


def test_the_gate_of_another_value_stays():
    x = tf.TensorSpec([None, 6, 5])
    assert "HARD_SWISH" not in check(lambda x, y: x * (tf.nn.relu6(y + 3.0) / 6.0), x, x, static=False, inputs=wide).ops


def test_a_gate_that_is_read_elsewhere_stays():
    def fn(x):
        gate = tf.nn.relu6(x + 3.0) / 6.0
        return x * gate, gate

    assert "HARD_SWISH" not in check(fn, X, static=False, inputs=wide).ops


def test_another_bound_stays():
    assert "HARD_SWISH" not in check(lambda x: x * (tf.nn.relu6(x + 2.5) / 6.0), X, static=False, inputs=wide).ops
