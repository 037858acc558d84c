"""Random numbers that a seed gives are TensorFlow's, number by number."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
SEED = tf.TensorSpec([2], tf.int32)
SEEDS = [[0, 0], [1, -2], [2**31 - 1, -(2**31)]]


def seeded(fn, seed, spec=SEED, **options):
    return check(fn, spec, inputs=[np.array(seed, spec.dtype.as_numpy_dtype)], **options)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.bfloat16], ids=lambda t: t.name)
def test_uniform(seed, dtype):
    seeded(lambda s: [tf.random.stateless_uniform([3, 5], s, dtype=dtype), raw.StatelessRandomUniform(
        shape=[4], seed=s, dtype=dtype)], seed, atol=0)  # fmt: skip


def test_seeds_of_64_bits():
    spec = tf.TensorSpec([2], tf.int64)
    seeded(lambda s: tf.random.stateless_uniform([7], s, -2.0, 3.0), [2**62 + 5, -(2**40)], spec)


@pytest.mark.parametrize("seed", SEEDS, ids=str)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_normal(seed, dtype):
    seeded(lambda s: [tf.random.stateless_normal([333], s, dtype=dtype), raw.StatelessRandomNormal(
        shape=[4, 3], seed=s, dtype=dtype)], seed)  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS, ids=str)
@pytest.mark.parametrize("dtype", [tf.float32, tf.float16], ids=lambda t: t.name)
def test_truncated_normal(seed, dtype):
    """Of 1,001 numbers, 46 are drawn anew."""
    seeded(lambda s: [tf.random.stateless_truncated_normal([7, 11, 13], s, dtype=dtype), raw.StatelessTruncatedNormal(
        shape=[4, 3], seed=s, dtype=dtype), tf.random.stateless_truncated_normal([0], s)], seed)  # fmt: skip


def test_truncated_normal_of_a_computed_shape():
    def fn(s, x):
        return tf.random.stateless_truncated_normal(tf.shape(x), s, 3.0, 0.5)

    check(fn, SEED, tf.TensorSpec([None, 3]), inputs=[np.array([5, 6], np.int32), np.zeros((3, 3), np.float32)])


def test_shuffle():
    shuffle = tf.random.experimental.stateless_shuffle
    for seed in SEEDS:
        seeded(lambda s: [shuffle(tf.range(23), s), shuffle(tf.reshape(tf.range(10.0), [5, 2]), s)], seed)
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    check(lambda s, x: shuffle(x, s), SEED, tf.TensorSpec([None, 2]), inputs=[np.array([5, 6], np.int32), x])
    check(lambda s, x: shuffle(x, s), SEED, tf.TensorSpec([0, 2]), inputs=[np.array([5, 6], np.int32), x[:0]])
    check(lambda s, x: shuffle(x, s), SEED, tf.TensorSpec([]), inputs=[np.array([5, 6], np.int32), x[0, 0]])


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64], ids=lambda t: t.name)
@pytest.mark.parametrize("seed", SEEDS, ids=str)
def test_integers(seed, dtype):
    def fn(s):
        far = tf.random.stateless_uniform([20], s, dtype.min // 5, dtype.max // 5, dtype)
        low, high = tf.constant(0, dtype), tf.constant(7, dtype)
        old = raw.StatelessRandomUniformInt(shape=[6], seed=s, minval=low, maxval=high)
        every = raw.StatelessRandomUniformFullInt(shape=[3], seed=s, dtype=dtype)
        return far, old, every, tf.random.stateless_uniform([2, 5], s, None, None, dtype)

    seeded(fn, seed)


def test_bounds_at_run_time():
    def fn(s, low, high):
        return tf.random.stateless_uniform([20], s, low, high, tf.int32)

    bound = tf.TensorSpec([], tf.int32)
    check(fn, SEED, bound, bound, inputs=[np.array([1, 2], np.int32), np.int32(-(2**31)), np.int32(2**31 - 1)])
    check_refused(lambda s, n: tf.random.stateless_uniform([4], s, 0, n, tf.int64), SEED,
                  tf.TensorSpec([], tf.int64), match="bound")  # fmt: skip


def test_a_shape_at_run_time():
    def fn(x):
        seed = tf.cast(x[0, :2] * 100, tf.int32)
        return x + tf.random.stateless_normal(tf.shape(x), seed)

    check(fn, tf.TensorSpec([None, 3]))


def test_keys_that_several_draws_share():
    def fn(s):
        first, second = tf.unstack(tf.random.split(s, 2))
        return tf.random.stateless_normal([5], first), tf.random.stateless_uniform([5], second)

    seeded(fn, [3, 4])


def test_the_algorithm():
    def fn(s):
        key, counter, algorithm = raw.StatelessRandomGetKeyCounterAlg(seed=s)
        uniform = raw.StatelessRandomUniformV2(shape=[4], key=key, counter=counter, alg=raw.StatelessRandomGetAlg())
        return uniform, algorithm

    seeded(fn, [3, 4])
    check_refused(lambda s: tf.random.stateless_uniform([4], s, alg="threefry"), SEED, match="not Philox")
    check_refused(lambda s: tf.random.stateless_uniform([4], s, dtype=tf.float64), SEED, match="float64")


def test_other_distributions_are_refused():
    check_refused(lambda s: tf.random.stateless_gamma([4], s, 2.0), SEED, match="StatelessRandomGamma")
