"""Errors of weights are undone by weights of inputs that are alike."""

from __future__ import annotations

import numpy as np
import pytest

from fuseconv.quantize import error_feedback
from fuseconv.quantize.error_feedback import Moments, round_with_feedback


def _alike(rows: int, inputs: int, seed: int) -> np.ndarray:
    """Return rows of inputs that are sums of a few hidden ones, and a little noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(rows, max(1, inputs // 4))) @ rng.normal(size=(max(1, inputs // 4), inputs))
    return hidden + 0.05 * rng.normal(size=(rows, inputs)) + 0.3


def test_inputs_that_have_nothing_in_common_are_rounded_to_the_nearest() -> None:
    weights = np.array([[0.4, -1.6, 3.2], [2.6, 0.1, -9.0]])
    stored = round_with_feedback(weights, np.array([1.0, 1.0, 2.0]), 4, np.diag([1.0, 3.0, 2.0]))
    assert stored.tolist() == [[0, -2, 2], [3, 0, -4]]


def test_two_inputs_that_are_one() -> None:
    covariance = np.array([[1.0, 0.999], [0.999, 1.0]])
    assert round_with_feedback(np.array([[0.4, 0.4]]), np.ones(2), 127, covariance).sum() == 1


@pytest.mark.parametrize("inputs", [3, 64, 130])
def test_results_are_more_exact(inputs: int) -> None:
    rows, later = _alike(800, inputs, 1), _alike(800, inputs, 1)[400:]
    moments = Moments()
    moments.add(rows[:400])
    weights = np.random.default_rng(2).normal(size=(5, inputs))
    steps = np.where(np.arange(inputs) % 2, 0.05, 0.1)
    found = round_with_feedback(weights, steps, 127, moments.covariance())
    assert (np.abs(found) <= 127).all() and (found == np.rint(found)).all()
    nearest, better = (
        (later - moments.mean) @ (weights - stored * steps).T for stored in (np.rint(weights / steps), found)
    )
    assert (better**2).mean() < 0.5 * (nearest**2).mean()


@pytest.mark.parametrize("pending", [1 << 20, 4000, 1])
def test_moments(pending: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(error_feedback, "_MOST_PENDING", pending)
    rows = _alike(1000, 6, 3)
    moments = Moments()
    for part in np.split(rows, 4):
        moments.add(part)
    assert len(moments.pending) == {1 << 20: 4, 4000: 1, 1: 0}[pending]
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0))
    plain = np.cov(rows.T, bias=True)
    np.testing.assert_allclose(moments.covariance(), plain + 0.01 * np.trace(plain) / 6 * np.eye(6))


def test_few_rows_and_constant_inputs_tell_little() -> None:
    moments = Moments()
    moments.add(np.ones((2, 4)))
    assert np.linalg.eigvalsh(moments.covariance()).min() > 0
    assert round_with_feedback(np.full((1, 4), 0.4), np.ones(4), 127, moments.covariance()).tolist() == [[0, 0, 0, 0]]


def test_too_many_inputs_are_left_out() -> None:
    moments = Moments()
    moments.add(np.zeros((1, 5000)))
    assert not moments.is_measured and moments.products is None
    moments.add(np.zeros((1, 4)))
    assert moments.is_measured


@pytest.mark.parametrize("seed", range(10))
def test_rows_that_are_all_the_same(seed: int) -> None:
    """Their variance is the rounding of their squares, which may be below zero."""
    rng = np.random.default_rng(seed)
    row, moments = rng.standard_normal(7, np.float32), Moments()
    for count in range(1, 60):
        moments.add(np.repeat(row[None], count, axis=0))
    stored = round_with_feedback(rng.standard_normal((3, 7)), np.full((3, 1), 0.01), 127, moments.covariance())
    assert np.isfinite(stored).all()


@pytest.mark.parametrize("size", [3, 64, 65, 150])
def test_the_factor_of_an_inverse(size: int) -> None:
    rows = np.random.default_rng(size).normal(size=(3 * size, size))
    covariance = rows.T @ rows + np.eye(size)
    factor = error_feedback._inverse_factor(covariance)
    assert not np.tril(factor, -1).any()
    np.testing.assert_allclose(factor.T @ factor @ covariance, np.eye(size), atol=1e-8)
