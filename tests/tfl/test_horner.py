"""Polynomials by Horner's scheme."""

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.lower.rules import Lowering
from fuseconv.tfl.horner import odd_polynomial, polynomial


def builder() -> Lowering:
    """A builder that folds what is made of constants."""
    return Lowering([], Op("tf.Erf"))


def test_falling_powers():
    tfl = builder()
    assert polynomial(tfl, tfl.const(np.float32(3)), (2.0, 0.5)).data == 6.5
    assert polynomial(tfl, tfl.const(np.float32(3)), (1.0, 0.0, -2.0, 0.25)).data == 21.25


def test_odd_powers():
    tfl = builder()
    assert odd_polynomial(tfl, tfl.const(np.float32(-2)), (0.5, 3.0)).data == -10
