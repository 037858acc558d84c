"""Constants that are repeated for each row of a batch and joined to data."""

import numpy as np
import tensorflow as tf

from fuseconv.testing import check

RNG = np.random.default_rng(0)
SEQUENCE = tf.TensorSpec([None, 5, 4])


def draw(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


TOKEN, POSITIONS = draw(1, 1, 4), draw(1, 6, 4)
REPEATED = ["SHAPE", "STRIDED_SLICE", "CONCATENATION", "TILE", "CONCATENATION"]


def repeated(x, token, count=1):
    return tf.broadcast_to(token, tf.stack([tf.shape(x)[0], count, 4]))


def test_token_and_positions():
    ops = ["PAD", "ADD"]
    check(lambda x: tf.concat([repeated(x, TOKEN), x], 1) + POSITIONS, SEQUENCE, ops=ops)
    check(lambda x: tf.concat([x, repeated(x, TOKEN)], 1) + POSITIONS[0], SEQUENCE, ops=ops)
    two = draw(1, 2, 4)
    check(lambda x: tf.nn.relu(tf.concat([repeated(x, two, 2), x], -2) + draw(1, 7, 4)), SEQUENCE, ops=ops)


def test_tiled_and_filled():
    def tiled(x):
        return tf.concat([tf.tile(TOKEN, [tf.shape(x)[0], 2, 1]), x], 1) + draw(7, 4)

    check(tiled, SEQUENCE, ops=["PAD", "ADD"])
    filled = lambda x: tf.concat([x, tf.fill([tf.shape(x)[0], 1, 4], 0.5)], 1) + POSITIONS  # noqa: E731
    check(filled, SEQUENCE, ops=["PAD", "ADD"])


def test_zeros():
    check(lambda x: tf.concat([x, tf.zeros([tf.shape(x)[0], 5, 2])], 2), SEQUENCE, ops=["PAD"])
    check(lambda x: tf.concat([tf.zeros_like(x), x], 1), SEQUENCE)
    whole = tf.TensorSpec([None, 5], tf.int32)
    check(lambda x: tf.concat([tf.zeros([tf.shape(x)[0], 2], tf.int32), x], 1), whole, ops=["PAD"])


def test_without_positions_the_token_stays():
    check(lambda x: tf.concat([repeated(x, TOKEN), x], 1), SEQUENCE, ops=REPEATED)
    check(lambda x: tf.concat([repeated(x, TOKEN), x], 1) + draw(4), SEQUENCE, ops=[*REPEATED, "ADD"])


def test_data_of_unknown_length():
    x = tf.TensorSpec([None, None, 4])
    check(lambda x: tf.concat([repeated(x, TOKEN), x], 1) + draw(4), x, ops=[*REPEATED, "ADD"])


def test_another_reader_keeps_the_joined_value():
    def fn(x):
        y = tf.concat([repeated(x, TOKEN), x], 1)
        return y, y + POSITIONS

    check(fn, SEQUENCE, ops=[*REPEATED, "ADD"])


def test_what_is_repeated_as_a_whole_stays():
    two = draw(1, 2, 4)
    fn = lambda x: tf.concat([tf.tile(two, [tf.shape(x)[0], 2, 1]), x], 1) + draw(9, 4)  # noqa: E731
    check(fn, SEQUENCE, ops=["SHAPE", "STRIDED_SLICE", "CONCATENATION", "TILE", "CONCATENATION", "ADD"])
