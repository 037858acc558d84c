"""A checkpoint on disk -> numpy arrays, memory-mapped.

The format ("tensor bundle") is that of tensorflow/core/util/tensor_bundle: `<prefix>.index` is a LevelDB table from
tensor name to BundleEntryProto, `<prefix>.data-00000-of-00001` and so on hold the bytes.
"""

from __future__ import annotations

import functools
import math
import mmap
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from fuseconv.errors import InputError
from fuseconv.files import ModelFiles
from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load import attrs, protos
from fuseconv.load.tensor_slices import Box, intersect, parse_slice, slice_key, stored_boxes, volume

_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5  # of a block: the kind of compression, and a checksum
_CASTAGNOLI = 0x82F63B78  # CRC-32C's polynomial, lowest power first
_BYTE_TABLES = np.array([0, 256, 512, 768])  # where the tables of `_crc32c_tables` begin
_RESTART_INTERVAL = 16
# An entry has some 100 bytes; a model with a million variables has an index of a tenth of this.
_MOST_INDEX_BYTES = 1 << 30
_MOST_ELEMENTS = 1 << 58
_MOST_DIMENSIONS = 32
# How often slices are held against a part that is asked for, which is none of them.
_MOST_COMPARISONS = 1 << 17
# How often each byte of the shards may be copied, and how many bytes may be whatever there is.
_MOST_COPIES = 4
_FEW_BYTES = 1 << 20
_COMPRESSIONS = {1: "Snappy", 2: "Zstandard"}


