"""Constants that were quantized once are found to lie on a grid."""

from __future__ import annotations

import numpy as np

from fuseconv.quantize.affine import constant_range, parameters, symmetric_scales
from fuseconv.quantize.grids import grid_scales

_RNG = np.random.default_rng(0)


def test_each_channel_has_its_step_also_behind_a_batch_norm() -> None:
    steps = np.exp(_RNG.normal(size=6)).astype(np.float32)
    stored = _RNG.integers(-99, 100, (3, 3, 6))
    stored[0, 0] = 98  # the largest number is no multiple of 127 steps
    stored[0, 1] = 97
    norm = _RNG.normal(size=6).astype(np.float32)
    found = grid_scales((stored.astype(np.float32) * steps) * norm, 2)
    np.testing.assert_array_equal(np.rint(stored * steps * norm / found), stored * np.sign(norm))


def test_one_step_for_all() -> None:
    stored = np.append(_RNG.integers(-127, 128, (40, 50)), 127)
    (found,) = grid_scales(stored.astype(np.float32) * np.float32(0.013), None)
    np.testing.assert_allclose(found, 0.013, rtol=1e-6)


def test_ordinary_numbers_lie_on_none() -> None:
    weights = _RNG.normal(size=(300, 64)).astype(np.float32)
    weights[:, 0] = 0
    weights[0, 1] = np.inf
    assert np.isnan(grid_scales(weights, 1)).all() and np.isnan(grid_scales(weights[:, :0], 1)).all()
    scales = symmetric_scales(weights[:, 2:], 1)
    assert scales is not None
    np.testing.assert_allclose(scales, np.abs(weights[:, 2:]).max(0) / 127, rtol=1e-6)


def test_of_several_steps_the_finest_is_taken() -> None:
    rows = np.array([[6, 3], [0, 3]], np.float32)
    np.testing.assert_allclose(grid_scales(rows, 0), np.array([6 / 126, 3 / 127]))


def test_of_powers_of_two_the_finest_one() -> None:
    rows = np.array([[2, 1, -4], [0, 3, -7], [0.375, 0, -1], [5, 0, 0], [-0.25, 0, 0.25]], np.float32)
    for part in (1.0, 2.0**-100, 2.0**100):
        found = grid_scales(rows * np.float32(part), 0)
        np.testing.assert_array_equal(found[[0, 1, 2, 4]] / part, [1 / 16, 1 / 16, 1 / 64, 1 / 256])
        np.testing.assert_allclose(found[3], part * 5 / 127, rtol=1e-6)
    np.testing.assert_array_equal(grid_scales(rows[:3], 0, 7), [1, 1, np.nan])


def test_more_steps_than_fit_are_none() -> None:
    assert np.isnan(grid_scales(np.arange(256, dtype=np.float32), None)[0])


def test_a_constant_has_the_range_of_its_grid() -> None:
    stored = np.append(_RNG.integers(-40, 210, 99), [-40, 210]) * np.float32(0.25)
    found = parameters(constant_range(stored.astype(np.float32)))
    assert found.scale == (0.25,) and found.zero_point == (-88,)
    plain = _RNG.normal(size=50).astype(np.float32)
    assert constant_range(plain).largest == plain.max()


def test_one_number_lies_on_the_grid_of_the_finest_step() -> None:
    # As each of several numbers of one size does.
    for number in (1.7, -0.3, 0.5, 4.0, 1e-30, 1e-36, 0.0, np.inf, np.nan):
        array = np.array([number], np.float32)
        for most in (7, 127, 255):
            np.testing.assert_array_equal(grid_scales(array, None, most), grid_scales(array.repeat(2), None, most))
