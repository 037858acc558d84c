"""Sizes of data that is transposed for nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tensorflow as tf

from fuseconv.testing import check

X = tf.TensorSpec([None, None, 3])


def _moved(x: tf.Tensor) -> tf.Tensor:
    return tf.transpose(x, [1, 2, 0])


@pytest.mark.parametrize("axis", [0, 2, -1, -3])
def test_one_size(axis: int) -> None:
    ops = check(lambda x: tf.fill([2, tf.shape(_moved(x))[axis]], 1.5), X).ops
    assert "TRANSPOSE" not in ops


def test_a_vector_of_one_size() -> None:
    ops = check(lambda x: tf.ones(tf.concat([tf.shape(_moved(x))[2:3], [4]], 0)), X).ops
    assert "TRANSPOSE" not in ops


def test_data_that_others_read_stays() -> None:
    ops = Counter(check(lambda x: (_moved(x), tf.ones(tf.shape(_moved(x))[2])), X).ops)
    assert (ops["TRANSPOSE"], ops["SHAPE"]) == (1, 1)


@pytest.mark.parametrize("sizes", [lambda s: s[1:], lambda s: tf.reverse(s, [0]), lambda s: s[-1:]])
def test_several_sizes(sizes: Any) -> None:
    check(lambda x: tf.ones(sizes(tf.shape(_moved(x)))), X)
