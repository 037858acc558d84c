"""Elementwise functions: their ends, and what is no number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from testdata.museum.case import case, floats, spec

SMALL = np.array([[2e-10, 3e-10, -1e-10, 5e-11]], np.float32)
TINY = np.array([[5e-25, 3e-25, -1e-25, 2e-26]], np.float32)
LARGE = np.array([[20, 88, 95, 150, 500]], np.float32)
NAN, INF = np.nan, np.inf


@case(
    "tensorflow#118525 tensorflow#120301",
    "0 for small numbers: LOG(1 + x)",
    spec(None, 4),
    inputs=[SMALL],
)
def log1p_of_small_numbers() -> Callable[..., Any]:
    return tf.math.log1p


@case("tensorflow#118525", "0 for tiny numbers: LOG(1 + x)", spec(None, 4), inputs=[TINY])
def log1p_of_tiny_numbers() -> Callable[..., Any]:
    return tf.math.log1p


@case("tensorflow#118526 tensorflow#120302", "0 for small numbers: EXP(x) - 1", spec(None, 4), inputs=[SMALL])
def expm1_of_small_numbers() -> Callable[..., Any]:
    return tf.math.expm1


@case("tensorflow#118524 tensorflow#60892", "inf from 89 on: LOG(1 + EXP(x))", spec(None, 5), inputs=[LARGE])
def softplus_of_large_numbers() -> Callable[..., Any]:
    return tf.math.softplus


@case("tensorflow#118524", "0 for what is far below zero", spec(None, 5), inputs=[-LARGE / 6])
def softplus_of_numbers_below_zero() -> Callable[..., Any]:
    return tf.math.softplus


@case(
    "tensorflow#118390 tensorflow#120299",
    "0 for NaN",
    spec(5),
    inputs=[floats(2, NAN, -50, NAN, 1e20)],
    kernel="NaN is lost",
)
def exp_of_nan() -> Callable[..., Any]:
    return tf.exp


@case("here", "XNNPACK's RSQRT of 0 is NaN", spec(None, 4), inputs=[floats([0, 1, 4, 0.25])])
def reciprocal_root_of_zero() -> Callable[..., Any]:
    return tf.math.rsqrt


@case(
    "tensorflow#118531 tensorflow#120306",
    "0 for NaN",
    spec(5),
    inputs=[floats(NAN, NAN, 7, -0.0, -3.5)],
    kernel="NaN is lost",
)
def sign_of_nan() -> Callable[..., Any]:
    return tf.sign


@case("tensorflow#118528", "-1.758 for NaN", spec(5), inputs=[floats(NAN, 2, -0.5, NAN, INF)], kernel="NaN is lost")
def selu_of_nan() -> Callable[..., Any]:
    return tf.nn.selu


@case(
    "tensorflow#118182 tensorflow#120293",
    "the finite operand where one is NaN",
    *[spec(3)] * 2,
    inputs=[floats(NAN, 2, 3), floats(1, NAN, 2)],
    kernel="NaN is lost",
)
def minimum_of_nan() -> Callable[..., Any]:
    return lambda x, y: [tf.minimum(x, y), tf.maximum(x, y)]


@case(
    "tensorflow#118182",
    "index 1 in place of 3",
    spec(1, 5),
    inputs=[floats(5, 3, NAN, 1, 8)[None]],
    kernel="NaN is lost",
)
def argmin_of_nan() -> Callable[..., Any]:
    return lambda x: tf.argmin(x, 1)


@case(
    "tensorflow#118532",
    "index 0, where a NaN stands",
    spec(2, 3),
    inputs=[np.stack([floats(5, NAN, 3), floats(NAN, 7, NAN)])],
    kernel="NaN is lost",
)
def argmax_of_nan() -> Callable[..., Any]:
    return lambda x: tf.argmax(x, 1, tf.int32)


@case(
    "tensorflow#118389 tensorflow#120298",
    "9 and 2, as if there were no NaN",
    spec(1, 5),
    inputs=[floats(7, NAN, 4, 9, 2)[None]],
    kernel="NaN is lost",
)
def extremes_of_nan() -> Callable[..., Any]:
    return lambda x: [tf.reduce_max(x, -1), tf.reduce_min(x, -1)]


@case(
    "tensorflow#45312",
    "the largest float in place of inf",
    spec(3),
    inputs=[floats(1, -2, 5)],
    kernel="inf is cut without XNNPACK",
)
def division_by_zero() -> Callable[..., Any]:
    return lambda x: tf.divide(x, tf.constant(0.0))


@case("tensorflow#45312", "a finite number in place of -inf", spec(3), inputs=[floats(0, 1, 5)])
def log_of_zero() -> Callable[..., Any]:
    return tf.math.log


@case(
    "tensorflow#57818",
    "the folded LEAKY_RELU of a double constant is wrong",
    spec(1, dtype=tf.float64),
    refused="float64",
)
def leaky_relu_of_a_double_constant() -> Callable[..., Any]:
    constant = tf.constant([-10.43154963850975037], tf.float64)
    return lambda x: tf.raw_ops.LeakyRelu(features=constant, alpha=0.1) + x


@case("tensorflow#57759 tensorflow#57708", "the shape of the smaller operand", spec(None, 1, 3), spec(4, 1))
def maximum_that_broadcasts_both_ways() -> Callable[..., Any]:
    return tf.maximum


@case("tensorflow#42694", "other numbers for an image of unknown size", spec(None, None, 3))
def variance_of_an_image() -> Callable[..., Any]:
    return lambda x: [tf.math.reduce_variance(x), tf.math.reduce_std(x, [0, 1])]


@case("tensorflow#42694", "far from zero, where E[x*x] - E[x]**2 would cancel", spec(None, 8))
def variance_far_from_zero() -> Callable[..., Any]:
    return lambda x: tf.math.reduce_variance(x + 1000.0, -1)


@case("tensorflow#30131", "unknown to the runtime", spec(None, 5))
def cumulative_product() -> Callable[..., Any]:
    return lambda x: [tf.math.cumprod(x, 1), tf.math.cumprod(x, 1, exclusive=True, reverse=True)]


@case("tensorflow#42382", "'tf.Cumsum' is neither a custom op nor a flex op: sparsemax", spec(None, 6))
def sparsemax() -> Callable[..., Any]:
    def project(logits: tf.Tensor) -> tf.Tensor:
        ordered, _ = tf.math.top_k(logits, 6)
        sums = tf.cumsum(ordered, -1)
        support = 1 + tf.range(1, 7, dtype=tf.float32) * ordered > sums
        count = tf.reduce_sum(tf.cast(support, tf.int32), -1)
        chosen = tf.gather(sums, count - 1, axis=1, batch_dims=1)
        return tf.maximum(0.0, logits - ((chosen - 1) / tf.cast(count, tf.float32))[:, None])

    return project


@case("here", "exclusive and reverse sums, of whole numbers too", spec(None, 5), spec(None, 5, dtype=tf.int32))
def cumulative_sums() -> Callable[..., Any]:
    return lambda x, n: [tf.cumsum(x, 1, exclusive=True, reverse=True), tf.cumsum(n, 0, exclusive=True)]


@case("tensorflow#60663 tensorflow#24579", "'tf.Erf' is neither a custom op nor a flex op", spec(None, 7))
def error_function() -> Callable[..., Any]:
    return tf.math.erf


@case("tensorflow#40270", "'tf.Sign' is not supported", spec(5), spec(5, dtype=tf.int32))
def signs() -> Callable[..., Any]:
    return lambda x, n: [tf.sign(x), tf.sign(n - 5)]


@case("tensorflow#40716", "refused", spec(None, 4, 4, 5))
def local_response_normalization() -> Callable[..., Any]:
    return lambda x: tf.nn.lrn(x, depth_radius=2, bias=1.5, alpha=0.3, beta=0.6)


@case(
    "tensorflow-onnx#2174 tensorflow#89988",
    "rounds to zero",
    spec(None, dtype=tf.int32),
    inputs=[np.array([3, -7, 10, -9], np.int32)],
)
def ceiling_division() -> Callable[..., Any]:
    return lambda n: [-tf.math.floordiv(-n, 3), tf.math.floormod(n, -4), tf.truncatediv(n, 4)]


@case("tensorflow#50992", "sums of a tensor over all but one dimension are wrong", spec(None, 3, 4, 5))
def sums_over_dimensions_apart() -> Callable[..., Any]:
    return lambda x: [tf.reduce_sum(x, [1, 3]), tf.reduce_sum(x, [0, 2], keepdims=True)]


@case("tensorflow#34444", "the runtime aborts", spec(None, None, None))
def mean_over_unknown_sizes() -> Callable[..., Any]:
    return lambda x: [tf.reduce_mean(x, [1, 2]), tf.reduce_mean(x, -1)]


@case("here", "logsumexp of numbers that overflow", spec(None, 5), inputs=[LARGE])
def logsumexp_of_large_numbers() -> Callable[..., Any]:
    return lambda x: [tf.reduce_logsumexp(x, -1), tf.nn.log_softmax(x)]


@case("here", "powers of negative numbers", spec(None, 4), inputs=[floats([-2, -0.5, 3, -1])])
def powers_of_negative_numbers() -> Callable[..., Any]:
    exponents = floats(2, 3, -1, 5)
    return lambda x: [tf.pow(x, exponents), tf.pow(x, 3.0), tf.square(x)]


@case("tensorflow#118391", "NaN for what is far from 0", spec(None, 4), inputs=[floats([5e29, -5e29, 1, -3e38])],
      processor="NaN with AVX-512")  # fmt: skip
def sigmoid_of_huge_numbers() -> Callable[..., Any]:
    return tf.sigmoid


@case("tensorflow#120305", "NaN for what is far below 0", spec(None, 4), inputs=[floats([-7e29, -2.5e30, 1, -90])],
      processor="NaN with AVX-512")  # fmt: skip
def silu_of_huge_numbers() -> Callable[..., Any]:
    return tf.nn.silu


@case("tensorflow#118527", "NaN for infinity", spec(None, 4), inputs=[floats([INF, 9, 16, 0])],
      kernel="SQRT fails above 2^126")  # fmt: skip
def sqrt_of_infinity() -> Callable[..., Any]:
    return tf.sqrt
