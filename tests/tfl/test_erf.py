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
