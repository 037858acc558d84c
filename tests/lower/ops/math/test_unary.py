"""Parity of ops on one operand."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
HALVES = [tf.float16, tf.bfloat16]


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def above_zero(rng, shape, dtype):
    return rng.uniform(0.1, 4, shape).astype(dtype)


ANY = {
    "ABS": tf.abs, "NEG": tf.negative, "SIGN": tf.sign, "EXP": tf.exp, "SIN": tf.sin, "COS": tf.cos, "TANH": tf.tanh,
    "LOGISTIC": tf.sigmoid, "FLOOR": tf.floor, "CEIL": tf.math.ceil, "ROUND": tf.round, "MUL": tf.square,
}  # fmt: skip
POSITIVE = {"SQRT": tf.sqrt, "LOG": tf.math.log, "DIV": tf.math.reciprocal}


@pytest.mark.parametrize("op", ANY)
def test_one_kernel(op):
    check(ANY[op], spec(None, 3, 5), ops=[op])


@pytest.mark.parametrize("op", POSITIVE)
def test_one_kernel_of_positive_numbers(op):
    check(POSITIVE[op], spec(None, 3, 5), ops=[op], inputs=above_zero)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
@pytest.mark.parametrize("op", [tf.math.rsqrt, lambda x: tf.pow(x, -0.5)], ids=["rsqrt", "pow"])
def test_reciprocal_root(op, dtype):
    degrees = np.array([0, 1, 2, 3, 0.25], dtype.as_numpy_dtype)
    check(op, spec(5, dtype=dtype), inputs=[degrees])
    check(op, spec(5, dtype=dtype), inputs=[np.array([np.inf, np.nan, -1, 5, 6e-5], dtype.as_numpy_dtype)])
    # Graph networks leave out nodes without neighbors like this.
    check(lambda x: tf.where(tf.math.is_inf(op(x)), tf.zeros_like(x), op(x)), spec(5, dtype=dtype), inputs=[degrees])


@pytest.mark.parametrize("dtype", [tf.float64, tf.complex128], ids=lambda t: t.name)
@pytest.mark.parametrize("op", [tf.math.rsqrt, lambda x: tf.pow(x, -0.5)], ids=["rsqrt", "pow"])
def test_no_reciprocal_root_loses_digits(op, dtype):
    check_refused(op, spec(5, dtype=dtype), match=f"on {dtype.name}")


def test_reciprocal_root_of_what_is_not_0():
    check(lambda x: tf.math.rsqrt(tf.maximum(x, 1e-6)), spec(None, 5), ops=["MAXIMUM", "RSQRT"], inputs=above_zero)
    check(lambda x: tf.math.rsqrt(x + 1e-3), spec(None, 5), ops=["ADD", "RSQRT"], inputs=above_zero)


@pytest.mark.parametrize("dtype", HALVES, ids=lambda t: t.name)
@pytest.mark.parametrize("op", ANY | POSITIVE)
def test_halves(op, dtype):
    check((ANY | POSITIVE)[op], spec(None, 5, dtype=dtype), inputs=above_zero)


@pytest.mark.parametrize("dtype", [tf.int8, tf.int16, tf.int32, tf.int64], ids=lambda t: t.name)
@pytest.mark.parametrize("op", [tf.abs, tf.negative, tf.sign, tf.square])
def test_integers(op, dtype):
    check(op, spec(None, 5, dtype=dtype))


def test_rounding_of_halves_is_to_even():
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32)
    check(tf.round, spec(7), inputs=[halves])
    check(tf.math.rint, spec(7), inputs=[halves])
    check(tf.round, spec(3, dtype=tf.int32))


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
@pytest.mark.parametrize("op", [tf.math.is_nan, tf.math.is_inf, tf.math.is_finite])
def test_numbers_that_are_none(op, dtype):
    x = np.array([np.nan, np.inf, -np.inf, 0, 1e4], dtype.as_numpy_dtype)
    check(op, spec(5, dtype=dtype), inputs=[x])


@pytest.mark.parametrize(
    "dtype", [tf.float32, tf.float16, tf.int8, tf.uint8, tf.int16, tf.int32, tf.int64, tf.bool], ids=lambda t: t.name
)
@pytest.mark.parametrize("op", [tf.zeros_like, tf.ones_like])
def test_constants_of_a_shape(op, dtype):
    check(op, spec(None, 5, dtype=dtype))
    check(op, spec(None, None, dtype=dtype))


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
def test_bucketize(dtype):
    check(lambda x: raw.Bucketize(input=x, boundaries=[-2, 0, 0.5, 3]), spec(None, 9, dtype=dtype))


@pytest.mark.parametrize("boundaries", [[1.0, 0.0], [0.0, float("nan"), 1.0]])
def test_boundaries_that_do_not_ascend_are_refused(boundaries):
    signature = spec(None, 9, dtype=tf.float32)
    check_refused(lambda x: raw.Bucketize(input=x, boundaries=boundaries), signature, match="boundaries do not ascend")


def test_a_constant_is_not_folded_by_boundaries_that_do_not_ascend():
    def bucketize(x):
        return x + tf.cast(raw.Bucketize(input=tf.constant([0.5]), boundaries=[1.0, 0.0]), tf.float32)

    check_refused(bucketize, spec(9), match="boundaries do not ascend")


def test_float64_is_refused():
    check_refused(tf.exp, spec(3, dtype=tf.float64), match="Exp.*float64")
