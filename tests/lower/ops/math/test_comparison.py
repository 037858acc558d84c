"""Parity of comparison, logic and selection."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused

raw = tf.raw_ops
NUMBERS = [
    tf.float32, tf.float16, tf.bfloat16, tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32,
]  # fmt: skip
HALVES = (tf.float16, tf.bfloat16)
ORDER = {op.__name__: op for op in (raw.Less, raw.LessEqual, raw.Greater, raw.GreaterEqual, raw.Equal, raw.NotEqual)}


def spec(*shape, dtype=tf.float32):
    return tf.TensorSpec(shape, dtype)


def few(rng, shape, dtype):
    """Few different numbers, so that many are equal."""
    return rng.integers(0, 3, shape).astype(dtype)


@pytest.mark.parametrize("op", ORDER)
@pytest.mark.parametrize("dtype", NUMBERS, ids=lambda t: t.name)
def test_comparison(op, dtype):
    check(lambda x, y: ORDER[op](x=x, y=y), spec(None, 7, dtype=dtype), spec(7, dtype=dtype), inputs=few)


@pytest.mark.parametrize("op", ["equal", "not_equal"])
@pytest.mark.parametrize("dtype", [tf.bool, tf.string], ids=lambda t: t.name)
def test_equality(op, dtype):
    x = np.array([[b"a", b"b", b"c"]], object) if dtype is tf.string else np.array([[True, False, True]])
    y = np.array([b"a", b"x", b"c"], object) if dtype is tf.string else np.array([True, True, False])
    check(lambda x, y: ORDER[op](x=x, y=y), spec(1, 3, dtype=dtype), spec(3, dtype=dtype), inputs=[x, y])


def test_equality_of_shapes_that_may_not_broadcast():
    def layer(x, y):
        return raw.Equal(x=x, y=y, incompatible_shape_error=False)

    check(layer, spec(2, 3), spec(3))
    check_refused(layer, spec(None, 3), spec(None, 2), match="Equal.*do not broadcast")


def test_equality_of_sizes_that_are_not_known():
    check(lambda x, y: [x == y, x != y], spec(None, 3, dtype=tf.int32), spec(None, 3, dtype=tf.int32))


def test_approximate_equality():
    x = np.array([1, 2, 3], np.float32)
    y = x + np.float32([0, 0.09, 0.2])
    check(lambda x, y: raw.ApproximateEqual(x=x, y=y, tolerance=0.1), spec(3), spec(3), inputs=[x, y])


def test_logic():
    flags = spec(None, 9, dtype=tf.bool)
    check(tf.logical_and, flags, spec(9, dtype=tf.bool), ops=["LOGICAL_AND"])
    check(tf.logical_or, flags, flags, ops=["LOGICAL_OR"])
    check(tf.logical_not, flags, ops=["LOGICAL_NOT"])
    check(tf.math.logical_xor, flags, flags)


@pytest.mark.parametrize("dtype", [*NUMBERS, tf.bool], ids=lambda t: t.name)
def test_select(dtype):
    flags, data = spec(None, 3, dtype=tf.bool), spec(None, 3, dtype=dtype)
    check(tf.where, flags, data, data)
    check(tf.where, spec(3, dtype=tf.bool), data, spec(dtype=dtype))
    check(lambda c, x, y: raw.Select(condition=c, x=x, y=y), flags, data, data)


def test_select_by_row_and_by_one():
    data = spec(None, 3, 2)
    check(lambda c, x, y: raw.Select(condition=c, x=x, y=y), spec(None, dtype=tf.bool), data, data)
    check(lambda c, x, y: raw.Select(condition=c, x=x, y=y), spec(dtype=tf.bool), data, data)


@pytest.mark.parametrize("dtype", [t for t in [*NUMBERS, tf.bool] if t not in HALVES], ids=lambda t: t.name)
def test_where(dtype):
    check(tf.where, spec(None, 3, dtype=dtype), inputs=few)


def test_where_of_a_scalar_is_refused():
    check_refused(tf.where, spec(dtype=tf.bool), match=r"Where: its operand 0 has the shape \[\]")
