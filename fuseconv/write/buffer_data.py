"""Buffer contents of constants in the file: their size in bytes, their places, and the bytes in chunks.

What needs no copy is a view of the checkpoint's mapped pages, which are given back as it goes; what does, such as a
transposed view, is copied a piece at a time. So no weight takes up memory for longer than it is written.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import InputError
from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.ir.mapped_arrays import drop_pages
from fuseconv.ir.product import Product
from fuseconv.write.table_encoder import Deferred, Table

ALIGNMENT = 16
_STRINGS_LIMIT = 1 << 31
_MAPPED_BYTES = 1 << 26
# What is copied stays in the processor's cache until it is written.
_COPIED_BYTES = 1 << 20
# Neighbors in a transposed array lie far from each other in memory. It is copied in tiles that the nearest cache has
# room for, each first packed as it lies in memory, so that no distance between its lines is one that makes them collide
# there: 2 to 5 times as fast as row by row, for matrices of any size. Rows as few as fit are too few of large ones.
_TILE = 64
_ROWS = 120
_MOST_COPIED_BYTES = 1 << 24


class Weight(NamedTuple):
    """A constant with a buffer of its own, its bytes, and the field of the description that will hold its place."""

    value: Value
    size: int
    place: Deferred

    def buffer(self, inline: bool) -> Table:
        """Return its entry in the description; inline: as a vector of the flatbuffer, which it is behind its length."""
        return Table("Buffer", {"data": self.place} if inline else {"offset": self.place, "size": self.size})


def write_with_weights(
    out: Any, data: bytearray, weights: Sequence[Weight], inline: bool, progress: Callable[[float], None] | None
) -> list[int]:
    """Write the encoded description of a model, with the places of its weights filled in, and the weights behind it;
    return where each begins.

    inline: places are counted from where they are told, else from the start of the file. progress: told which part of
    the file is written, behind each weight."""
    # Everything's place follows from the sizes, so that the description is complete before it is written.
    ahead = 4 if inline else 0
    end = len(data)
    starts = []
    for weight in weights:
        start = end + ahead
        start += -start % ALIGNMENT
        told = weight.place.position
        if inline:
            data[told : told + 4] = (start - ahead - told).to_bytes(4, "little")
        else:
            data[told : told + 8] = start.to_bytes(8, "little")
        starts.append(start)
        end = start + weight.size
    _reserve(out, end)
    out.write(data)
    whole, end = end, len(data)
    for weight, start in zip(weights, starts, strict=True):
        out.write(bytes(start - ahead - end))
        if inline:
            out.write(weight.size.to_bytes(4, "little"))
        for piece in chunks(weight.value):
            out.write(piece)
        end = start + weight.size
        if progress:
            progress(end / whole)
    return starts


def _reserve(out: Any, length: int) -> None:
    """Preallocate the blocks of a file: the file system finds them once, not for each chunk, which halves the time of
    writing. A file system that cannot do so is written to as it is."""
    if hasattr(os, "posix_fallocate"):
        with suppress(OSError):
            os.posix_fallocate(out.fileno(), 0, length)


def size(value: Value) -> int:
    """Return the bytes of a constant in the file."""
    if value.dtype is types.STRING:
        assert value.data is not None
        return len(_strings(value.data))
    count = math.prod(value.shape)  # type: ignore[arg-type]
    return (count + 1) // 2 if value.dtype is types.INT4 else count * value.dtype.numpy.itemsize


def chunks(value: Value) -> Iterator[memoryview | bytes]:
    """Yield the bytes of a constant, little-endian, one piece after the other."""
    product = value if isinstance(value, Product) else None
    data = value.stored
    assert data is not None
    if value.dtype is types.STRING:
        yield _strings(data)
        return
    if value.dtype is types.INT4:
        yield _pairs(data)
        return
    array = np.atleast_1d(data)
    dtype = value.dtype.numpy.newbyteorder("<")
    if array.flags.c_contiguous and array.dtype == dtype and not product:
        whole = _bytes(array)
        for start in range(0, len(whole), _MAPPED_BYTES):
            yield whole[start : start + _MAPPED_BYTES]
            drop_pages(array)
    elif array.size:
        row = array.nbytes // len(array)
        rows = max(1, _COPIED_BYTES // row, min(_ROWS, _MOST_COPIED_BYTES // row))
        for start in range(0, len(array), rows):
            piece = _copied(array[start : start + rows], dtype)
            yield _bytes(product.multiplied(piece, slice(start, start + rows)) if product else piece)
        drop_pages(array)


def _pairs(data: np.ndarray) -> bytes:
    """Return integers of 4 bits, the first of each two in the lower half of a byte."""
    halves = data.reshape(-1).astype(np.int8).view(np.uint8) & 15
    whole = np.resize(halves, (halves.size + 1) // 2 * 2)
    whole[halves.size :] = 0
    return (whole[::2] | whole[1::2] << 4).tobytes()


def _bytes(array: np.ndarray) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _copied(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    copy = np.empty(array.shape, dtype)
    for start in range(0, array.shape[-1], _TILE):
        copy[..., start : start + _TILE] = array[..., start : start + _TILE].copy("K")
    return copy


def _strings(data: np.ndarray) -> bytes:
    """Return TFLite's string tensor: the number of strings, where each begins and the last ends, then their bytes."""
    items = [item.encode() if isinstance(item, str) else bytes(item) for item in data.reshape(-1)]
    ends = np.cumsum([4 * (len(items) + 2), *map(len, items)])
    if ends[-1] >= _STRINGS_LIMIT:
        raise InputError("a string tensor of more than 2 GB cannot be stored in a .tflite file")
    return np.array([len(items), *ends], "<i4").tobytes() + b"".join(items)
