"""Shapes, slices, gathers: what moves elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from testdata.museum.case import case, floats, spec, weights


@case("tensorflow#118180 tensorflow#116047", "taken for the identity", spec(3, 4))
def columns_under_each_other() -> Callable[..., Any]:
    return lambda x: tf.reshape(tf.concat(tf.unstack(tf.reshape(x, [3, 4, 1]), axis=1), 0), [3, 4])


@case("tensorflow#123996", "the values and the index of the second TOPK_V2 are wrong", spec(1, 6))
def top_of_the_top() -> Callable[..., Any]:
    def best(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        values, _ = tf.nn.top_k(x, 3)
        return tf.nn.top_k(tf.nn.leaky_relu(values), 1)

    return best


@case("tensorflow#61452", "refused for a k of 64 bits", spec(None, 7))
def top_k_of_a_wide_k() -> Callable[..., Any]:
    return lambda x: tf.math.top_k(x, tf.constant(5, tf.int64))


@case("tensorflow#42481 tensorflow#42579", "wrong masks behind an ellipsis", spec(None, 3, 4, 5))
def slice_behind_an_ellipsis() -> Callable[..., Any]:
    return lambda x: [x[..., :1, 2:], x[0, ..., ::-2], x[..., tf.newaxis, 1]]


@case("keras-hub#2608", "a new dimension of a mask needs Flex", spec(None, 3, 4, dtype=tf.bool))
def new_dimension_of_a_mask() -> Callable[..., Any]:
    return lambda mask: mask[:, None, :, :]


@case("keras-hub#2782", "'tfl.zeros_like' takes no booleans", spec(None, 4, dtype=tf.bool))
def zeros_like_a_mask() -> Callable[..., Any]:
    return lambda mask: [tf.zeros_like(mask), tf.logical_or(mask, tf.ones_like(mask))]


@case("tensorflow#35551", "'tfl.reverse_v2' takes no booleans", spec(None, 5, 1, dtype=tf.bool))
def reversed_mask() -> Callable[..., Any]:
    return lambda mask: tf.reverse(mask, [1])


@case("tensorflow#62585 tensorflow#48914", "elements from outside of the tensor", spec(None, 3, 4))
def mirror_pad_as_far_as_it_goes() -> Callable[..., Any]:
    pads = [[0, 0], [2, 2], [3, 3]]
    return lambda x: [tf.pad(x, pads, "REFLECT"), tf.pad(x, [[0, 0], [3, 3], [4, 4]], "SYMMETRIC")]


@case("tensorflow#31577", "the runtime takes fewer dimensions", spec(None, 1, 1, 3, 2, 2))
def broadcast_to_six_dimensions() -> Callable[..., Any]:
    return lambda x: tf.broadcast_to(x, [tf.shape(x)[0], 4, 2, 3, 2, 2])


@case(
    "tensorflow#42923 tensorflow#43271",
    "the runtime aborts in BroadcastMul4DSlow",
    spec(None, 2, 1, 3, 4),
    spec(1, 2, 5, 1, 4),
)
def product_of_five_dimensions() -> Callable[..., Any]:
    return lambda x, y: [x * y, x + y]


@case("tensorflow#42923", "TRANSPOSE takes at most five dimensions, or six", spec(None, 2, 3, 2, 2, 3, 2))
def transpose_of_seven_dimensions() -> Callable[..., Any]:
    return lambda x: tf.transpose(x, [0, 4, 2, 6, 1, 3, 5])


@case("tensorflow#32740", "a slice and a transpose are refused", spec(None, 6, 4))
def slice_and_transpose() -> Callable[..., Any]:
    return lambda x: tf.transpose(tf.slice(x, [0, 1, 0], [-1, 3, -1]), [2, 0, 1])


@case("tensorflow#50286 tensorflow#42286", "SHAPE, STRIDED_SLICE and PACK before each RESHAPE", spec(None, 10, 10))
def keras_reshape() -> Callable[..., Any]:
    return keras.layers.Reshape((50, 2))


@case("tensorflow#46285", "'tf.Size' is neither a custom op nor a flex op", spec(None, 3, None))
def size_of_unknown_sizes() -> Callable[..., Any]:
    return lambda x: [tf.size(x), tf.rank(x), tf.size(x, tf.int64)]


@case("tensorflow#42180", "GATHER knows no batch dimensions", spec(None, 5, 3), spec(None, 4, dtype=tf.int32))
def gather_with_batch_dimensions() -> Callable[..., Any]:
    return lambda x, n: tf.gather(x, n % 5, axis=1, batch_dims=1)


@case("tensorflow#30131", "unknown to the runtime", spec(3, 2), inputs=[floats([1, 2], [3, 4], [5, 6])])
def scatter_with_repeated_indices() -> Callable[..., Any]:
    return lambda x: tf.scatter_nd([[1], [3], [1]], x, [5, 2])


@case(
    "here",
    "updates of one row are added up, and NaN stays where it is replaced",
    spec(None, 2),
    spec(None, 1, dtype=tf.int32),
    inputs=[floats([1, np.nan], [3, 4], [5, 6]), np.array([[2], [0], [2]], np.int32)],
)
def updates_with_repeated_indices() -> Callable[..., Any]:
    return lambda x, rows: tf.tensor_scatter_nd_update(x, rows, tf.constant(weights(3, 2)))


@case("tensorflow#44520", "a constant that is sliced at run time becomes zeros", spec(None, None, 4))
def positions_sliced_at_run_time() -> Callable[..., Any]:
    table = tf.constant(weights(1, 20, 4))
    return lambda x: x + 0.69 * table[:, : tf.shape(x)[1], :]


@case("tensorflow#51459", "'tf.Roll' is neither a custom op nor a flex op", spec(None, 4, 5))
def roll() -> Callable[..., Any]:
    return lambda x: tf.roll(x, [1, -2], [1, 2])


@case(
    "tensorflow#57703",
    "'tf.Cast' of an image is neither a custom op nor a flex op",
    spec(None, 4, 4, 3, dtype=tf.uint8),
)
def image_of_bytes_to_floats() -> Callable[..., Any]:
    return lambda x: tf.cast(x, tf.float32) / 255.0


@case("tensorflow#48482", "no run: the shape behind 'tf.all' is wrong", spec(None, 3, 4))
def all_of_a_comparison() -> Callable[..., Any]:
    return lambda x: tf.where(tf.reduce_all(x > -1.0, [1, 2]), tf.reduce_sum(x, [1, 2]), 0.0)


@case("here", "the rows that are not zero, whose number only a run tells", spec(None, 4))
def rows_that_are_chosen() -> Callable[..., Any]:
    return lambda x: [tf.boolean_mask(x, x[:, 0] > 0), tf.where(x > 0.5)]


@case("here", "a one-hot matrix of 64-bit indices with an axis", spec(None, dtype=tf.int64))
def one_hot_of_wide_indices() -> Callable[..., Any]:
    return lambda n: tf.one_hot(n, 6, on_value=2.0, off_value=-1.0, axis=0)


@case("here", "a batch of none", spec(None, 4), inputs=[np.zeros((0, 4), np.float32)])
def batch_of_none() -> Callable[..., Any]:
    kernel = weights(4, 3)
    return lambda x: [tf.concat([tf.matmul(x, kernel), x], 1), tf.nn.softmax(x)]


@case("here", "LiteRT writes over a sum's operand by its other shape, which is still to be read", spec(None, 3))
def what_is_changed_in_another_shape() -> Callable[..., Any]:
    factors = weights(3)

    def run(x: tf.Tensor) -> list[tf.Tensor]:
        scaled = tf.exp(x) * factors
        return [tf.sin(tf.reshape(scaled, [-1]) * 2.0), tf.cos(scaled)]

    return run


@case("here", "refused: the gradient of a slice of what has an unknown size", spec(None, None, 3))
def gradient_of_a_slice_of_unknown_size() -> Callable[..., Any]:
    def run(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.tanh(x[:, 1:] - x[:, :-1]) * x[:, ::2, :1][:, :1])
        return tape.gradient(loss, x)

    return run
