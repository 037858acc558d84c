"""Ranges that leave rare extremes out: a histogram of a tensor over all samples, in memory that does not grow."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fuseconv.quantize.affine import Range

# Bins on each side of zero.
_BINS = 2048
# Of the whole range, the parts that are tried for the least error.
_PARTS = np.linspace(0.2, 1.0, 81)


@dataclass
class Histogram:
    """How often a tensor holds which numbers, in bins of one width from -end to end. Where larger numbers come, each
    two bins become one."""

    end: float = 0.0
    counts: np.ndarray = field(default_factory=lambda: np.zeros(2 * _BINS, np.int64))
    measured: Range | None = None

    def add(self, array: np.ndarray) -> None:
        """Count the numbers of an array. Those that are not finite are left out."""
        array = array[np.isfinite(array)]
        if not array.size:
            return
        found = Range.of(array)
        self.measured = found if self.measured is None else self.measured | found
        if not abs(found):
            self.counts[_BINS] += array.size
            return
        if not self.end:
            self.end = float(2.0 ** np.ceil(np.log2(abs(found))))
        while self.end < abs(found):
            self._widen()
        places = np.floor(array.ravel() * (_BINS / self.end)).astype(np.int64) + _BINS
        self.counts += np.bincount(np.minimum(places, 2 * _BINS - 1), minlength=2 * _BINS)

    def _widen(self) -> None:
        pairs = self.counts.reshape(-1, 2).sum(axis=1)
        self.counts = np.zeros_like(self.counts)
        self.counts[_BINS // 2 : _BINS // 2 + _BINS] = pairs
        self.end *= 2

    def percentile(self, percent: float) -> Range:
        """Return the range that holds as many of the numbers, and leaves out as many above as below."""
        left_out = (100 - percent) / 200 * self.counts.sum()
        below = np.cumsum(self.counts)
        least = np.searchsorted(below, left_out, side="right")
        largest = np.searchsorted(below, self.counts.sum() - left_out, side="left")
        edges = self._edges()
        return self._within(edges[least], edges[largest + 1])

    def least_squares(self, levels: int) -> Range:
        """Return the part of the range whose `levels` steps have the least error in the mean over squares: rounding to
        steps within, clipping beyond."""
        assert self.measured is not None
        least, largest = min(self.measured.least, 0.0), max(self.measured.largest, 0.0)
        edges = self._edges()
        used = self.counts > 0
        middles, counts = (edges[:-1] + edges[1:])[used] / 2, self.counts[used]
        errors = []
        for part in _PARTS:
            beyond = middles - np.clip(middles, part * least, part * largest)
            rounding = (part * (largest - least) / levels) ** 2 / 12
            errors.append(float((counts * (beyond**2 + (beyond == 0) * rounding)).sum()))
        part = float(_PARTS[int(np.argmin(errors))])
        return self._within(part * self.measured.least, part * self.measured.largest)

    def _edges(self) -> np.ndarray:
        return np.linspace(-self.end, self.end, 2 * _BINS + 1)

    def _within(self, least: float, largest: float) -> Range:
        assert self.measured is not None
        return Range(max(float(least), self.measured.least), min(float(largest), self.measured.largest))
