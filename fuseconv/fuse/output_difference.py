"""Comparison of the outputs of two programs on the same arrays: their relative difference, and the tolerance for
rounding."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

# Two right programs differ by the order of their sums, by some 1e-7 of the largest value for an op and by 1e-5 after a
# hundred; two that mean something else differ by more than 1e-4 of it.
_RELATIVE = 1e-4
_ABSOLUTE = 1e-6
# How much larger than what operands do that differ by so many units in the last place a difference may be.
_SHAKEN = 10.0
_LAST_BITS = 8

# What a program makes of arrays.
Compute = Callable[[list[np.ndarray]], list[np.ndarray]]


class Unverifiable(Exception):
    """Raised if the body and the fused op cannot be compared. The message says why."""


class NeverComparable(Unverifiable):
    """Raised if they cannot be compared for any choice of the unknown sizes."""


class Difference:
    """Accumulated result of a comparison: the largest relative difference, the number of draws, and why one is too
    large.

    A difference is no more than rounding if the body itself differs as much on operands that differ in their last bits:
    that of a long recurrence may, on large numbers or where it is chaotic. Such a draw says nothing."""

    def __init__(self) -> None:
        self.largest = 0.0
        self.draws = 0
        self.why = ""

    def add(self, fused: Compute, body: Compute, arrays: list[np.ndarray], overflows: bool) -> None:
        """Compare the outputs of the fused op on these arrays with the outputs of the body. overflows: they are large
        enough for the body to overflow where the fused op need not."""
        made, expected = fused(arrays), body(arrays)
        distances = [_distance(a, b, overflows) for a, b in zip(made, expected)]
        sizes = [_size(array) for array in expected]
        wrong = [n for n, (d, size) in enumerate(zip(distances, sizes)) if d > _ABSOLUTE + _RELATIVE * size]
        if wrong:
            if _differ(body(arrays), expected):
                if _differ(fused(arrays), made):
                    raise Unverifiable("both compute something else in each run")
                self.why = "it computes something else in each run"
                return
            nearby = body([_nearby(array) for array in arrays])
            for index in wrong:
                if distances[index] > _SHAKEN * _distance(nearby[index], expected[index], overflows):
                    self.why = _told(index, made[index], expected[index], distances[index])
                    return
            return
        self.draws += 1
        relative = [d / size if size else d for d, size in zip(distances, sizes)]
        self.largest = max(self.largest, *relative)


def _differ(some: list[np.ndarray], others: list[np.ndarray]) -> bool:
    return any(_distance(a, b, overflows=False) > 0 for a, b in zip(some, others))


def _distance(actual: np.ndarray, expected: np.ndarray, overflows: bool) -> float:
    """Return the largest absolute error of floats, or the number of unequal elements of other types. It is infinite for
    unequal shapes, and where one has infinity or NaN and the other another number.
    """
    if actual.shape != expected.shape:
        return math.inf
    if expected.dtype.kind not in "fc":
        return float(np.sum(actual != expected))
    apart, expects_finite = _infinite_in_one(actual, expected), np.isfinite(expected)
    if np.any(apart & expects_finite if overflows else apart):
        return math.inf
    finite = expects_finite & np.isfinite(actual)
    return float(np.abs(actual[finite] - expected[finite]).max(initial=0.0))


def _infinite_in_one(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return which elements are infinite or NaN in one array, and another number in the other."""
    same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    return ~same & ~(np.isfinite(actual) & np.isfinite(expected))


def _size(array: np.ndarray) -> float:
    """Return the largest absolute value of floats; 0 for types that are compared for equality."""
    return float(np.abs(array)[np.isfinite(array)].max(initial=0.0)) if array.dtype.kind in "fc" else 0.0


def _told(index: int, actual: np.ndarray, expected: np.ndarray, distance: float) -> str:
    if actual.shape != expected.shape:
        return f"result {index} has the shape {list(expected.shape)} there, {list(actual.shape)} here"
    if expected.dtype.kind not in "fc":
        return f"{distance:.0f} of the {expected.size} elements of result {index} differ"
    if math.isinf(distance):
        wrong = np.sum(_infinite_in_one(actual, expected))
        return f"{wrong} of the {expected.size} elements of result {index} are infinite or no number in one"
    return f"result {index} differs by {distance:.3g} where values reach {_size(expected):.3g}"


def _nearby(array: np.ndarray) -> np.ndarray:
    """Return floats that differ in their last bits."""
    if array.dtype.kind not in "fc":
        return array
    shaken = array.copy()
    shaken.flat[::2] *= 1 + _LAST_BITS * np.finfo(array.dtype).eps
    shaken.flat[1::2] *= 1 - _LAST_BITS * np.finfo(array.dtype).eps
    return shaken
