"""Parity of composed functions, near zero and far from it."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

# What each function is given.
SPANS = {
    tf.math.expm1: (-20, 20), tf.math.log1p: (-0.999, 50), tf.math.erf: (-6, 6), tf.math.erfc: (-6, 3),
    tf.math.asin: (-1, 1), tf.math.acos: (-1, 1), tf.math.atan: (-50, 50), tf.math.sinh: (-89, 89),
    tf.math.cosh: (-89, 89), tf.math.asinh: (-50, 50), tf.math.acosh: (1, 50), tf.math.atanh: (-0.999, 0.999),
    tf.math.tan: (-1.5, 1.5),
}  # fmt: skip


@pytest.mark.parametrize("op", SPANS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_span(op, dtype):
    low, high = SPANS[op] if dtype is tf.float32 else np.clip(SPANS[op], -8, 8)

    def draw(rng, shape, numpy_type):
        return rng.uniform(low, high, shape).astype(numpy_type)

    check(op, tf.TensorSpec([None, 41], dtype), inputs=draw)


@pytest.mark.parametrize("op", [tf.math.expm1, tf.math.erf, tf.math.asin, tf.math.atan, tf.math.sinh, tf.math.tan])
def test_relative_error_near_zero(op):
    def tiny(rng, shape, numpy_type):
        return (rng.uniform(-1e-6, 1e-6, shape)).astype(numpy_type)

    check(op, tf.TensorSpec([None, 41]), inputs=tiny)


@pytest.mark.parametrize("op", [tf.math.asinh, tf.math.acosh])
def test_large_numbers(op):
    large = np.array([1e8, 1e10, 1e20, 3e38], np.float32)
    check(op, tf.TensorSpec([4]), inputs=[large])


def test_inverse_of_erf():
    # Nearer to 1 TensorFlow's own is off by a part in a thousand.
    ends = np.array([-1, -0.999, -0.9, -1e-4, 0, 1e-4, 0.9, 0.999, 1], np.float32)
    check(tf.math.erfinv, tf.TensorSpec([9]), inputs=[ends])
    check(lambda x: tf.raw_ops.Ndtri(x=x), tf.TensorSpec([9]), inputs=[ends * 0.499 + 0.5])

    def draw(rng, shape, numpy_type):
        return rng.uniform(-0.99, 0.99, shape).astype(numpy_type)

    check(tf.math.erfinv, tf.TensorSpec([None, 41]), inputs=draw)
