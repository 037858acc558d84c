"""Where LiteRT's integer kernel of DIV is right.

It normalizes both numbers, and shifts their quotient right by what is left. Of a small number over a large one that are
more than the 31 bits there are, and the result is any number, such as the least or the largest: -0.02 / 1.02 = -6.2.
"""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir.graph import Quantization
from fuseconv.ir.types import DType

# The kernel divides scales as numbers of 32 bits: nearer to a power of two, which decides, it may see another side.
_ROUNDING = 1e-6


def divides(
    numerator: Quantization, divisor: Quantization, result: Quantization, dtype: DType, negative: bool = False,
    least: int = 1,
) -> bool:  # fmt: skip
    """Return whether DIV is right for all integers of these scales: whether a step of the numerator over the largest
    divisor is no less than about half a step of the result, so that the shift has at most 31 bits. negative: divisors
    are below zero; no others are. least: the steps of the least numerator but zero."""
    ends = np.iinfo(dtype.numpy)
    largest = abs((ends.min if negative else ends.max) - divisor.zero_point[0])
    # Of -1 all bits but one can be shifted out, of 1 one less, of larger numbers as many less as they have.
    is_positive = numerator.zero_point == divisor.zero_point == (ends.min,)
    bits = largest.bit_length() - 1 - (least if is_positive else least - 1).bit_length()
    ratio = numerator.scale[0] / (divisor.scale[0] * result.scale[0])
    return math.frexp(ratio * (1 - _ROUNDING))[1] >= bits


def least_steps(numerators: np.ndarray | None, scale: Quantization) -> int:
    """Return how many steps of a scale the least of constant numerators has at least, but for zeros; 1 if they are not
    constant."""
    known = np.abs(numerators[numerators != 0]) if numerators is not None else np.zeros(0)
    return max(1, int(known.min() / scale.scale[0] - 0.5)) if known.size else 1
