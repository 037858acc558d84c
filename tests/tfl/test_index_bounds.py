"""Inputs that are indices, and the sizes of the tables that they are looked up in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.inspecting import describe
from fuseconv.testing import convert_function
from fuseconv.tfl.index_bounds import index_bounds

TABLE = np.random.default_rng(0).standard_normal((30, 4), np.float32)


def looped(x: tf.Tensor) -> tf.Tensor:
    body = lambda i, ids, total: (i + 1, ids, total + tf.gather(TABLE, ids))  # noqa: E731
    return tf.while_loop(lambda i, *_: i < tf.shape(x)[0], body, (0, tf.cast(x, tf.int32), tf.zeros((5, 4))))[2]


@pytest.mark.parametrize(
    ("compute", "bound"),
    [
        (lambda x: tf.gather(TABLE, tf.cast(x, tf.int32)), (30, "GATHER")),
        (lambda x: tf.gather(TABLE, tf.cast(tf.reshape(x, [-1, 1]), tf.int64)[1:]), (30, "GATHER")),
        (lambda x: tf.gather(TABLE, tf.cast(x, tf.int32), axis=1), (4, "GATHER")),
        (lambda x: tf.one_hot(tf.cast(tf.floor(x), tf.int32), 11), (11, "ONE_HOT")),
        (lambda x: tf.gather_nd(TABLE, tf.cast(tf.stack([x, x], 1), tf.int32)), (4, "GATHER_ND")),
        (lambda x: tf.gather(TABLE, tf.cast(x, tf.int32)) + tf.reduce_sum(
            tf.one_hot(tf.cast(x, tf.int32), 11)), (11, "ONE_HOT")),
        (looped, (30, "GATHER")),
        (lambda x: tf.gather(x, [0, 2]), None),
        (lambda x: tf.gather(TABLE, tf.cast(x + 1, tf.int32)), None),
    ],
)  # fmt: skip
def test_indices_are_followed_to_their_table(compute: Callable, bound: Any) -> None:
    converted = convert_function(compute, tf.TensorSpec([5], tf.float32))
    document = describe(converted.data, "file")
    (signature,) = document["signatures"]
    assert list(index_bounds(document, signature["subgraph"], signature["inputs"]).values()) == [bound] * bool(bound)
