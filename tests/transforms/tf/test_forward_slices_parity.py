"""Slices of joins, against TensorFlow."""

from __future__ import annotations

import tensorflow as tf

from fuseconv.testing import check

SIZE = 6


def test_rows_that_are_set_one_after_the_other() -> None:
    """The inverse of a triangular matrix, as the delta rule of linear attention computes it."""

    def inverse(x):
        lower = tf.linalg.band_part(x, -1, 0) - tf.linalg.band_part(x, 0, 0)
        for i in range(1, SIZE):
            row = lower[..., i : i + 1, :i]
            fixed = lower[..., i, :] + tf.pad(tf.squeeze(row @ lower[..., :i, :i], -2), [[0, 0], [0, 0], [0, SIZE - i]])
            parts = [lower[..., :i, :], tf.expand_dims(fixed, -2), lower[..., i + 1 :, :]]
            lower = tf.concat(parts, -2)
        return lower + tf.eye(SIZE)

    converted = check(inverse, tf.TensorSpec([None, 3, SIZE, SIZE], tf.float32))
    # In each step: a row with its begin, the square above it, and the rows up to this one.
    assert converted.ops.count("STRIDED_SLICE") <= 3 * SIZE
    assert converted.ops.count("CONCATENATION") <= SIZE


def test_parts_of_what_was_joined() -> None:
    def parts(x, y):
        joined = tf.concat([x, y, x * 2], 1)
        return joined[:, :3, 1], joined[:, 3:8, ::2], joined[:, -2:], joined[:, 4, tf.newaxis], joined[0, 8]

    specs = tf.TensorSpec([None, 3, 4], tf.float32), tf.TensorSpec([None, 5, 4], tf.float32)
    assert "CONCATENATION" not in check(parts, *specs).ops
