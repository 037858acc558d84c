"""Values that are repeated along one dimension."""

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, 3, 4])


@pytest.mark.parametrize("multiples", [[1, 2, 1], [1, 1, 5], [3, 1, 1]])
def test_one_dimension(multiples):
    check(lambda x: tf.tile(x, multiples), X, ops=["CONCATENATION"])


def test_keras_layers():
    import keras

    image = tf.TensorSpec([None, 4, 5, 3])
    check(keras.layers.UpSampling2D((2, 1)), image, ops=["CONCATENATION", "RESHAPE"])
    check(keras.layers.UpSampling1D(3), X, ops=["CONCATENATION", "RESHAPE"])
    check(keras.layers.RepeatVector(4), tf.TensorSpec([None, 3]), ops=["CONCATENATION", "RESHAPE"])


def test_a_last_dimension_of_one_is_copied_as_it_is():
    check(lambda x: tf.repeat(x, 2, 2), X, ops=["RESHAPE", "CONCATENATION", "RESHAPE"])


def test_several_unknown_sizes():
    check(lambda x: tf.tile(x[:, :, None], [1, 1, 3, 1]), tf.TensorSpec([None, None, 4]), static=False)


@pytest.mark.parametrize("multiples", [[1, 2, 2], [1, 6, 1]])
def test_other_repetitions_stay(multiples):
    check(lambda x: tf.tile(x, multiples), X, ops=["TILE"])


def test_repetitions_that_are_data_stay():
    ops = check(lambda x: tf.tile(x, [1, tf.shape(x)[0], 1]), X, static=False).ops
    assert "TILE" in ops


def test_other_types_stay():
    check(lambda x: tf.tile(x, [1, 2]), tf.TensorSpec([None, 3], tf.int32), ops=["TILE"])
