"""Layer norms of Keras 3, Keras 2 and by hand; group norms."""

from collections import Counter

import pytest
import tensorflow as tf

from fuseconv.testing import check

NINE = ["MEAN", "SUB", "MUL", "MEAN", "ADD", "RSQRT", "MUL", "MUL", "ADD"]


def built(layer, shape):
    layer.build((None, *shape))
    for number, weight in enumerate(layer.weights):
        weight.assign(tf.random.stateless_normal(weight.shape, [number, 1]))
    return layer


def shifted(rng, shape, dtype):
    return (rng.standard_normal(shape) * 3 + 10).astype(dtype)


@pytest.mark.parametrize("shape", [(24,), (5, 24)])
def test_keras_3(shape):
    import keras

    layer = built(keras.layers.LayerNormalization(epsilon=1e-6), shape)
    check(layer, tf.TensorSpec([None, *shape]), ops=NINE, inputs=shifted)


def test_of_images_gamma_and_beta_are_one_op():
    import keras

    layer = built(keras.layers.LayerNormalization(epsilon=1e-6), (4, 6, 24))
    ops = [*NINE[:-2], "DEPTHWISE_CONV_2D"]
    check(layer, tf.TensorSpec([None, 4, 6, 24]), ops=ops, inputs=shifted)


@pytest.mark.parametrize(
    "center, scale, ops",
    [(False, True, NINE[:-1]), (True, False, [*NINE[:-2], "ADD"]), (False, False, NINE[:-2])],
)
def test_without_gamma_or_beta(center, scale, ops):
    import keras

    layer = built(keras.layers.LayerNormalization(epsilon=1e-6, center=center, scale=scale), (5, 24))
    check(layer, tf.TensorSpec([None, 5, 24]), ops=ops, inputs=shifted, static=False)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-6])
def test_keras_2(epsilon):
    import tf_keras

    layer = built(tf_keras.layers.LayerNormalization(epsilon=epsilon), (5, 24))
    for batch in (None, 3):
        converted = check(layer, tf.TensorSpec([batch, 5, 24]), inputs=shifted, static=False)
        assert len(converted.ops) == 9, converted.ops


def test_by_hand():
    gamma, beta = tf.random.stateless_normal([2, 24], [1, 2])

    def fn(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-5)

    check(fn, tf.TensorSpec([None, 5, 24]), ops=NINE, inputs=shifted)


def test_a_factor_that_is_scaled_first():
    gamma, beta = tf.random.stateless_normal([2, 24], [1, 2])

    def fn(x):
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * (tf.math.rsqrt(variance + 1e-5) * gamma) + beta

    converted = check(fn, tf.TensorSpec([None, 5, 24]), inputs=shifted)
    assert "norm_factor" in converted.fused
    assert len(converted.ops) <= len(NINE), converted.ops


@pytest.mark.parametrize("groups", [3, 24])
def test_group_norm(groups):
    import keras

    layer = built(keras.layers.GroupNormalization(groups), (4, 6, 24))
    converted = check(layer, tf.TensorSpec([None, 4, 6, 24]), inputs=shifted)
    # One product and one sum of the data's size, behind small ones.
    assert ("norm_factors" in converted.refused) == (groups == 24)
    expected = ["MEAN", "SQUARED_DIFFERENCE", "MEAN", "ADD", "RSQRT", "MUL", "MUL", "SUB", "MUL", "ADD"]
    if groups == 3:
        # No kernel squares a difference of five dimensions, so that the difference is there.
        expected = ["RESHAPE", "MEAN", "SUB", "MUL", "MEAN", "ADD", "RSQRT", "MUL", "MUL", "ADD", "RESHAPE"]
    assert Counter(converted.ops) == Counter(expected)


def test_before_dense_layers_gamma_and_beta_move_into_their_weights():
    import keras

    norm = built(keras.layers.LayerNormalization(epsilon=1e-6), (5, 24))
    dense = [built(keras.layers.Dense(units), (5, 24)) for units in (6, 7, 8)]
    ops = NINE[:-2] + 3 * ["FULLY_CONNECTED"]
    check(lambda x: [d(norm(x)) for d in dense], tf.TensorSpec([None, 5, 24]), ops=ops, inputs=shifted)


def test_with_another_reader_gamma_and_beta_stay():
    import keras

    norm = built(keras.layers.LayerNormalization(epsilon=1e-6), (5, 24))
    dense = built(keras.layers.Dense(24), (5, 24))
    ops = [*NINE, "FULLY_CONNECTED", "ADD"]
    check(lambda x: norm(x) + dense(norm(x)), tf.TensorSpec([None, 5, 24]), ops=ops, inputs=shifted, static=False)
