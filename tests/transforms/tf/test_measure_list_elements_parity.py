"""What `tf.map_fn` and loops stack may have sizes that only the first step tells."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check


def _lengths(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return rng.integers(1, 6, shape).astype(dtype) if dtype == np.int32 else rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("length", [6, None])
def test_sequences_are_cut_and_padded_again(length: int | None) -> None:
    def padded(row: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        x, count = row
        return tf.pad(x[:count], [[0, tf.shape(x)[0] - count], [0, 0]])

    specs = tf.TensorSpec([None, length, 3], tf.float32), tf.TensorSpec([None], tf.int32)
    check(lambda x, k: tf.map_fn(padded, (x, k), fn_output_signature=tf.float32), *specs, inputs=_lengths)


def test_the_batches_of_two_inputs_meet_in_a_loop() -> None:
    """Nothing tells that the batches are equal: the state may broadcast in the first step, to what it then is."""

    def filtered(x: tf.Tensor, wanted: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        weights = tf.zeros([tf.shape(x)[0], 3])
        errors = tf.TensorArray(tf.float32, tf.shape(wanted)[1])
        for t in tf.range(tf.shape(wanted)[1]):
            error = wanted[:, t] - tf.reduce_sum(weights * x[:, t], 1)
            weights += 0.1 * error[:, None] * x[:, t]
            errors = errors.write(t, error)
        return weights, tf.transpose(errors.stack())

    check(filtered, tf.TensorSpec([None, None, 3], tf.float32), tf.TensorSpec([None, None], tf.float32))


def test_a_branch_decides_over_elements_and_their_number_is_read() -> None:
    """Two beams for each row, of which a step keeps the best."""

    def searched(x: tf.Tensor, other: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        def step(t: tf.Tensor, best: tf.Tensor, kept: tf.TensorArray) -> tuple[tf.Tensor, tf.Tensor, tf.TensorArray]:
            scores = best[:, None] + tf.repeat(other, 2, axis=0)
            scores = tf.cond(t < 2, lambda: tf.sort(scores) * 0.5, lambda: tf.nn.log_softmax(scores))
            best = tf.reshape(tf.math.top_k(tf.reshape(scores, [-1, 8]), 2)[0], [-1])
            return t + 1, best, kept.write(t, best)

        state = 0, tf.repeat(x, 2), tf.TensorArray(tf.float32, 0, dynamic_size=True)
        shapes = tf.TensorShape([]), tf.TensorShape([None]), tf.TensorShape(None)
        kept = tf.while_loop(lambda t, *_: t < 4, step, state, shape_invariants=shapes)[2]
        return kept.stack(), kept.size()

    check(searched, tf.TensorSpec([None], tf.float32), tf.TensorSpec([None, 4], tf.float32))
