"""The error function in ops of TFLite, which has no kernel for it."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.horner import polynomial

# erf(x) = tanh(x * p(x * x)), p of falling powers: fitted for |x| <= 4 with a relative error of erf below 2.5e-7. Where
# |x| is larger, erf is 1 in float32.
_ERF = (
    1.4196397195601683e-07, -5.670196981416356e-06, 8.764630143733078e-05, -0.0006198039556606975,
    -0.00019181419803937603, 0.10276905122762485, 1.1283792744824277,
)  # fmt: skip
_RANGE = 4.0


def erf(tfl: Builder, x: Value, scale: float = 1.0) -> Value:
    """Return erf(scale * x) of float32, to 2.5e-7 of it.

    Where x is beyond the range, p is what it is at its end, and tanh(x * p) is 1 in float32. So only the square is
    bounded, and three tensors besides x are needed at once."""
    coefficients = [c * scale ** (2 * power + 1) for power, c in enumerate(reversed(_ERF))][::-1]
    # In this order TFLite's kernels keep NaN.
    square = tfl.minimum(np.float32((_RANGE / scale) ** 2), tfl.mul(x, x))
    return tfl.tanh(tfl.mul(polynomial(tfl, square, coefficients), x))
