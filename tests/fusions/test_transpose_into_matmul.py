"""Transposed matrices in products."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check

X, Y = tf.TensorSpec([None, 3, 4]), tf.TensorSpec([None, 5, 4])
SWAP = [0, 2, 1]


def test_the_matrix_on_the_right():
    check(lambda x, y: x @ tf.transpose(y, SWAP), X, Y, ops=["BATCH_MATMUL"])
    check(lambda x, y: tf.matmul(x, tf.transpose(y, SWAP), transpose_b=True), X, tf.TensorSpec([None, 4, 5]),
          ops=["BATCH_MATMUL"])  # fmt: skip
    four = tf.TensorSpec([None, 2, 3, 4])
    check(lambda x: x @ tf.transpose(x, [0, 1, 3, 2]), four, ops=["BATCH_MATMUL"])


def test_the_matrix_on_the_left_stays():
    ops = ["TRANSPOSE", "BATCH_MATMUL"]
    check(lambda x, y: tf.transpose(x, SWAP) @ y, tf.TensorSpec([None, 4, 3]), tf.TensorSpec([None, 4, 5]), ops=ops)


def test_other_orders_stay():
    four = tf.TensorSpec([None, 3, 3, 3])
    check(lambda x: x @ tf.transpose(x, [0, 3, 2, 1]), four, ops=["TRANSPOSE", "BATCH_MATMUL"])


def test_another_reader_keeps_the_transpose():
    def fn(x, y):
        z = tf.transpose(y, SWAP)
        return x @ z, tf.abs(z)

    check(fn, X, Y, ops=["TRANSPOSE", "BATCH_MATMUL", "ABS"])


@pytest.mark.parametrize(("adj_x", "adj_y"), [(True, False), (False, True), (True, True)])
def test_a_product_that_is_transposed(adj_x: bool, adj_y: bool) -> None:
    x = tf.TensorSpec([None, 4, 3] if adj_x else [None, 3, 4])
    y = tf.TensorSpec([None, 5, 4] if adj_y else [None, 4, 5])
    check(lambda x, y: tf.transpose(tf.matmul(x, y, adj_x, adj_y), SWAP), x, y, ops=["BATCH_MATMUL"])


def test_no_product_transposes_its_matrix_on_the_left_for_it() -> None:
    weights = tf.constant(np.random.default_rng(0).normal(size=(3, 5, 4)), tf.float32)
    ops = ["BATCH_MATMUL", "TRANSPOSE"]
    check(lambda x, y: tf.transpose(x @ y, SWAP), X, tf.TensorSpec([None, 4, 5]), ops=ops)
    check(lambda x: tf.transpose(tf.matmul(x, weights, transpose_b=True), SWAP), tf.TensorSpec([3, 3, 4]), ops=ops)
