"""Weights are rounded so that the errors of each channel cancel."""

from __future__ import annotations

import numpy as np
import pytest

import fuseconv.quantize.rounding as module
from fuseconv.quantize.rounding import round_to_halves, round_to_integers


def _weights(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(0, 1, shape).astype(np.float32)


def test_a_weight_near_the_middle_moves() -> None:
    array = np.array([[1.45, 2.4, 5.3, 0.0], [1.4, -2.4, 5.3, -0.4]], np.float32)
    assert round_to_integers(array, np.float32(1.0), 127, 0).tolist() == [[2, 2, 5, 0], [1, -2, 5, 0]]
    assert round_to_integers(array, np.float32(1.0), 127, None).tolist() == [[1, 2, 5, 0], [1, -2, 5, 0]]


@pytest.mark.parametrize("block", [1, 1 << 18])
def test_of_weights_that_lie_as_near_the_first_move(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    array = np.array([[0.4375] * 10, [-3.4375] * 10], np.float32)
    assert round_to_integers(array, np.float32(1.0), 127, 0).tolist() == [[1] * 4 + [0] * 6, [-4] * 4 + [-3] * 6]
    assert (round_to_halves(1 + array[:1] / 1024, 0) == 1 + np.array([1] * 4 + [0] * 6) / 1024).all()


@pytest.mark.parametrize("block", [64, 1 << 18])
@pytest.mark.parametrize("outputs", [0, 3])
def test_sums_of_each_channel_are_those_of_the_floats(
    outputs: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    array = _weights(6, 3, 3, 5)
    others = tuple(axis for axis in range(4) if axis != outputs)
    scales = np.abs(array).max(axis=others, keepdims=True) / 127
    stored = round_to_integers(array, scales, 127, outputs)
    sums = np.abs((stored * scales - array).sum(axis=others) / scales.ravel())
    assert sums.max() <= 0.51
    assert np.abs(np.rint(array / scales) - array / scales).sum(axis=others).max() > 1  # there was something to cancel
    errors = np.abs(stored - array / scales)
    assert errors.max() < 1.01 and (errors > 0.5).mean() < 0.2 and np.abs(stored).max() <= 127


def test_halves() -> None:
    array = 3 * _weights(4, 500)
    stored = round_to_halves(array, 0)
    plain = array.astype(np.float16)
    assert stored.dtype == np.float16
    assert (round_to_halves(array, None) == plain).all()
    # The largest numbers are 8 and more, where a step is 2^-7; the next to last move is by less.
    assert np.abs((stored - array).sum(axis=1)).max() <= 2**-8 < np.abs((plain - array).sum(axis=1)).max()
    assert (np.abs(stored - array) <= np.spacing(np.abs(plain)).astype(np.float32)).all()
    assert np.isfinite(round_to_halves(np.array([[65503, 1.0003, 2e-8]], np.float32), 0)).all()


def test_nothing_to_cancel() -> None:
    for shape in ((0, 3), (3, 0), (3, 1), (1, 1)):
        array = 5 * _weights(*shape)
        assert (round_to_integers(array, np.float32(1.0), 127, 0) == np.rint(array)).all()
        assert (round_to_halves(array, 0) == array.astype(np.float16)).all()
