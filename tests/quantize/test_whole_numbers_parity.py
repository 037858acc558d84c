"""Warps in integers read the pixels that TensorFlow reads."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check


def _warped(x: tf.Tensor, grid: tf.Tensor) -> tf.Tensor:
    """Return an image between whose pixels numbers are interpolated. grid: of coordinates, -1 to 1."""
    at = tf.clip_by_value((grid + 1) * 3.5, 0.0, 7.0)
    first = tf.minimum(tf.floor(at), 6.0)
    last = tf.cast(first + 1, tf.int32)
    part, index = at - first, tf.cast(first, tf.int32)
    left, right = (tf.gather(x, each, axis=1, batch_dims=1) for each in (index, last))
    return left + (right - left) * part[..., None]


@pytest.mark.parametrize("quantize", ["int8", "int16x8"])
def test_a_warp(quantize: str) -> None:
    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-1.2, 1.2, shape).astype(dtype)

    rng = np.random.default_rng(1)
    specs = tf.TensorSpec((None, 8, 3)), tf.TensorSpec((None, 5))
    samples = [{f"x{n}": draw(rng, (3, *spec.shape[1:]), np.dtype(np.float32)) for n, spec in enumerate(specs)}
               for _ in range(20)]  # fmt: skip
    check(
        _warped, *specs, atol=0.1 if quantize == "int8" else 0.01, inputs=draw, batches=(1, 3), static=False,
        quantize=quantize, calibration_data=samples,
    )  # fmt: skip
