"""Ranges that end where no reader tells more apart keep numbers exact."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from fuseconv.testing import check


def test_windows_that_a_mask_keeps_apart() -> None:
    """In steps of a range down to -100 scores would differ by 0.4, and be wrong by three times as much."""
    rng = np.random.default_rng(0)
    weights = [tf.constant(rng.standard_normal((8, 8)) * 0.4, tf.float32) for _ in range(3)]
    window = np.arange(6) // 3
    mask = np.where(window[:, None] == window, 0.0, -100.0).astype(np.float32)

    def attend(x: tf.Tensor) -> tf.Tensor:
        q, k, v = (x @ each for each in weights)
        return tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8**0.5 + mask) @ v

    def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(dtype)

    samples = [{"x0": draw(rng, (1, 6, 8), np.dtype(np.float32))} for _ in range(100)]
    check(attend, tf.TensorSpec((None, 6, 8)), atol=0.03, inputs=draw, batches=(1, 3), static=False, quantize="int8",
          calibration_data=samples)  # fmt: skip
