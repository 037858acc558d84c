"""z * h + (1 - z) * n takes three ops."""

import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([3, 6])
FOUR = ["SUB", "MUL", "MUL", "ADD"]


def test_toward_a_tanh():
    check(lambda z, h, n: z * h + (1 - z) * tf.tanh(n), X, X, X, ops=["TANH", "SUB", "MUL", "ADD"])


def test_written_the_other_way_round():
    check(lambda z, h, n: tf.sigmoid(n) * (1 - z) + h * z, X, X, X, ops=["LOGISTIC", "SUB", "MUL", "ADD"])


def test_without_a_bound_it_stays():
    check(lambda z, h, n: z * h + (1 - z) * n, X, X, X, ops=FOUR)


def test_an_operand_that_broadcasts_stays():
    check(lambda z, h, n: z * h + (1 - z) * tf.tanh(n), X, tf.TensorSpec([]), X, ops=["TANH", *FOUR])
