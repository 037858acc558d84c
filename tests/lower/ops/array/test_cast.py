"""Parity of casts and of ops that forward."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check, check_refused, convert_function

TYPES = [
    tf.float32, tf.float16, tf.bfloat16, tf.float64, tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32,
    tf.int64, tf.bool,
]  # fmt: skip


@pytest.mark.parametrize("source", TYPES, ids=lambda t: t.name)
def test_cast_to_each_type(source):
    def small(rng, shape, dtype):
        return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)

    spec = tf.TensorSpec([None, 5], source)
    check(lambda x: [tf.cast(x, target) for target in TYPES if target is not source], spec, inputs=small, static=False)


def test_cast_of_integers_wraps():
    x = np.array([300, -300, 70000, -1, 2**31 - 1], np.int32)
    targets = [tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.int64, tf.bool]
    check(lambda x: [tf.cast(x, target) for target in targets], tf.TensorSpec([5], tf.int32), inputs=[x])


def test_cast_of_fractions():
    x = np.array([-2.7, -0.5, 0.2, 0.9, 3.99], np.float32)
    check(lambda x: [tf.cast(x, t) for t in (tf.int32, tf.int64, tf.int8, tf.bool)], tf.TensorSpec([5]), inputs=[x])


def test_cast_that_is_refused():
    check_refused(lambda x: tf.cast(x, tf.uint64), tf.TensorSpec([5]), match="Cast.*uint64")
    check_refused(
        lambda x: tf.raw_ops.Cast(x=x, DstT=tf.float16, Truncate=True), tf.TensorSpec([5]), match="Cast.*truncate"
    )


@pytest.mark.parametrize("target", [tf.int32, tf.uint8, tf.int16])
def test_bitcast(target):
    check(lambda x: tf.bitcast(x, target), tf.TensorSpec([None, 4]), atol=0)


def test_bitcast_to_wider():
    check(lambda x: tf.bitcast(x, tf.int32), tf.TensorSpec([None, 3, 4], tf.uint8))


def test_ops_that_hand_on():
    def layer(x):
        y = tf.identity(tf.stop_gradient(tf.ensure_shape(x, [None, 5])))
        z = tf.debugging.check_numerics(tf.raw_ops.Snapshot(input=y), "")
        return tf.identity_n([tf.raw_ops.PreventGradient(input=z), tf.math.conj(x) + 1])[1]

    check(layer, tf.TensorSpec([None, 5]), ops=["ADD"])


@pytest.mark.parametrize("op", [tf.raw_ops.GuaranteeConst, tf.raw_ops.DebugGradientIdentity])
def test_ops_that_only_say_something(op):
    assert check(lambda x: op(input=x) + 1, tf.TensorSpec([None, 3])).ops == ["ADD"]


def test_where_xla_places_a_tensor_does_not_matter():
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    def placed(x):
        return gen_xla_ops.xla_sharding(x, sharding="any") + 1

    assert convert_function(placed, tf.TensorSpec([None, 3])).ops == ["ADD"]


def test_what_is_printed_goes_on():
    def printed(x):
        return tf.raw_ops.Print(input=tf.nn.relu(x), data=[x], message="x") + 1.0

    check(printed, tf.TensorSpec([None, 3]), ops=["RELU", "ADD"])


def test_what_tells_the_time_is_refused():
    check_refused(lambda x: x * tf.cast(tf.timestamp(), tf.float32), tf.TensorSpec([3]), match="Timestamp")
