"""Chains of constants."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from fuseconv.testing import check, convert_function

X = tf.TensorSpec([None, 6, 5])
RNG = np.random.default_rng(0)
A, B, C = RNG.standard_normal((3, 5)).astype(np.float32)


def test_products_and_sums():
    check(lambda x: x * A * 2.0 * B, X, ops=["MUL"])
    check(lambda x: A + x + 2.0 - B, X, ops=["ADD"], static=False)
    check(lambda x: (x * A + B) * C, X, ops=["MUL", "ADD"], static=False)
    check(lambda x: x * A / C + B, X, ops=["MUL", "ADD"], static=False)


def test_activations_between_stay_and_behind_are_kept():
    check(lambda x: tf.nn.relu(x * A) * B, X, ops=["MUL", "MUL"], static=False)
    check(lambda x: tf.nn.relu(x * A * B), X, ops=["MUL"], static=False)


def test_a_sum_does_not_move_behind_a_product():
    check(lambda x: (x - 1000.0) * A, X, ops=["ADD", "MUL"], static=False)


def test_constants_that_are_larger_together_stay():
    check(lambda x: x * A * RNG.standard_normal((6, 1)).astype(np.float32), X, ops=["MUL", "MUL"], static=False)


def test_sums_that_round_stay():
    # TensorFlow itself takes the two for nothing, so there is no number to compare with.
    assert convert_function(lambda x: x + 12582912.0 - 12582912.0, X).ops == ["ADD", "ADD"]


def test_division_by_what_has_no_reciprocal_stays():
    assert convert_function(lambda x: x / np.float32(1e-39), X).ops == ["DIV"]
    assert convert_function(lambda x: x / [0.0, 1.0, 2.0, 3.0, 4.0], X).ops == ["DIV"]


def test_integers_stay():
    x = tf.TensorSpec([None, 5], tf.int32)
    check(lambda x: x * 3 * 4, x, ops=["MUL", "MUL"], static=False)


def test_a_quotient_that_is_rounded_to_a_whole_number_stays_a_quotient() -> None:
    def bucket(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return tf.floor(x / 49.0 + 0.0), tf.cast(x / 49.0, tf.int32), x / 49.0 >= 1.0

    whole = 49.0 * np.arange(1, 13, dtype=np.float32).reshape(4, 3)
    for function in (bucket, lambda x: tf.floor(tf.abs(x / 49.0))):
        converted = check(function, tf.TensorSpec([4, 3]), inputs=[whole])
        assert "DIV" in converted.ops


def test_a_temperature_joins_the_weights_though_logits_are_compared() -> None:
    weights, bias = RNG.standard_normal((5, 7)).astype(np.float32), RNG.standard_normal(7).astype(np.float32)

    def sampled(weights: np.ndarray) -> Callable[[tf.Tensor], tf.Tensor]:
        def fn(x: tf.Tensor) -> tf.Tensor:
            logits = (tf.matmul(x, weights) + bias) / 0.7
            return tf.where(logits < tf.math.top_k(logits, 3)[0][..., -1:], -1e9, logits)

        return fn

    assert "DIV" not in check(sampled(weights), X, static=False).ops
    # Sums with such weights may be exact, in whole or for one of the channels.
    coarse = weights.copy()
    coarse[:, 2] = np.round(coarse[:, 2])
    for exact in (coarse, np.round(weights), np.eye(5, 7, dtype=np.float32)):
        assert "DIV" in check(sampled(exact), X, static=False).ops
