"""GELU, in the ways in which Keras, TensorFlow and ports of PyTorch write it."""

import math

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 7, 5])
R2 = math.sqrt(2)


def wide(rng, shape, dtype):
    return (rng.standard_normal(shape) * 4).astype(dtype)


EXACT = {
    "keras3": lambda x: 0.5 * x * tf.math.erfc(-x * math.sqrt(0.5)),
    "tf": lambda x: tf.nn.gelu(x),
    "torch": lambda x: x * 0.5 * (1.0 + tf.math.erf(x / R2)),
    "bert": lambda x: x * (0.5 * (1.0 + tf.math.erf(x / R2))),
    "late half": lambda x: (x * (tf.math.erf(x * 0.70710678) + 1.0)) * 0.5,
    "halved by division": lambda x: x * (tf.math.erf(x / R2) + 1.0) / 2.0,
    "rank 0 constants as vectors": lambda x: x * tf.constant([0.5]) * (tf.constant([1.0]) + tf.math.erf(x / R2)),
}
APPROXIMATE = {
    "tf": lambda x: tf.nn.gelu(x, approximate=True),
    "gpt2": lambda x: x * (0.5 * (1.0 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * tf.pow(x, 3))))),
    "cube by products": lambda x: 0.5 * x * (1.0 + tf.tanh(0.79788456 * (x + 0.044715 * x * x * x))),
    "factored": lambda x: 0.5 * x * (1.0 + tf.tanh(0.7978845608 * x * (1.0 + 0.044715 * x * x))),
}


@pytest.mark.parametrize("form", EXACT)
def test_exact_forms(form):
    converted = check(EXACT[form], X, ops=["GELU"], inputs=wide)
    assert converted.report.records[-1].kind != "refused"


@pytest.mark.parametrize("form", APPROXIMATE)
def test_approximate_forms(form):
    check(APPROXIMATE[form], X, ops=["GELU"], inputs=wide)


@pytest.mark.parametrize(
    "almost",
    [
        lambda x: 0.5 * x * (1.0 + tf.math.erf(x / 1.41)),
        lambda x: 0.5 * x * (1.001 + tf.math.erf(x / R2)),
        lambda x: 0.5 * x * (1.0 + tf.tanh(0.7978845608 * (x + 0.0447 * tf.pow(x, 3)))),
        lambda x: x * tf.sigmoid(1.702 * x),
        lambda x: 0.5 * (x + 1) * (1.0 + tf.math.erf(x / R2)),
    ],
)
def test_what_is_almost_gelu_stays(almost):
    assert "GELU" not in check(almost, X, static=False).ops


def test_what_other_activations_read_of_x_alone_stays_for_them():
    fused = lambda *ops, kind=tf.nn.gelu: lambda x: (kind(x), *(op(x) for op in ops))  # noqa: E731
    assert "GELU" in check(fused(tf.math.log_sigmoid, tf.negative), X, inputs=wide).ops
    assert check(fused(tf.negative, tf.square, kind=APPROXIMATE["gpt2"]), X, inputs=wide).ops.count("GELU") == 1
    half = check(lambda x: (EXACT["torch"](x), x * 0.5, x / R2), X, inputs=wide)
    assert sorted(half.ops) == ["GELU", "MUL", "MUL"]


def test_a_part_that_is_read_elsewhere_keeps_the_ops():
    def fn(x):
        cdf = 0.5 * (1.0 + tf.math.erf(x / R2))
        return x * cdf, cdf

    assert "GELU" not in check(fn, X, static=False).ops


def test_a_constant_that_adds_a_dimension_is_refused():
    converted = check(lambda x: x * tf.fill([1, 1, 1, 1], 0.5) * (1.0 + tf.math.erf(x / R2)), X, static=False)
    assert "GELU" not in converted.ops
    assert any(r.rule == "gelu" and r.kind == "refused" for r in converted.report.records)
