"""Products of matrices, and what is fused into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, randomized, spec, weights


@case(
    "LiteRT#9023 tensorflow#124161",
    "an invalid BatchMatMulV2: everything but the batch is contracted",
    spec(None, 2, 3),
)
def einsum_of_whole_matrices() -> Callable[..., Any]:
    other = weights(2, 3)
    return lambda x: tf.einsum("bij,ij->b", x, other)


@case("tensorflow#33381", "refused", spec(None, 4, 5))
def einsum_of_an_unusual_dense_layer() -> Callable[..., Any]:
    kernel, bias = weights(5, 6, 3), weights(3)
    return lambda x: tf.einsum("abc,cde->abde", x, kernel) + bias


@case(
    "tensorflow#44326 tensorflow#46565",
    "'tf.Einsum' is neither a custom op nor a flex op",
    *[spec(None, None, 2, 4)] * 3,
)
def einsum_of_attention() -> Callable[..., Any]:
    def attend(query: tf.Tensor, key: tf.Tensor, value: tf.Tensor) -> tf.Tensor:
        scores = tf.nn.softmax(tf.einsum("BTNH,BSNH->BNTS", query, key))
        return tf.einsum("BNTS,BSNH->BTNH", scores, value)

    return attend


@case("LiteRT#9022 tensorflow#124013", "an invalid RESHAPE of a scalar that is broadcast", spec(1, 2))
def matmul_with_a_broadcast_scalar() -> Callable[..., Any]:
    def multiply(x: tf.Tensor) -> tf.Tensor:
        added = tf.tile(tf.reshape(4.0, [1, 1, 1]), [1, tf.shape(x)[0], tf.shape(x)[-1]])
        column = tf.reshape(tf.broadcast_to(tf.constant(2.0), tf.shape(x)), (2, 1))
        return tf.matmul(tf.nn.relu(x + 2.0), column) + added

    return multiply


@case(
    "LiteRT#9215 XNNPACK#11036", "XNNPACK takes a FULLY_CONNECTED of seven dimensions, then ends the run", spec(1, 3, 2)
)
def fully_connected_of_seven_dimensions() -> Callable[..., Any]:
    other = weights(6, 1)

    def multiply(x: tf.Tensor) -> tf.Tensor:
        product = tf.tensordot(tf.reshape(x, (1, 1, 1, 6)), tf.reshape(other, (6, 1, 1, 1)), axes=1)
        return tf.expand_dims(product, -1)

    return multiply


@case("tensorflow#61967", "MUL and ADD are folded into the weights in the wrong order", spec(None, 2))
def scales_and_shifts_around_matmul() -> Callable[..., Any]:
    kernel, bias = weights(2, 1), weights(1)
    return lambda x: ((tf.matmul((x - 4.0) * -7.0, kernel) + bias) * -7.0 + 1.0) * -7.0


@case("tensorflow#39572", "a MUL and an ADD of one vector behind a dense layer are merged wrongly", spec(None, 66))
def matmul_times_and_plus_one_vector() -> Callable[..., Any]:
    kernel, bias, both = weights(66, 66), weights(66), weights(66)
    inner = tf.function(lambda x: x * both + both)
    return lambda x: inner(tf.nn.bias_add(tf.matmul(x, kernel), bias))


@case("tensorflow#65769", "'tfl.batch_matmul' expected 3 but got 2", spec(1, 5), spec(1, 5, 7))
def batch_matmul_of_a_new_dimension() -> Callable[..., Any]:
    return lambda x, y: tf.squeeze(tf.matmul(x[:, None], y), [1])


@case("here", "batches that broadcast against each other", spec(None, 1, 2, 3), spec(4, 3, 5))
def batch_matmul_that_broadcasts() -> Callable[..., Any]:
    return tf.matmul


@case("tensorflow#57697", "no run: a scalar and a constant of four dimensions before a dense layer", spec())
def dense_behind_a_scalar_that_gains_dimensions() -> Callable[..., Any]:
    dense = randomized(keras.layers.Dense(1), 1, 1, 1, 1)
    return lambda x: dense(x + tf.constant(1.1, shape=[1, 1, 1, 1]))


@case("tensorflow#61150", "the ADD of a vector of one element becomes the bias of another shape", spec(2, 2))
def matmul_plus_a_column() -> Callable[..., Any]:
    kernel, column = weights(2, 1), weights(2, 1)
    return lambda x: tf.matmul(x + tf.constant([1.0]), kernel) + column


@case("tensorflow#46724", "each run gives other numbers: a negated product into two outputs", spec(None, 8))
def matmul_and_its_negation() -> Callable[..., Any]:
    real, imaginary = weights(8, 5), weights(8, 5)
    return lambda x: [tf.matmul(x, real), -tf.matmul(x, imaginary)]


@case("LiteRT#8928", "without delegates a tensor that is still needed is written over", spec(None, 4, 6))
def fully_connected_in_a_branch_that_waits() -> Callable[..., Any]:
    first, second, third = weights(6, 6), weights(6, 6), weights(6, 6)

    def run(x: tf.Tensor) -> list[tf.Tensor]:
        waiting = tf.matmul(x, first)
        for _ in range(3):
            x = tf.nn.gelu(tf.matmul(x, second)) + x
        return [waiting, x, tf.matmul(tf.reshape(waiting, [-1, 6]), third)]

    return run


@case("here", "a table that is also the last layer's matrix was stored twice", spec(None, 4, dtype=tf.int32))
def tied_embeddings() -> Callable[..., Any]:
    table, scale = weights(10, 8), np.abs(weights(8)) + 0.5
    return lambda ids: tf.matmul(tf.gather(table, ids) * scale, table, transpose_b=True)


@case("here", "no run: rows of one-hot are looked up in the table, that of no class too", spec(3, dtype=tf.int32),
      inputs=[np.array([1, -1, 5], np.int32)])  # fmt: skip
def product_with_one_hot_rows_of_no_class() -> Callable[..., Any]:
    table = tf.constant(weights(5, 4))
    return lambda n: tf.one_hot(n, 5) @ table
