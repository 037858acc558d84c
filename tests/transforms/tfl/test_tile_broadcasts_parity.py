"""Copies of rows hold what a broadcast does, of each type and for each size of a batch."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

FORMS = {
    "a token for each example": lambda x, y: tf.concat([tf.broadcast_to(y, [tf.shape(x)[0], 1, 4]), x], 1),
    "rows": lambda x, y: tf.reshape(tf.broadcast_to(x[:, :1], [tf.shape(x)[0], 5, 4]), [-1, 20]),
    "columns": lambda x, y: tf.transpose(tf.broadcast_to(x[..., :1], [tf.shape(x)[0], 3, 7]), [0, 2, 1]),
    "more dimensions": lambda x, y: tf.reverse(tf.broadcast_to(y[0], [2, 3, 4]), [1]),
}


@pytest.mark.parametrize("dtype", [tf.float32, tf.int32, tf.bool], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("form", FORMS)
def test_what_moves_elements(form, dtype):
    specs = tf.TensorSpec([None, 3, 4]), tf.TensorSpec([1, 1, 4])
    converted = check(lambda x, y: FORMS[form](tf.cast(2 * x, dtype), tf.cast(2 * y, dtype)), *specs)
    assert "TILE" in converted.ops and "BROADCAST_TO" not in converted.ops


@pytest.mark.parametrize("batch", [None, 2])
def test_what_computes_broadcasts_by_itself(batch):
    def layer(x, y):
        wide = tf.broadcast_to(y[:, :1], tf.shape(x))
        return x + wide, tf.where(x > 0, x, tf.tile(y[:, :1], [1, 3, 1])), x >= wide

    ops = check(layer, tf.TensorSpec([batch, 3, 4]), tf.TensorSpec([batch, 2, 4])).ops
    assert "BROADCAST_TO" not in ops and "TILE" not in ops


def test_both_operands_that_are_broadcast_keep_the_shape():
    def layer(x, y):
        return tf.broadcast_to(x, [2, 5, 4]) * tf.broadcast_to(y, [2, 5, 4])

    check(layer, tf.TensorSpec([2, 1, 4]), tf.TensorSpec([1, 1, 4]))
