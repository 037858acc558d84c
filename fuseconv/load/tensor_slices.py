"""Tensor slices of checkpoints, stored or requested by RestoreV2, as boxes of (start, length)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.errors import InputError

Box = tuple[tuple[int, int], ...]

# The cells that the edges of the slices cut a tensor into. TensorFlow's partitioners cut along one axis.
_MOST_CELLS = 1 << 24


def parse_slice(spec: str, shape: tuple[int, ...], name: str) -> Box | None:
    """Parse RestoreV2's "4 3 0,2:-" -> ((0, 2), (0, 3)); None for the whole tensor. Raises InputError if it does not
    fit."""
    if not spec:
        return None
    *sizes, extents = spec.split(" ")
    try:
        if tuple(map(int, sizes)) != shape:
            raise InputError(f"the model restores '{name}' as {sizes}, but the checkpoint holds {list(shape)}.")
        part = []
        for size, extent in zip(shape, extents.split(":")):
            start, length = (0, size) if extent == "-" else map(int, extent.split(","))
            part.append((start, length))
    except ValueError:
        part = []
    if len(part) != len(shape) or not _within(part, shape):
        raise InputError(f"the model restores '{name}' by the slice '{spec}', which does not fit {list(shape)}.")
    return tuple(part)


def stored_boxes(slices: Sequence[Any], shape: tuple[int, ...], name: str) -> dict[Box, Any]:
    """Return the TensorSliceProtos of a stored tensor by their boxes. Raises InputError unless they tile it: what none
    of them holds would be whatever is in memory."""
    boxes: dict[Box, Any] = {}
    for stored in slices:
        box = _box(stored, shape, name)
        if box in boxes and volume(box):
            raise _overlapping(name)
        boxes[box] = stored
    held = [box for box in boxes if volume(box)]
    if sum(map(volume, held)) < math.prod(shape):
        raise InputError(f"the checkpoint holds only parts of '{name}'.")
    _refuse_overlaps(held, name)
    return boxes


def intersect(box: Box, other: Box) -> tuple[tuple[slice, ...], tuple[slice, ...]] | None:
    """Return the intersection of two boxes, as slices of either; None if it is empty."""
    ends = [(max(a, b), min(a + n, b + m)) for (a, n), (b, m) in zip(box, other)]
    if any(stop <= start for start, stop in ends):
        return None
    first, second = (
        tuple(slice(start - origin, stop - origin) for (start, stop), (origin, _) in zip(ends, each))
        for each in (box, other)
    )
    return first, second


def volume(box: Box) -> int:
    """Return the number of elements in a box."""
    return math.prod(length for _, length in box)


def slice_key(name: str, stored: Any) -> bytes:
    """Return the key under which a slice is stored (tensorflow/core/util/saved_tensor_slice_util, ordered_code)."""
    key = b"\0" + name.encode().replace(b"\0", b"\0\xff") + b"\0\1" + _ordered_unsigned(len(stored.extent))
    for extent in stored.extent:
        key += _ordered_signed(extent.start) + _ordered_signed(extent.length if extent.HasField("length") else -1)
    return key


def _box(stored: Any, shape: tuple[int, ...], name: str) -> Box:
    box = tuple(
        (extent.start, extent.length if extent.HasField("length") else size)
        for extent, size in zip(stored.extent, shape)
    )
    if len(stored.extent) != len(shape) or not _within(box, shape):
        raise InputError(f"the checkpoint says that it holds a slice of '{name}' which does not lie within it.")
    return box


def _within(part: Sequence[tuple[int, int]], shape: tuple[int, ...]) -> bool:
    return all(start >= 0 and length >= 0 and start + length <= size for (start, length), size in zip(part, shape))


def _refuse_overlaps(boxes: list[Box], name: str) -> None:
    """Mark the cells of each box on a grid of all their edges: each cell once, or two boxes overlap."""
    if len(boxes) < 2:
        return
    edges = [sorted({edge for start, length in axis for edge in (start, start + length)}) for axis in zip(*boxes)]
    if math.prod(map(len, edges)) > _MOST_CELLS:
        raise InputError(f"the checkpoint holds '{name}' in {len(boxes)} slices, too many and too irregular ones.")
    places = [{edge: place for place, edge in enumerate(axis)} for axis in edges]
    marked = np.zeros([len(axis) for axis in edges], bool)
    for box in boxes:
        cells = tuple(slice(place[a], place[a + n]) for place, (a, n) in zip(places, box))
        if marked[cells].any():
            raise _overlapping(name)
        marked[cells] = True


def _overlapping(name: str) -> InputError:
    return InputError(f"the checkpoint holds slices of '{name}' that overlap: it is damaged.")


def _ordered_unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _ordered_signed(value: int) -> bytes:
    """Encode in as many bytes as it takes with seven bits to the byte, with that many leading bits inverted."""
    size = (~value if value < 0 else value).bit_length() // 7 + 1
    bits = (value & ((1 << 8 * size) - 1)) ^ (((1 << size) - 1) << 7 * size)
    return bits.to_bytes(size, "big")
