"""The error function by TANH, in LiteRT."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.tfl.erf import erf
from tests.tfl.interpret import run


def test_it_is_right_to_the_last_bits() -> None:
    x = np.concatenate([np.linspace(-5, 5, 2001), [1e-6, -1e-20, 0]]).astype(np.float32)
    (found,) = run(erf, x)
    expected = np.array([math.erf(float(number)) for number in x])
    np.testing.assert_allclose(found, expected, rtol=5e-7, atol=1e-30)


def test_of_a_multiple() -> None:
    x = np.linspace(-9, 9, 2001).astype(np.float32)
    (found,) = run(lambda tfl, value: erf(tfl, value, 0.5), x)
    np.testing.assert_allclose(found, [math.erf(0.5 * float(number)) for number in x], rtol=5e-7, atol=1e-30)


def test_beyond_the_range() -> None:
    x = np.array([4, -4, 5, -1e5, 1e19, -3e38, np.inf, -np.inf, np.nan], np.float32)
    (found,) = run(erf, x)
    np.testing.assert_array_equal(found, [1, -1, 1, -1, 1, -1, 1, -1, np.nan])
