"""Hurwitz's zeta function and the derivatives of digamma, against float64."""

import numpy as np
import pytest
import tensorflow as tf

from fuseconv.testing import check
from tests.lower.ops.math.test_incomplete import draw, positive, results


def assert_right(function, first: np.ndarray, second: np.ndarray, rtol: float) -> None:
    exact = function(tf.constant(first, tf.float64), tf.constant(second, tf.float64)).numpy()
    seen = (np.abs(exact) > 1e-30) & (np.abs(exact) < 1e38)
    for made in results(function, first, second):
        np.testing.assert_allclose(made[seen], exact[seen], rtol=rtol)
        # Terms that float32 has no room for are 0.
        np.testing.assert_allclose(made[np.abs(exact) <= 1e-30], exact[np.abs(exact) <= 1e-30], atol=1e-36)


def test_zeta_over_the_range():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(3000) < 0.5, 1 + positive(rng, 1e-4, 60), rng.integers(2, 30, 3000)).astype(np.float32)
    assert_right(tf.math.zeta, x, positive(rng, 1e-3, 1e3), 2e-6)


def test_zeta_of_negative_numbers():
    rng = np.random.default_rng(1)
    x, q = rng.integers(1, 5, 500).astype(np.float32) * 2, rng.uniform(-30, 0, 500).astype(np.float32)
    assert_right(tf.math.zeta, x, q, 2e-6)  # of even x, no terms cancel


def test_polygamma_over_the_range():
    rng = np.random.default_rng(2)
    assert_right(tf.math.polygamma, rng.integers(0, 12, 3000).astype(np.float32), positive(rng, 0.1, 200), 2e-6)


@pytest.mark.parametrize("function, orders", [
    (tf.math.zeta, (0, -1, 0.5, 1, 1 + 1e-6, 2, 2.5, 3, 50, 1e3, np.inf, np.nan)),
    (tf.math.polygamma, (0, -1, 0.5, 1, 2, 3, 40, np.nan)),
])  # fmt: skip
def test_the_ends(function, orders):
    ends = np.meshgrid(orders, (0, -1, -2, -0.5, -1.5, 1e-4, 1, 3, 1e3, 1e30, np.inf, np.nan))
    first, second = (each.ravel().astype(np.float32) for each in ends)
    expected = function(first, second).numpy()
    for made in results(function, first, second):
        # Sums and products end at the largest number where no delegate runs.
        made = np.where(np.abs(made) >= np.finfo(np.float32).max, np.copysign(np.inf, made), made)
        np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-30)


def test_other_shapes():
    check(lambda x: tf.math.polygamma(2.0, x), tf.TensorSpec([None, 3]), inputs=draw)
    check(tf.math.polygamma, tf.TensorSpec([]), tf.TensorSpec([None, 0]), inputs=draw)
    check(lambda x, q: tf.math.zeta(x + 1.0, q), tf.TensorSpec([None, 1, 4]), tf.TensorSpec([3, 1]), inputs=draw)
