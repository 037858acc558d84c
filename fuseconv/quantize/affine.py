"""Affine quantization of arrays: real = scale * (stored - zero_point)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Quantization, Value, constant
from fuseconv.ir.types import DType
from fuseconv.quantize.grids import grid_scales, largest_numbers
from fuseconv.quantize.rounding import round_to_integers

# The largest stored number of symmetric types; the smallest is its negative, so that no product overflows.
LARGEST = {types.INT4: 7, types.INT8: 127, types.INT16: 32767}
# A scale below is stored as a subnormal or zero, of which kernels make infinities.
_LEAST_SCALE = float(np.finfo(np.float32).tiny)
# The range of int16 is as many times what was measured: it costs one of 15 bits, and later inputs are hardly clipped.
ROOM = 2.0
# Beyond are numbers that mask others, such as -1e9, and integers do not hold both.
_LARGEST_NUMBER = 1e6
# Elements that are worked on at once, so that memory stays small, and in the processor's cache.
_BLOCK = 1 << 14


def symmetric_scales(
    array: np.ndarray, axis: int | None, dtype: DType = types.INT8, largest: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the scales of symmetric weights: one, or one for each index of `axis`; None for what has none, such as NaN
    or numbers too small. Numbers that are multiples of a scale get this one. A channel of zeros has the least scale of
    the others, so that its bias, which is stored in units of it, is as exact as theirs. largest: what `largest_numbers`
    returns, where it is known."""
    largest = largest_numbers(array, axis) if largest is None else largest
    scales = _largest_by_scale(largest, dtype)
    if scales is None or dtype is not types.INT8:
        return scales
    exact = grid_scales(array, axis, largest=largest)
    return np.where(np.isnan(exact), scales, exact).astype(np.float32)


def have_scales(largest: np.ndarray) -> bool:
    """Return whether `symmetric_scales` finds scales of int8 for what has these largest numbers: steps of a grid are no
    smaller than such scales."""
    return _largest_by_scale(largest, types.INT8) is not None


def _largest_by_scale(largest: np.ndarray, dtype: DType) -> np.ndarray | None:
    """Return the scales with which the largest numbers are the largest integers; None if one is none."""
    largest = largest.astype(np.float64)
    least = largest[largest > 0].min(initial=np.inf)
    of_zeros = least if np.isfinite(least) else 1.0
    scales = (np.where(largest == 0, of_zeros, largest) / LARGEST[dtype]).astype(np.float32)
    return scales if bool(np.all(np.isfinite(scales) & (scales >= _LEAST_SCALE))) else None


def quantized_weights(
    weights: Value, axis: int | None, dtype: DType = types.INT8, outputs: int | None = None
) -> Value | None:
    """Return a constant of symmetric integers for one of floats; None if its numbers have no scale.

    axis: that of the channels which have a scale each; None for one scale. outputs: that of output channels, over which
    errors cancel; None if it holds no weights."""
    array = weights.data
    assert array is not None
    scales = symmetric_scales(array, axis, dtype)
    if scales is None:
        return None
    along = scales if axis is None else scales.reshape([-1 if at == axis else 1 for at in range(array.ndim)])
    stored = round_to_integers(array, along, LARGEST[dtype], outputs)
    return symmetric_integers(weights, stored, scales, dtype, axis)


def symmetric_integers(
    weights: Value, stored: np.ndarray, scales: np.ndarray, dtype: DType = types.INT8, axis: int | None = None
) -> Value:
    """Return the constant of these integers for one of floats. scales: one, or one for each index of `axis`."""
    made = constant(stored.astype(dtype.numpy), dtype, weights.name)
    made.quantization = Quantization(tuple(map(float, scales)), (0,) * len(scales), axis or 0)
    return made


