"""Images whose rows and columns are repeated."""

import keras
import pytest
import tensorflow as tf

from fuseconv.testing import check

RESIZE = "RESIZE_NEAREST_NEIGHBOR"
WIDE = tf.TensorSpec([None, 4, 5, 32])


@pytest.mark.parametrize("times", [(2, 2), (3, 2), (4, 4), (7, 3)])
def test_rows_and_columns(times):
    check(keras.layers.UpSampling2D(times), WIDE, ops=[RESIZE])
    check(lambda x: tf.repeat(tf.repeat(x, times[1], 2), times[0], 1), WIDE, ops=[RESIZE])


def test_sizes_of_the_run():
    unknown = tf.TensorSpec([None, None, None, 3])
    check(keras.layers.UpSampling2D((2, 3)), unknown, ops=["SHAPE", "STRIDED_SLICE", "MUL", RESIZE], static=False)


def test_volumes():
    volume = tf.TensorSpec([None, 3, 4, 5, 32])
    check(keras.layers.UpSampling3D(2), volume, ops=["CONCATENATION", "RESHAPE", RESIZE, "RESHAPE"])
    check(keras.layers.UpSampling3D((1, 2, 2)), volume, ops=["RESHAPE", RESIZE, "RESHAPE"])
    check(keras.layers.UpSampling3D(2), tf.TensorSpec([None, None, 4, None, 3]), static=False)


def test_rows_that_are_read_otherwise():
    def both(x):
        rows = tf.repeat(x, 2, 1)
        return rows, tf.repeat(rows, 2, 2)

    assert RESIZE not in check(both, WIDE).ops


@pytest.mark.parametrize("axes", [(1, 1), (1, 3), (0, 1), (2, 3)])
def test_other_dimensions(axes):
    first, second = axes
    assert RESIZE not in check(lambda x: tf.repeat(tf.repeat(x, 2, first), 2, second), WIDE, static=False).ops


def test_copies_of_the_whole_are_no_repeats():
    def tiled(x):
        x = tf.reshape(tf.tile(x[:, None], [1, 2, 1, 1, 1]), [-1, 8, 5, 32])
        return tf.reshape(tf.tile(x[:, :, None], [1, 1, 2, 1, 1]), [-1, 8, 10, 32])

    assert RESIZE not in check(tiled, WIDE).ops
