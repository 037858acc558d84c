"""Comparison of the outputs of a model with those of a file: what differs by more than rounding."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from fuseconv.verification_inputs import as_bytes

# Two correct float32 programs differ by the order of their sums: by some 1e-7 of the largest value for an op, and by
# 1e-5 after a hundred layers. A wrong program differs by far more than 1e-4 of it.
RTOL = 1e-4
ATOL = 1e-6
# Where a model rounds to 16 bits after each op, a sum in another order is some last bits off: eight halves of them.
HALF_RTOL = {"": RTOL, "float16": 8 * 2.0**-11, "bfloat16": 8 * 2.0**-8}


@dataclass
class Comparison:
    """One output over all runs.

    absolute: the largest difference; relative: the largest quotient of a run's largest difference and its largest
    expected value. None if the arrays could not be compared or it is not finite. why: what failed, else empty. largest:
    the largest expected value of all runs, if these are judged together.
    """

    signature: str
    output: str
    dtype: str
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    absolute: float | None = 0.0
    relative: float | None = 0.0
    why: str = ""
    largest: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.why

    def add_unjudged(self, expected: np.ndarray, actual: np.ndarray) -> None:
        """Take in a run whose differences `judge` compares with the largest expected value of all of them."""
        self.add(expected, actual, math.inf, 0.0)
        if expected.dtype.kind in "fc":
            found = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
            self.largest = max(self.largest, float(found))

    def judge(self, atol: float, rtol: float) -> None:
        """Judge the runs of a file of measured ranges: its steps are parts of these, however small the values of one
        are."""
        if self.absolute is not None and self.largest:
            self.relative = self.absolute / self.largest
        allowed = atol + rtol * self.largest
        if not self.why and self.absolute is not None and self.absolute > allowed:
            self.why = f"a difference of {self.absolute:.3g} where {allowed:.3g} is allowed"

    def add(self, expected: np.ndarray, actual: np.ndarray, atol: float, rtol: float) -> None:
        """Take in one run."""
        if expected.shape not in self.shapes:
            self.shapes.append(expected.shape)
        absolute, relative, why = compare(expected, actual, atol, rtol)
        self.absolute = None if absolute is None or self.absolute is None else max(absolute, self.absolute)
        self.relative = None if relative is None or self.relative is None else max(relative, self.relative)
        self.why = self.why or why


def compare(
    expected: np.ndarray, actual: np.ndarray, atol: float = ATOL, rtol: float = RTOL
) -> tuple[float | None, float | None, str]:
    """Compare two arrays -> (largest absolute difference, that over the largest |expected|, what is wrong or "").

    Floats pass if every |actual - expected| <= atol + rtol * max|expected|, over the finite elements; infinities and
    NaN must stand in the same places. Whole numbers, booleans and strings must be equal. Shapes and types must agree.
    """
    if expected.dtype.kind in "OSU" and actual.dtype.kind in "OSU":
        if expected.shape != actual.shape:
            return None, None, f"the shape {list(actual.shape)} instead of {list(expected.shape)}"
        wrong = sum(as_bytes(a) != as_bytes(b) for a, b in zip(expected.flat, actual.flat, strict=True))
        return (None, None, f"{wrong} of {expected.size} strings wrong") if wrong else (0.0, 0.0, "")
    if expected.dtype != actual.dtype:
        return None, None, f"the type {actual.dtype} instead of {expected.dtype}"
    if expected.shape != actual.shape:
        return None, None, f"the shape {list(actual.shape)} instead of {list(expected.shape)}"
    exact = expected.dtype.kind in "biu"
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    want, have = expected.astype(wide), actual.astype(wide)
    finite = np.isfinite(want) & np.isfinite(have)
    same = finite | (want == have) | (np.isnan(want) & np.isnan(have))
    if not same.all():
        return None, None, f"{np.count_nonzero(~same)} of {same.size} elements NaN or infinite on one side only"
    difference = np.subtract(want, have, out=np.zeros_like(want), where=finite)
    absolute = float(np.max(np.abs(difference), initial=0.0))
    largest = float(np.max(np.abs(want), where=finite, initial=0.0))
    relative = absolute / largest if largest else (0.0 if absolute == 0 else math.inf)
    finite_relative = relative if math.isfinite(relative) else None
    # int64 does not fit float64: equality decides, the difference is for show.
    wrong = int(np.count_nonzero(expected != actual)) if exact else 0
    if wrong:
        return absolute, finite_relative, f"{wrong} of {expected.size} elements wrong by up to {absolute:g}"
    if not exact and absolute > atol + rtol * largest:
        return absolute, finite_relative, f"a difference of {absolute:.3g} where {atol + rtol * largest:.3g} is allowed"
    return absolute, finite_relative, ""
