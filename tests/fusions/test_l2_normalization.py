"""L2_NORMALIZATION, where the model bounds the norm as the kernel does."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 7, 24])


def small(rng, shape, dtype):
    """Rows of very different sizes, zeros among them."""
    sizes = rng.choice([0.0, 1e-9, 1e-7, 1e-5, 1.0, 1e4], (*shape[:-1], 1))
    return (rng.standard_normal(shape) * sizes).astype(dtype)



FORMS = {
    "tf": lambda x: tf.math.l2_normalize(x, -1),
    "tf, axis from the front": lambda x: tf.math.l2_normalize(x, 2),
    "divided": lambda x: x / tf.sqrt(tf.maximum(tf.reduce_sum(x * x, -1, keepdims=True), 1e-12)),
    "bounded norm": lambda x: x / tf.maximum(tf.sqrt(tf.reduce_sum(x * x, -1, keepdims=True)), 1e-6),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    check(FORMS[form], X, ops=["L2_NORMALIZATION"], inputs=small)


@pytest.mark.parametrize(
    "other",
    [
        lambda x: tf.math.l2_normalize(x, -1, epsilon=1e-6),
        lambda x: tf.math.l2_normalize(x, 1),
        lambda x: tf.math.l2_normalize(x, [1, 2]),
        lambda x: x / tf.maximum(tf.sqrt(tf.reduce_sum(x * x, -1, keepdims=True)), 1e-12),
    ],
)
def test_others_stay(other):
    converted = check(other, X, inputs=small, static=False)
    assert "L2_NORMALIZATION" not in converted.ops
    assert any(r.rule == "l2_normalization" and r.kind == "refused" for r in converted.report.records)


def test_without_a_bound_it_stays():
    converted = check(lambda x: x / tf.norm(x, axis=-1, keepdims=True), X, static=False)
    assert "L2_NORMALIZATION" not in converted.ops
    np.testing.assert_array_equal(converted.ops.count("DIV"), 1)


@pytest.mark.parametrize("largest", [1e7, 1e12, 0.5])
@pytest.mark.parametrize("axes", [[-1], [1], [1, 2]], ids=str)
def test_a_bounded_reciprocal_of_the_norm(largest, axes):
    def keras_form(x):
        return x * tf.minimum(tf.math.rsqrt(tf.reduce_sum(tf.square(x), axes, keepdims=True)), largest)

    check(keras_form, X, ops=["MUL", "SUM", "MAXIMUM", "RSQRT", "MUL"], inputs=small, static=False)


@pytest.mark.parametrize("largest", [1e-21, 1e20])
def test_a_bound_without_a_square_stays(largest):
    check(lambda x: tf.minimum(tf.math.rsqrt(tf.reduce_sum(x * x, -1)), largest) * (1 / largest), X, static=False)


def test_a_bounded_reciprocal_of_another_sum_stays():
    converted = check(lambda x: tf.minimum(tf.math.rsqrt(tf.reduce_sum(tf.abs(x), -1)), 1e7), X, static=False)
    assert "MAXIMUM" not in converted.ops
