"""Windows, and what joins their elements one by one: any function of scalars."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.control import by_element
from fuseconv.load.stablehlo.ops.shapes import padded
from fuseconv.load.stablehlo.scope import Scope, ints, refuse_unless

# Windows of more elements than these are not written out.
_MOST_SLICES = 128
# Nor are those that take more ops, a body for each element.
_MOST_WRITTEN = 1024


class Windows(NamedTuple):
    """Windows over each dimension: their sizes, strides, dilations (of what they go over, and of themselves), and how
    much is padded before and behind."""

    sizes: list[int]
    strides: list[int]
    spread: list[int]
    gaps: list[int]
    ends: list[tuple[int, int]]

    @staticmethod
    def of(op: Operation, rank: int) -> Windows:
        names = "window_dimensions", "window_strides", "base_dilations", "window_dilations", "padding"
        return Windows.checked([ints(op.attribute(name)) for name in names], rank)

    @staticmethod
    def checked(amounts: list[list[int]], rank: int) -> Windows:
        """Return windows over so many dimensions; what is padded comes last, for both ends of each."""
        sizes, strides, spread, gaps, pads = amounts
        ends = list(zip(pads[::2], pads[1::2]))
        if not len(sizes) == len(strides) == len(spread) == len(gaps) == len(ends) == rank:
            raise DamagedError("a window has another rank than what it goes over")
        if min([*sizes, *strides, *spread, *gaps], default=1) < 1:
            raise DamagedError("a window has no elements, or no stride")
        return Windows(sizes, strides, spread, gaps, ends)

    @staticmethod
    def whole(shape: Sequence[int], dims: Sequence[int]) -> Windows:
        """Return the one window along some dimensions."""
        ones = [1] * len(shape)
        sizes = [size if axis in dims else 1 for axis, size in enumerate(shape)]
        return Windows(sizes, ones, ones, ones, [(0, 0)] * len(shape))

    def along(self, dims: Sequence[int], rank: int, places: Sequence[int]) -> Windows:
        """Return the windows along some dimensions as those along other ones, of so many."""
        sizes, strides, spread, gaps = ([1] * rank for _ in range(4))
        ends = [(0, 0)] * rank
        for dim, place in zip(dims, places):
            sizes[place], strides[place], ends[place] = self.sizes[dim], self.strides[dim], self.ends[dim]
            spread[place], gaps[place] = self.spread[dim], self.gaps[dim]
        return Windows(sizes, strides, spread, gaps, ends)

    def touches(self, axis: int) -> bool:
        """Return whether windows change a dimension."""
        return {self.sizes[axis], self.strides[axis], self.spread[axis]} != {1} or any(self.ends[axis])


def folded(
    tf: Scope, body: Region, operands: Sequence[Value], starts: Sequence[Value], shape: tuple[int | None, ...],
    windows: Windows,
) -> list[Value]:  # fmt: skip
    """Join the elements of each window one by one, as the body does."""
    written = int(np.prod(windows.sizes, dtype=object)) * len(body.ops)
    refuse_unless(0 < written <= _MOST_WRITTEN, f"windows that take {written} ops")
    taken = [parts(tf, x, start, shape, windows) for x, start in zip(operands, starts)]
    made = [tf.add("Fill", [tf.shape(first), start], {}, start.dtype) for (first, *_), start in zip(taken, starts)]
    for elements in zip(*taken):
        made = by_element(tf, body, [*made, *elements])
    if [value.dtype for value in made] != [start.dtype for start in starts]:
        raise DamagedError("windows are joined to other types than they begin with")
    return made


def parts(tf: Scope, x: Value, start: Value, shape: tuple[int | None, ...], windows: Windows) -> list[Value]:
    """Return a strided slice of x for each element of a window: that element of all windows."""
    window, strides, spread, gaps, ends = windows
    count = int(np.prod(window, dtype=object))
    refuse_unless(count <= _MOST_SLICES, f"windows of {count} elements that no pool of TFLite has")
    low, high = [low for low, _ in ends], [high for _, high in ends]
    x, sizes = padded(tf, x, start, low, high, [step - 1 for step in spread], list(shape))
    reach = [(size - 1) * gap for size, gap in zip(window, gaps)]
    # Open where windows have one element, so that any size is whole.
    opened = sum(1 << axis for axis, far in enumerate(reach) if not far)
    made: list[Value] = []
    for places in itertools.product(*map(range, window)):
        first = [place * gap for place, gap in zip(places, gaps)]
        # Of an unknown size the end is so many elements before its own.
        last = [begin + (size or 0) - far for begin, size, far in zip(first, sizes, reach)]
        whole = sum(1 << axis for axis, (size, end) in enumerate(zip(sizes, last)) if size is None and end == 0)
        masks = {"begin_mask": opened, "end_mask": opened | whole}
        made.append(tf.StridedSlice(x, first, last, strides, **{name: mask for name, mask in masks.items() if mask}))
    return made
