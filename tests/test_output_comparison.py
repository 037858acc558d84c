"""What passes as equal, and what does not."""

from __future__ import annotations

import re

import numpy as np
import pytest

from fuseconv.output_comparison import ATOL, RTOL, Comparison, compare


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("expected", "actual", "absolute", "relative"),
    [
        (floats(1, 2), floats(1, 2), 0, 0),
        (floats(1, -2), floats(1.0001, -2), 1e-4, 5e-5),
        (floats(0, 0), floats(0, 0), 0, 0),
        (floats(NAN, INF, -INF, 4), floats(NAN, INF, -INF, 4), 0, 0),
        (floats(), floats(), 0, 0),
        (np.array([2**62, 1]), np.array([2**62, 1]), 0, 0),
        (np.array(["a", "b"]), np.array([b"a", b"b"], object), 0, 0),
        (np.array([1 + 1j]), np.array([1 + 1j]), 0, 0),
    ],
)
def test_what_passes(expected: np.ndarray, actual: np.ndarray, absolute: float, relative: float) -> None:
    result = compare(expected, actual, ATOL, RTOL)
    assert result[0] == pytest.approx(absolute, rel=1e-3)
    assert result[1] == pytest.approx(relative, rel=1e-3)
    assert not result[2]


@pytest.mark.parametrize(
    ("expected", "actual", "why"),
    [
        (floats(1, 2), floats(1.001, 2), "a difference of 0.001 where 0.000201 is allowed"),
        (floats(0, 0), floats(0, 1e-3), "a difference of 0.001 where 1e-06 is allowed"),
        (floats(1, NAN), floats(1, 1), "1 of 2 elements NaN or infinite on one side only"),
        (floats(1, INF), floats(1, -INF), "1 of 2 elements NaN or infinite on one side only"),
        (floats(1, 2), floats(1), r"the shape \[1\] instead of \[2\]"),
        (np.zeros((0, 3)), np.zeros((3, 0)), r"the shape \[3, 0\] instead of \[0, 3\]"),
        (floats(1), np.array([1.0]), "the type float64 instead of float32"),
        (np.array([1, 2]), np.array([1, 3]), "1 of 2 elements wrong by up to 1"),
        (np.array([2**62]), np.array([2**62 + 1]), "1 of 1 elements wrong"),
        (np.array([True, False]), np.array([True, True]), "1 of 2 elements wrong"),
        (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object), "1 of 2 strings wrong"),
    ],
)
def test_what_fails(expected: np.ndarray, actual: np.ndarray, why: str) -> None:
    assert re.match(why, compare(expected, actual)[2])


def test_runs_of_a_quantized_file_are_judged_by_the_largest_value_of_all() -> None:
    row = Comparison("serving_default", "y", "float32")
    row.add_unjudged(floats(0, 100), floats(0, 100))
    row.add_unjudged(floats(0, 0.1), floats(0, 0.4))
    row.judge(0.0, 0.01)
    assert row.passed and row.relative == pytest.approx(0.003)
    row.judge(0.0, 0.001)
    assert row.why == "a difference of 0.3 where 0.1 is allowed"
