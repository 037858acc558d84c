"""The buffers of a file: views of its mapped bytes, as arrays of the tensors that they belong to."""

from __future__ import annotations

import itertools
import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load.tflite.table_decoder import DamagedError, Decoder, Table

# A count, where each string begins, and where the last one ends.
_WORD = 4


class Buffers:
    """The buffers of a file by their numbers. Several may be one vector of the file: copies of them count as decoded.
    """

    def __init__(self, decoder: Decoder, tables: list[Table]) -> None:
        self.data, self._decoder = decoder.data, decoder
        self._places = [_place(table) for table in tables]

    def size(self, index: int) -> int:
        """Return the bytes of a buffer. Raises DamagedError for a number that is none's."""
        return self._found(index)[1]

    def copy(self, index: int) -> bytes:
        start, size = self._found(index)
        self._decoder.spend(size)
        return bytes(self.data[start : start + size])

    def array(self, index: int, dtype: DType, shape: tuple[int, ...]) -> np.ndarray:
        """Return the contents of a buffer as an array, without a copy but of texts and of 4 bits.

        Raises DamagedError if they are of another size."""
        if dtype is types.STRING:
            return _strings(self.copy(index), shape)
        count, kind = math.prod(shape), dtype.numpy.newbyteorder("<")
        start, size = self._found(index)
        wanted = (count + 1) // 2 if dtype is types.INT4 else count * kind.itemsize
        if size != wanted:
            raise DamagedError(f"a tensor {dtype} {list(shape)} takes {wanted} bytes, but its buffer holds {size}")
        if not size:
            return np.empty(shape, dtype.numpy)
        if dtype is types.INT4:
            return _halves(np.frombuffer(self.copy(index), np.uint8), count).reshape(shape)
        array = np.frombuffer(self.data, kind, count, start).reshape(shape)
        return array.astype(dtype.numpy, copy=False)

    def _found(self, index: int) -> tuple[int, int]:
        if not 0 <= index < len(self._places):
            raise DamagedError(f"there is no buffer {index}")
        start, size = self._places[index]
        if start + size > len(self.data):
            raise DamagedError(f"the buffer {index} reaches beyond the end of the file")
        return start, size


def _place(table: Table) -> tuple[int, int]:
    """Return where the bytes of a buffer begin, and how many there are: in the table, or behind it in a large file."""
    if "data" in table:
        return table.place("data")
    # 0, and 1 in a file that was not finished, stand for none.
    return (table.number("offset"), table.number("size")) if table.number("offset") > 1 else (0, 0)


def _halves(stored: np.ndarray, count: int) -> np.ndarray:
    """Return integers of 4 bits, the first of each two in the lower half of a byte."""
    halves = np.stack([stored & 15, stored >> 4], axis=1).reshape(-1)[:count].astype(np.int8)
    return np.where(halves > 7, halves - 16, halves).astype(types.INT4.numpy)


def _strings(view: bytes, shape: tuple[int, ...]) -> np.ndarray:
    """Return the texts of TFLite's string tensor: their number, where each begins and the last ends, then the bytes."""
    count = math.prod(shape)
    if len(view) < _WORD * (count + 2) or int.from_bytes(view[:_WORD], "little") != count:
        raise DamagedError(f"a tensor of {count} strings has a buffer that does not hold so many")
    ends = np.frombuffer(view, "<i4", count + 1, _WORD).tolist()
    pairs = list(itertools.pairwise(ends))
    if ends[0] != _WORD * (count + 2) or ends[-1] > len(view) or any(start > end for start, end in pairs):
        raise DamagedError("the strings of a tensor reach beyond its buffer")
    made = np.empty(count, object)
    made[:] = [view[start:end] for start, end in pairs]
    return made.reshape(shape)
