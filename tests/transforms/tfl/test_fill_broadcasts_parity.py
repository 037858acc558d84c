"""Numbers that are filled into tensors compute the same, of each type and for each size of a batch."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

CLIPS = {
    "numbers": lambda x: tf.clip_by_value(x, 1, 7),
    "zero": lambda x: tf.maximum(x, 0),
    "computed": lambda x: tf.minimum(x, tf.cast(tf.shape(x)[0], x.dtype)),
    "like": lambda x: tf.minimum(tf.maximum(x, tf.zeros_like(x)), 3 * tf.ones_like(x)),
    "squares": lambda x: tf.math.squared_difference(x, 3),
    "chosen": lambda x: tf.where(x > 1, x, tf.zeros_like(x)),
    "numbers chosen": lambda x: tf.where(x > 1, tf.constant(5, x.dtype), tf.constant(-3, x.dtype)),
}


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.int64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("clip", CLIPS)
def test_clips(clip, dtype):
    check(lambda x: CLIPS[clip](tf.cast(9 * x, dtype)), tf.TensorSpec([None, 5, 8]))


def test_ops():
    assert "FILL" in check(lambda x: tf.clip_by_value(x, 1, 7), tf.TensorSpec([5, 8], tf.int32)).ops
    masked = check(lambda x: tf.where(x > 1, x, tf.zeros_like(x)), tf.TensorSpec([None, 64]), static=False)
    assert masked.ops == ["GREATER", "ZEROS_LIKE", "SELECT_V2"]


@pytest.mark.parametrize("op", [tf.maximum, tf.math.floormod, tf.math.floordiv, tf.math.squared_difference])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int32], ids=lambda dtype: dtype.name)
def test_a_number_of_a_constants_size_takes_no_bytes(op, dtype):
    converted = check(lambda x: op(x, tf.fill([64, 64], tf.constant(3, dtype))), tf.TensorSpec([64, 64], dtype))
    assert len(converted.data) < 2000
