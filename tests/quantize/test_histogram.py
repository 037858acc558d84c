"""Histograms tell which part of a range holds most numbers, or is stored with the least error."""

from __future__ import annotations

import numpy as np

from fuseconv.ir.graph import constant
from fuseconv.quantize.affine import Range, parameters, quantized
from fuseconv.quantize.histogram import Histogram


def _of(*arrays: np.ndarray) -> Histogram:
    histogram = Histogram()
    for array in arrays:
        histogram.add(array.astype(np.float32))
    return histogram


def _squares(array: np.ndarray, values: Range) -> float:
    how = parameters(values)
    stored = quantized(constant(array.astype(np.float32)), how).data
    assert stored is not None
    return float(np.square((stored.astype(float) - how.zero_point[0]) * how.scale[0] - array).mean())


def test_numbers_in_any_order_are_counted_in_the_same_bins() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(0, deviation, (7, 11)) for deviation in (0.01, 30, 2, 0.5)]
    one, other = _of(*arrays), _of(*arrays[::-1])
    assert one.end == other.end == 2 ** np.ceil(np.log2(np.abs(np.concatenate(arrays)).max()))
    assert (one.counts == other.counts).all() and one.counts.sum() == 4 * 77
    assert one.measured == Range.of(np.concatenate(arrays).astype(np.float32))


def test_percentiles() -> None:
    array = np.concatenate([np.linspace(-1, 3, 9_990), [-50.0] * 5, [100.0] * 5])
    histogram = _of(array)
    found = histogram.percentile(99.8)
    width = 128 / 2048
    assert abs(found.least + 1) <= width and abs(found.largest - 3) <= width
    assert histogram.percentile(100) == Range(-50, 100)
    assert _of(np.full(5, 2.5)).percentile(50) == Range(2.5, 2.5)


def test_the_least_squared_error() -> None:
    rng = np.random.default_rng(1)
    array = np.concatenate([rng.normal(0, 1, 100_000), [40.0, -30.0]])
    found = _of(array).least_squares(255)
    assert _squares(array, found) < 0.85 * _squares(array, Range.of(array))
    best = min(_squares(array, Range(part * -30, part * 40)) for part in np.linspace(0.2, 1, 81))
    assert _squares(array, found) < 1.05 * best
    # 65535 steps of the whole range are finer than what clipping would cost.
    assert _of(array).least_squares(65535) == Range(-30, 40)
    uniform = rng.uniform(0, 1, 10_000)
    assert _of(uniform).least_squares(255).largest > 0.98


def test_zeros_and_numbers_that_are_not_finite() -> None:
    assert _of(np.zeros(3)).percentile(99) == Range(0, 0) == _of(np.zeros(3)).least_squares(255)
    mixed = _of(np.zeros(3), np.array([np.inf, np.nan, 1.0]))
    assert mixed.measured == Range(0, 1) and mixed.counts.sum() == 4
    assert Histogram().measured is None