class Checkpoint:
    """The tensors of a checkpoint by name. `prefix` is its path among the model's files, without ".index".

    Raises InputError if a file is missing or damaged; shards are opened only when a tensor in them is read."""

    def __init__(self, files: ModelFiles, prefix: str) -> None:
        self._files = files
        self._prefix = prefix
        self.path = files.root / prefix
        name = f"{prefix}.index"
        path = files.root / name
        try:
            data = files.read(name, _MOST_INDEX_BYTES)
        except OSError as error:
            raise _unreadable(path, error) from None
        try:
            self._entries = dict(_table(data, path))
            header = protos.classes["BundleHeaderProto"].FromString(self._entries.pop(b"", b""))
        except (IndexError, struct.error, protos.DecodeError):
            raise _damaged(path) from None
        if header.endianness != 0:
            raise InputError(f"{path} was written on a big-endian machine; fuseconv reads little-endian ones only.")
        self._shard_count = header.num_shards
        self._shards: dict[int, mmap.mmap | bytes] = {}
        # What is stored in slices: each may be read many times, a part at a time.
        self._sliced: dict[str, tuple[DType, tuple[int, ...], dict[Box, Any]]] = {}
        self._comparisons = 0
        self._mapped_bytes = self._copied_bytes = 0

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._entries

    def names(self) -> list[str]:
        """Return the names of the tensors, sorted as they are in the file."""
        return [key.decode(errors="replace") for key in self._entries if not key.startswith(b"\0")]

    def entry(self, name: str) -> tuple[DType, tuple[int, ...]]:
        """Return the element type and shape of a tensor."""
        return _type(self._entry(name.encode(), name), name)

    def read(self, name: str, slice_spec: str = "") -> np.ndarray:
        """Read a tensor, or the part of it that `slice_spec` names in the way of RestoreV2: "4 3 0,2:-" is rows 0 and 1
        of a 4 by 3 tensor. The array is a view of the file wherever the tensor is stored in one piece."""
        if name in self._sliced:
            dtype, shape, boxes = self._sliced[name]
            part = parse_slice(slice_spec, shape, name)
        else:
            entry = self._entry(name.encode(), name)
            dtype, shape = _type(entry, name)
            part = parse_slice(slice_spec, shape, name)
            if not entry.slices:
                whole = self._data(entry, dtype, shape, name)
                return whole[tuple(slice(start, start + length) for start, length in part)] if part else whole
            boxes = stored_boxes(entry.slices, shape, name)
            self._sliced[name] = dtype, shape, boxes
        wanted = part if part is not None else tuple((0, size) for size in shape)
        if wanted in boxes:
            return self._stored_slice(wanted, boxes[wanted], dtype, name)
        self._comparisons += len(boxes)
        if self._comparisons > _MOST_COMPARISONS:
            raise InputError(f"the checkpoint {self.path} and the model cut '{name}' into too many different slices.")
        return self._assembled(wanted, boxes, dtype, name)

    def _assembled(self, wanted: Box, boxes: dict[Box, Any], dtype: DType, name: str) -> np.ndarray:
        """Return a part of a tensor that is cut otherwise than the stored slices, as a copy made of those that overlap
        with it. boxes: the slices, which tile the tensor."""
        pieces = []
        for box, stored in boxes.items():
            places = intersect(box, wanted)
            if places:
                source, target = places
                pieces.append((target, self._stored_slice(box, stored, dtype, name)[source]))
        if dtype is not types.STRING:
            self._copies(volume(wanted) * dtype.numpy.itemsize, name)
        # The boxes tile the tensor, so that every element is written.
        result = np.empty([length for _, length in wanted], dtype.numpy)
        for target, piece in pieces:
            result[target] = piece
        return result

    def _stored_slice(self, box: Box, stored: Any, dtype: DType, name: str) -> np.ndarray:
        entry = self._entry(slice_key(name, stored), name)
        return self._data(entry, dtype, tuple(length for _, length in box), name)

    def _entry(self, key: bytes, name: str) -> Any:
        data = self._entries.get(key)
        if data is None:
            raise InputError(f"the checkpoint {self.path} does not contain '{name}'.")
        try:
            return protos.classes["BundleEntryProto"].FromString(data)
        except protos.DecodeError:
            raise _damaged(self.path) from None

    def _data(self, entry: Any, dtype: DType, shape: tuple[int, ...], name: str) -> np.ndarray:
        """Return the array of an entry: a view of its mapped file, but for strings. Raises InputError if its bytes lie
        beyond the file or do not fit the type and shape."""
        shard = self._shard(entry.shard_id, name)
        offset, size = entry.offset, entry.size
        if offset < 0 or size < 0 or offset + size > len(shard):
            raise InputError(f"the checkpoint {self.path} is cut off: '{name}' lies beyond the end of its data file.")
        count = math.prod(shape)
        if dtype is types.STRING:
            self._copies(size, name)
            return _strings(memoryview(shard)[offset : offset + size], count, shape, name)
        if dtype.is_handle or size != count * dtype.numpy.itemsize:
            raise InputError(f"the checkpoint {self.path} has {size} bytes for '{name}', {dtype.name}{list(shape)}.")
        if count == 0:
            return np.zeros(shape, dtype.numpy)
        return np.frombuffer(shard, dtype.numpy, count, offset).reshape(shape)

    def _copies(self, size: int, name: str) -> None:
        """Count bytes that are copied from the shards. Honest tensors lie side by side; the same bytes for each of
        many would let a small file fill the memory."""
        self._copied_bytes += size
        if self._copied_bytes > _MOST_COPIES * self._mapped_bytes + _FEW_BYTES:
            raise InputError(f"the checkpoint {self.path} has '{name}' share its bytes with others: it is damaged.")

    def _shard(self, number: int, name: str) -> mmap.mmap | bytes:
        """Return a data file, mapped when it is first asked for. name: of the tensor, for the sentences of errors."""
        shard = self._shards.get(number)
        if shard is None:
            if not 0 <= number < self._shard_count:
                raise InputError(f"the checkpoint {self.path} has no data file {number}, in which '{name}' should be.")
            file_name = f"{self._prefix}.data-{number:05}-of-{self._shard_count:05}"
            try:
                with self._files.open(file_name) as file:
                    empty = file.seek(0, 2) == 0  # an empty file cannot be mapped
                    shard = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:
                raise _unreadable(self._files.root / file_name, error) from None
            self._shards[number] = shard
            self._mapped_bytes += len(shard)
        return shard


def _unreadable(path: Path, error: OSError) -> InputError:
    what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
    return InputError(f"{path} {what}: the model's variables cannot be had without it.")


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is no index of a checkpoint, or it is damaged or cut off.")


def _type(entry: Any, name: str) -> tuple[DType, tuple[int, ...]]:
    dtype, shape = attrs.dtype(entry.dtype), tuple([dim.size for dim in entry.shape.dim[:]])
    # What numpy can address, zeros left out.
    elements = 1
    for size in shape:
        elements *= size or 1
    negative = min(shape, default=0) < 0
    if negative or elements > _MOST_ELEMENTS or len(shape) > _MOST_DIMENSIONS or entry.shape.unknown_rank:
        raise InputError(f"the checkpoint gives '{name}' a shape that no tensor has: it is damaged.")
    return dtype, shape


def _varint(data: Any, at: int) -> tuple[int, int]:
    """Return a number, and where the next one begins. Raises IndexError if the data ends first, or 64 bits do not hold
    it."""
    byte = data[at]
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte & 0x80:
        if shift > 63:
            raise IndexError
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, at


