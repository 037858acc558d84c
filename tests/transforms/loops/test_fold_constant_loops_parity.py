"""What small loops on constants tell: the order of dimensions, tables."""

from __future__ import annotations

import pytest
import tensorflow as tf

from fuseconv.testing import check


@pytest.mark.parametrize("axes", [[-2, -1], [1, 2], [2, 1], [0, 2]])
def test_the_spectral_norm_of_matrices(axes: list[int]) -> None:
    """Its permutations are made by loops, which TensorFlow Lite cannot express as they stand."""
    spec = tf.TensorSpec([None if 0 not in axes else 5, 4, 3], tf.float32)
    converted = check(lambda x: tf.linalg.norm(x, ord=2, axis=axes), spec)
    assert sum(op == "WHILE" for op in converted.ops) == 1, "but for that of the singular values, no loop stays"


def test_a_table_that_is_made_step_by_step() -> None:
    def table(x: tf.Tensor) -> tf.Tensor:
        rows = tf.TensorArray(tf.float32, 6)
        for i in tf.range(6):
            angle = tf.cast(i, tf.float32) / 7.0
            row = tf.stack([tf.sin(angle), tf.cos(angle)]) if i % 2 == 0 else tf.stack([angle, 1.0 - angle])
            rows = rows.write(i, row)
        return x + rows.stack()

    assert check(table, tf.TensorSpec([None, 6, 2], tf.float32)).ops == ["ADD"]