def as_floats(value: Value) -> np.ndarray:
    """Return the numbers that a constant stands for: those that it stores, times its scales if it has any."""
    assert value.data is not None
    how, stored = value.quantization, value.data.astype(np.float32)
    if how is None:
        return stored
    if how.blocks is not None:
        scales = how.blocks.data
        assert scales is not None
        return stored * np.repeat(scales.astype(np.float32), stored.shape[1] // scales.shape[1], axis=1)
    scale, zero = scale_and_zero(how, stored.ndim)
    made: np.ndarray = (stored - zero) * scale
    return made


def scale_and_zero(how: Quantization, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return scales and zero points as floats of a shape that broadcasts to that of a tensor of this rank."""
    sizes = [-1 if axis == how.axis else 1 for axis in range(rank)] if len(how.scale) > 1 else []
    scale, zero = (np.array(each, np.float32).reshape(sizes) for each in (how.scale, how.zero_point))
    return scale, zero


@dataclass(frozen=True)
class Range:
    """The least and the largest number that a tensor holds.

    fixed: the model says so, and rounds to this very range; what is joined with it has it, too."""

    least: float
    largest: float
    fixed: bool = False

    def __or__(self, other: Range) -> Range:
        if self.fixed or other.fixed:
            return self if self.fixed else other
        return Range(min(self.least, other.least), max(self.largest, other.largest))

    def __contains__(self, other: Range) -> bool:
        return self.least <= other.least and other.largest <= self.largest

    @classmethod
    def of(cls, array: np.ndarray) -> Range:
        return cls(float(array.min()), float(array.max())) if array.size else cls(0.0, 0.0)

    @property
    def is_usual(self) -> bool:
        """Return whether integers can hold the range: no end is infinite, or so large that it masks the others."""
        return abs(self.least) < _LARGEST_NUMBER and abs(self.largest) < _LARGEST_NUMBER  # no NaN is less

    def __abs__(self) -> float:
        return max(abs(self.least), abs(self.largest))


def constant_range(array: np.ndarray, dtype: DType = types.INT8) -> Range:
    """Return the range of a constant: that of an int8 tensor whose steps its numbers lie on, if there is one."""
    own = Range.of(array)
    least, span = min(own.least, 0.0), max(own.largest, 0.0) - min(own.least, 0.0)
    if dtype is not types.INT8 or not own.is_usual or not span:
        return own
    scale = float(grid_scales(array, None, int(255 * abs(own) / span))[0])
    lowest = 0 if np.isnan(scale) else round(least / scale)
    return own if np.isnan(scale) else Range(lowest * scale, (lowest + 255) * scale, fixed=True)


@functools.lru_cache(maxsize=4096)  # each range is asked for by what makes a tensor, and by all that read it
def parameters(values: Range, dtype: DType = types.INT8) -> Quantization:
    """Return the parameters of int8 or int16 that hold a range, and zero exactly; those of int16 are symmetric, and
    reach beyond it. An empty range is [-1, 1]: a scale that is much larger or smaller than those around it takes
    kernels out of their bounds."""
    if dtype is types.INT16:
        room = 1.0 if values.fixed else ROOM
        largest = room * abs(values) if abs(values) >= LARGEST[dtype] * _LEAST_SCALE else 1.0
        return Quantization((float(np.float32(largest / LARGEST[dtype])),), (0,))
    least, largest = min(values.least, 0.0), max(values.largest, 0.0)
    if largest - least < 255 * _LEAST_SCALE:
        least, largest = -1.0, 1.0
    scale = float(np.float32((largest - least) / 255))
    return Quantization((scale,), (min(max(round(-128 - least / scale), -128), 127),))


def step_of(values: Range, dtype: DType = types.INT8) -> float:
    """Return the step of the integers that hold a range."""
    return parameters(values, dtype).scale[0]


def quantized(value: Value, how: Quantization, dtype: DType = types.INT8) -> Value:
    """Return a constant of integers for one of floats, with one scale."""
    assert value.data is not None
    ends = np.iinfo(dtype.numpy)
    array = np.atleast_1d(value.data)
    stored = np.empty(array.shape, dtype.numpy)
    rows = max(1, _BLOCK * len(array) // max(array.size, 1))
    for start in range(0, len(array), rows):
        part = slice(start, start + rows)
        numbers = np.rint(array[part] / np.float64(how.scale[0])) + how.zero_point[0]
        stored[part] = np.clip(numbers, ends.min, ends.max)
    made = constant(stored.reshape(value.data.shape), dtype, value.name)
    made.quantization = how
    return made
