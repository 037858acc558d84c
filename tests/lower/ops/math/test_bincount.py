"""Parity of ops that count."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
@pytest.mark.parametrize("out_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_place_in_an_order(side, dtype, out_type):
    order = np.array([[-3, 0, 0, 2, 9], [1, 2, 3, 4, 5]], dtype.as_numpy_dtype)
    check(lambda x: tf.searchsorted(order[0], x, side, out_type), spec(None, dtype=dtype))
    check(lambda x: tf.searchsorted(order, x, side, out_type), spec(2, 7, dtype=dtype))


def below_seven(rng, shape, dtype):
    return rng.integers(0, 7, shape).astype(dtype)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("shape", [(), (9,), (3, 5)])
def test_occurrences(shape, binary):
    def layer(x):
        return raw.DenseBincount(input=x, size=5, weights=tf.zeros([0]), binary_output=binary)

    check(layer, spec(*shape, dtype=tf.int32), inputs=below_seven)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int64], ids=lambda t: t.name)
def test_weighted_occurrences(dtype):
    def layer(x, weights):
        return raw.DenseBincount(input=x, size=5, weights=weights)

    check(layer, spec(2, 9, dtype=tf.int64), spec(2, 9, dtype=dtype), inputs=below_seven)
    check(
        lambda x, w: raw.Bincount(arr=x, size=7, weights=w), spec(9, dtype=tf.int32), spec(9, dtype=dtype),
        inputs=below_seven,
    )  # fmt: skip
    check(layer, spec(dtype=tf.int64), spec(dtype=dtype), inputs=below_seven)
    # That both inputs have one shape, only a run tells.
    check(layer, spec(None, None, dtype=tf.int64), spec(None, None, dtype=dtype), inputs=below_seven)


@pytest.mark.parametrize("shape", [(), (None, 3)])
def test_occurrences_in_all_rows(shape):
    def layer(x):
        return [raw.Bincount(arr=x, size=7, weights=w) for w in (tf.zeros([0], tf.int32), tf.cast(x, tf.float32))]

    check(layer, spec(*shape, dtype=tf.int32), inputs=below_seven)


@pytest.mark.parametrize("index_type", [tf.int32, tf.int64], ids=lambda t: t.name)
def test_in_top_k(index_type):
    def layer(x, targets):
        return tf.math.in_top_k(targets, x, 3), raw.InTopK(predictions=x, targets=tf.cast(targets, tf.int32), k=2)

    check(layer, spec(None, 7), spec(None, dtype=index_type), inputs=below_seven)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda t: t.name)
def test_histogram(dtype):
    def counted(x):
        limits = tf.constant([-3, 4], dtype)
        return tf.histogram_fixed_width(x, limits, 5), tf.histogram_fixed_width(x, limits, 7, tf.int64)

    check(counted, tf.TensorSpec([None, 9], dtype))


@pytest.mark.parametrize("low, high, bins", [(0, 1, 10), (-3, 2, 7), (0, 255, 17), (-1000, 1003, 64)])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64])
def test_histogram_of_numbers_where_bins_end(low, high, bins, dtype):
    apart = [np.linspace(low, high, 2 * bins + 1), np.linspace(low - 1, high + 1, 997), [-1e9, 1e9]]
    ends = np.concatenate(apart).astype(np.float32).astype(dtype.as_numpy_dtype)
    spec = tf.TensorSpec([None], dtype)
    check(
        lambda x: tf.histogram_fixed_width(x, tf.constant([low, high], dtype), bins), spec, inputs=[ends], static=False
    )


def test_histogram_of_float64_is_refused():
    limits = tf.constant([0, 1], tf.float64)
    counted = tf.TensorSpec([5], tf.float64)
    check_refused(lambda x: tf.histogram_fixed_width(x, limits, 4), counted, match="in float32, not in float64")


def test_counts_that_are_joined():
    x = np.array([[3, 1, 1], [0, 4, 3]], np.int32)

    def joined(x):
        counts = tf.math.bincount(x, minlength=5, maxlength=5, axis=-1)
        whole = tf.histogram_fixed_width(tf.cast(x, tf.float32), [0.0, 4.0], 5)
        return tf.concat([counts, whole[None]], 0)

    check(joined, tf.TensorSpec([None, 3], tf.int32), inputs=[x], static=False)
