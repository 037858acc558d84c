"""How many numbers ranges of floats have, in TensorFlow and in LiteRT."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from fuseconv import testing
from fuseconv.tfl.range_size import float_range_size

_ENDS = [(0, 0.3, 0.1), (0, 0.6, 0.2), (0, 0.7, 0.1), (1, 0.1, -0.3), (0.5, 4.7, 0.35), (0, 5, 0.25), (2, 2, 1)]


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64], ids=lambda dtype: dtype.name)
def test_as_many_as_the_kernel_makes(dtype: tf.DType) -> None:
    rng = np.random.default_rng(0)
    steps = [(a, a + count * step, step) for a, step, count in zip(
        rng.integers(-9, 9, 30) / 10, rng.integers(1, 99, 30) / 100, rng.integers(1, 20, 30)
    )]  # fmt: skip
    for ends in (*_ENDS, *steps):
        start, limit, delta = (np.asarray(end).astype(dtype.as_numpy_dtype) for end in ends)
        made = tf.raw_ops.Range(start=tf.constant(start), limit=tf.constant(limit), delta=tf.constant(delta))
        assert float_range_size(start, limit, delta) == made.shape[0], ends


def test_what_is_no_number() -> None:
    zero, one = (np.array(number, np.float32) for number in (0, 1))
    assert float_range_size(zero, one, zero) is None


@pytest.mark.parametrize("ends", _ENDS[:3], ids=str)
def test_ranges_of_constants_and_of_what_a_run_tells(ends: tuple[float, float, float]) -> None:
    """The first is folded, of the second the op is left."""
    start, limit, delta = (np.float32(end) for end in ends)

    def ranges(x: tf.Tensor) -> list[tf.Tensor]:
        nothing = 0 * tf.reduce_sum(x)
        return [made * 2 + nothing for made in (tf.range(start, limit, delta), tf.range(start, limit + nothing, delta))]

    testing.check(ranges, tf.TensorSpec([None, 3]))
