"""Parity of what is among the largest, and of what occurs elsewhere."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.compiler.tf2xla.ops import gen_xla_ops

from fuseconv.testing import check

raw = tf.raw_ops


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64, tf.uint8, tf.int8], ids=lambda t: t.name)
def test_nth_element(dtype, reverse):
    check(lambda x: raw.NthElement(input=x, n=2, reverse=reverse), spec(None, 7, dtype=dtype))


def test_nth_element_at_run_time():
    inputs = [np.random.default_rng(0).standard_normal((3, 7)).astype(np.float32), np.array(4, np.int32)]
    check(lambda x, n: raw.NthElement(input=x, n=n), spec(3, 7), spec(dtype=tf.int32), inputs=inputs)


def test_approximate_top_k_is_exact():
    check(lambda x: list(raw.ApproxTopK(input=x, k=3, aggregate_to_topk=True)), spec(2, 7))


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
def test_list_diff(dtype):
    def few(rng, shape, numpy_type):
        return rng.integers(0, 5, shape).astype(numpy_type)

    specs = spec(None, dtype=dtype), spec(4, dtype=dtype)
    check(lambda x, y: list(raw.ListDiff(x=x, y=y)), *specs, batches=(6, 9), inputs=few)
    check(lambda x, y: list(raw.ListDiff(x=x, y=y, out_idx=tf.int64)), *specs, batches=(6, 9), inputs=few)


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda t: t.name)
def test_unique_with_counts(dtype):
    def few(rng, shape, numpy_type):
        return rng.integers(0, 5, shape).astype(numpy_type)

    check(lambda x: list(tf.unique_with_counts(x)), spec(None, dtype=dtype), batches=(6, 9), inputs=few)

    def along(x):
        return list(raw.UniqueWithCountsV2(x=x, axis=[0], out_idx=tf.int64))

    check(along, spec(None, dtype=dtype), batches=(6, 9), inputs=few)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float16, tf.int32, tf.int64, tf.uint8, tf.int8], ids=lambda t: t.name)
def test_rows_that_xla_sorts(dtype):
    def layer(x):
        return gen_xla_ops.xla_sort(x)

    check(layer, spec(None, 3, 7, dtype=dtype), reference=tf.function(layer, jit_compile=True))


@pytest.mark.parametrize("values", [tf.int32, tf.float32], ids=lambda t: t.name)
def test_values_that_xla_sorts_by_keys(values):
    def layer(keys, values):
        return list(gen_xla_ops.xla_key_value_sort(keys, values))

    expected = tf.function(layer, jit_compile=True)
    check(layer, spec(None, None), spec(None, None, dtype=values), reference=expected)
