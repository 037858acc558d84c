"""What is a difference between a fused op and a body, and what is rounding."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.fuse.output_difference import Compute, Difference, Unverifiable

X = [np.linspace(0.5, 2, 4).astype(np.float32)]


def square(arrays: list[np.ndarray]) -> list[np.ndarray]:
    return [arrays[0] ** 2]


def test_rounding_is_no_difference() -> None:
    found = Difference()
    found.add(lambda arrays: [arrays[0] ** 2 * np.float32(1 + 1e-6)], square, X, False)
    assert not found.why and found.draws == 1 and 0 < found.largest < 1e-5


def test_another_function_is_one() -> None:
    found = Difference()
    found.add(lambda arrays: [arrays[0] ** 3], square, X, False)
    assert found.why and not found.draws


@pytest.mark.parametrize(("made", "of_body"), [(np.inf, -np.inf), (np.nan, np.inf), (1.0, np.nan), (np.nan, 1.0)])
def test_other_infinities_and_what_is_no_number(made: float, of_body: float) -> None:
    def ending(number: float) -> Compute:
        return lambda arrays: [np.append(arrays[0], np.float32(number))]

    found, same = Difference(), Difference()
    found.add(ending(made), ending(of_body), X, False)
    same.add(ending(of_body), ending(of_body), X, False)
    assert "infinite or no number" in found.why and not same.why


def test_what_differs_from_run_to_run() -> None:
    rng = np.random.default_rng(0)

    def noise(arrays: list[np.ndarray]) -> list[np.ndarray]:
        return [rng.standard_normal(4).astype(np.float32)]

    found = Difference()
    found.add(square, noise, X, False)
    assert found.why == "it computes something else in each run"
    with pytest.raises(Unverifiable, match="both compute something else in each run"):
        Difference().add(noise, noise, X, False)
