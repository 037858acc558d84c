"""Rows that are padded in the place of pixels, with TensorFlow's numbers."""

from __future__ import annotations

import pytest
import tensorflow as tf

from fuseconv.testing import check


@pytest.mark.parametrize("shape", [[None, 1300, 1], [None, 37, 29, 3], [2, 8, 9, 11, 5]])
def test_a_pad_of_narrow_pixels(shape: list[int | None]) -> None:
    paddings = [[0, 0], *[[1, 2]] * (len(shape) - 2), [0, 0]]
    converted = check(lambda x: tf.exp(tf.pad(x, paddings)), tf.TensorSpec(shape))
    assert converted.ops.count("RESHAPE") == 2, converted.ops