def _table(data: bytes, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a LevelDB table, in the order of their keys.

    Blocks follow each other in the file, and the keys in them are in ascending order."""
    if len(data) < _FOOTER_BYTES or struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise _damaged(path)
    footer = data[-_FOOTER_BYTES:]
    at = 0
    for _ in range(2):  # of the meta index, which bundles do not use
        _, at = _varint(footer, at)
    end, last = 0, None
    for _, handle in _block(data, *_handle(footer, at), path):
        offset, size = _handle(handle, 0)
        if offset < end:
            raise _damaged(path)
        end = offset + size
        for key, value in _block(data, offset, size, path):
            if last is not None and key <= last:
                raise _damaged(path)
            last = key
            yield key, value


def _handle(data: bytes, at: int) -> tuple[int, int]:
    offset, at = _varint(data, at)
    size, _ = _varint(data, at)
    return offset, size


def _block(data: bytes, offset: int, size: int, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the entries of a block. A key may be stored without what it shares with the one before, but each
    _RESTART_INTERVAL-th is whole: all of them together are at most that many times as long as the block."""
    end = offset + size
    if end + _TRAILER_BYTES > len(data) or size < 4:
        raise _damaged(path)
    if data[end]:
        how = _COMPRESSIONS.get(data[end], "unknown")
        raise InputError(f"{path} is compressed ({how}); fuseconv reads what TensorFlow writes, which is not.")
    if struct.unpack_from("<I", data, end + 1)[0] != masked_crc32c(data[offset : end + 1]):
        raise _damaged(path)
    (restarts,) = struct.unpack_from("<I", data, end - 4)
    end -= 4 + 4 * restarts
    key = b""
    at = offset
    spare = _RESTART_INTERVAL * size
    while at < end:
        shared, at = _varint(data, at)
        unshared, at = _varint(data, at)
        length, at = _varint(data, at)
        key = key[:shared] + data[at : at + unshared]
        at += unshared + length
        spare -= len(key)
        if at > end or spare < 0:
            raise _damaged(path)
        yield key, data[at - length : at]
    if at != end:
        raise _damaged(path)


def masked_crc32c(data: bytes) -> int:
    """Return the checksum of a block with its kind of compression, as LevelDB stores it: turned, and with a constant
    added.

    A block has four bytes at least. The remainders of its words are put together two and two, so that numpy does it."""
    # Zeros in front change no remainder; the ones that it starts with are as good as an inversion of the first bytes.
    words = np.frombuffer(bytes(-len(data) % 4) + bytes(byte ^ 0xFF for byte in data[:4]) + data[4:], "<u4")
    level = 0
    while len(words) > 1:
        if len(words) % 2:
            words = np.concatenate((np.zeros(1, "<u4"), words))
        words = _followed_by_zeros(words[0::2], level) ^ words[1::2]
        level += 1
    crc = int(_followed_by_zeros(words, 0)[0]) ^ 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def _followed_by_zeros(remainders: np.ndarray, level: int) -> np.ndarray:
    """Return the CRC remainders after 1 << level further zero words."""
    each = np.ascontiguousarray(remainders, "<u4").view(np.uint8).reshape(-1, 4)
    # One look-up for all bytes: a short block takes few calls, which is what it costs.
    return np.bitwise_xor.reduce(_crc32c_tables(level).take(each + _BYTE_TABLES), axis=1)


@functools.cache
def _crc32c_tables(level: int) -> np.ndarray:
    """Return for each byte position of a remainder what each byte there becomes in `_followed_by_zeros`, one table
    behind the other."""
    if level:
        return _followed_by_zeros(_crc32c_tables(level - 1), level - 1)
    table = np.arange(256, dtype="<u4") << np.array([[0], [8], [16], [24]], "<u4")
    for _ in range(32):
        table = table >> 1 ^ _CASTAGNOLI * (table & 1)
    return table.reshape(-1)


def _strings(data: memoryview, count: int, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Return the strings of a tensor. data: their lengths as varints, a checksum of four bytes, their bytes."""
    lengths = []
    at = 0
    try:
        for _ in range(count):
            length, at = _varint(data, at)
            lengths.append(length)
    except IndexError:
        at = len(data) + 1
    at += 4
    if at + sum(lengths) != len(data):
        raise InputError(f"the checkpoint's strings in '{name}' are damaged.")
    array = np.empty(count, object)
    for index, length in enumerate(lengths):
        array[index] = bytes(data[at : at + length])
        at += length
    return array.reshape(shape)
