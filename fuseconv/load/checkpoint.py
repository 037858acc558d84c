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
from fuseconv.ir import types
from fuseconv.ir.types import DType
from fuseconv.load import attrs, protos

_FOOTER_BYTES = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER_BYTES = 5  # of a block: the kind of compression, and a checksum
_CASTAGNOLI = 0x82F63B78  # CRC-32C's polynomial, lowest power first
_COMPRESSIONS = {1: "Snappy", 2: "Zstandard"}


class Checkpoint:
    """The tensors of a checkpoint by name. `prefix` is the path without ".index".

    Raises InputError if a file is missing or damaged; shards are opened only when a tensor in them is read."""

    def __init__(self, prefix: Path) -> None:
        self.prefix = prefix
        path = prefix.with_name(f"{prefix.name}.index")
        try:
            data = path.read_bytes()
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

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._entries

    def names(self) -> list[str]:
        """The names of the tensors, sorted as they are in the file."""
        return [key.decode() for key in self._entries if not key.startswith(b"\0")]

    def entry(self, name: str) -> tuple[DType, tuple[int, ...]]:
        """The element type and shape of a tensor."""
        return _type(self._entry(name.encode(), name))

    def read(self, name: str, slice_spec: str = "") -> np.ndarray:
        """A tensor, or the part of it that `slice_spec` names in the way of RestoreV2: "4 3 0,2:-" is rows 0 and 1 of
        a 4 by 3 tensor. The array is a view of the file wherever the tensor is stored in one piece."""
        entry = self._entry(name.encode(), name)
        dtype, shape = _type(entry)
        part = _parse_slice(slice_spec, shape, name)
        if not entry.slices:
            whole = self._data(entry, dtype, shape, name)
            return whole[tuple(slice(start, start + length) for start, length in part)] if part else whole
        wanted = part or [(0, size) for size in shape]
        for stored in entry.slices:
            if _extents(stored, shape, name) == wanted:
                return self._stored_slice(stored, dtype, shape, name)
        result = np.empty([length for _, length in wanted], dtype.numpy)
        filled = 0
        for stored in entry.slices:
            extents = _extents(stored, shape, name)
            both = [(max(a, b), min(a + n, b + m)) for (a, n), (b, m) in zip(extents, wanted)]
            if all(stop > start for start, stop in both):
                source = tuple(slice(lo - a, hi - a) for (lo, hi), (a, _) in zip(both, extents))
                target = tuple(slice(lo - b, hi - b) for (lo, hi), (b, _) in zip(both, wanted))
                result[target] = self._stored_slice(stored, dtype, shape, name)[source]
                filled += result[target].size
        if filled != result.size:
            raise InputError(f"The checkpoint {self.prefix} holds only parts of '{name}'.")
        return result

    def _stored_slice(self, stored: Any, dtype: DType, shape: tuple[int, ...], name: str) -> np.ndarray:
        extents = _extents(stored, shape, name)
        entry = self._entry(_slice_key(name, stored), name)
        return self._data(entry, dtype, tuple(length for _, length in extents), name)

    def _entry(self, key: bytes, name: str) -> Any:
        data = self._entries.get(key)
        if data is None:
            raise InputError(f"The checkpoint {self.prefix} does not contain '{name}'.")
        try:
            return protos.classes["BundleEntryProto"].FromString(data)
        except protos.DecodeError:
            raise _damaged(self.prefix) from None

    def _data(self, entry: Any, dtype: DType, shape: tuple[int, ...], name: str) -> np.ndarray:
        shard = self._shard(entry.shard_id)
        offset, size = entry.offset, entry.size
        if offset < 0 or size < 0 or offset + size > len(shard):
            raise InputError(f"The checkpoint {self.prefix} is cut off: '{name}' lies beyond the end of its data file.")
        count = math.prod(shape)
        if dtype is types.STRING:
            return _strings(memoryview(shard)[offset : offset + size], count, shape, name)
        if dtype.is_handle or size != count * dtype.numpy.itemsize:
            raise InputError(f"The checkpoint {self.prefix} has {size} bytes for '{name}', {dtype.name}{list(shape)}.")
        if count == 0:
            return np.empty(shape, dtype.numpy)
        return np.frombuffer(shard, dtype.numpy, count, offset).reshape(shape)

    def _shard(self, number: int) -> mmap.mmap | bytes:
        shard = self._shards.get(number)
        if shard is None:
            path = self.prefix.with_name(f"{self.prefix.name}.data-{number:05}-of-{self._shard_count:05}")
            try:
                with path.open("rb") as file:
                    empty = file.seek(0, 2) == 0  # an empty file cannot be mapped
                    shard = b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except OSError as error:
                raise _unreadable(path, error) from None
            self._shards[number] = shard
        return shard


def _unreadable(path: Path, error: OSError) -> InputError:
    what = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
    return InputError(f"{path} {what}: the model's variables cannot be had without it.")


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is no index of a checkpoint, or it is damaged or cut off.")


def _type(entry: Any) -> tuple[DType, tuple[int, ...]]:
    return attrs.dtype(entry.dtype), tuple([max(dim.size, 0) for dim in entry.shape.dim[:]])


def _varint(data: Any, at: int) -> tuple[int, int]:
    byte = data[at]
    at += 1
    value = byte & 0x7F
    shift = 7
    while byte & 0x80:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return value, at


def _table(data: bytes, path: Path) -> Iterator[tuple[bytes, bytes]]:
    """The entries of a LevelDB table, in the order of their keys."""
    if len(data) < _FOOTER_BYTES or struct.unpack_from("<Q", data, len(data) - 8)[0] != _MAGIC:
        raise _damaged(path)
    footer = data[-_FOOTER_BYTES:]
    at = 0
    for _ in range(2):  # of the meta index, which bundles do not use
        _, at = _varint(footer, at)
    for _, handle in _block(data, *_handle(footer, at), path):
        yield from _block(data, *_handle(handle, 0), path)


def _handle(data: bytes, at: int) -> tuple[int, int]:
    offset, at = _varint(data, at)
    size, _ = _varint(data, at)
    return offset, size


def _block(data: bytes, offset: int, size: int, path: Path) -> Iterator[tuple[bytes, bytes]]:
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
    while at < end:
        shared, at = _varint(data, at)
        unshared, at = _varint(data, at)
        length, at = _varint(data, at)
        key = key[:shared] + data[at : at + unshared]
        at += unshared
        yield key, data[at : at + length]
        at += length
    if at != end:
        raise _damaged(path)


def masked_crc32c(data: bytes) -> int:
    """The checksum of a block with its kind of compression, as LevelDB stores it: turned, and with a constant added.

    A block has four bytes at least. The remainders of its words are put together two and two, so that numpy does it."""
    # Zeros in front change no remainder; the ones that it starts with are as good as an inversion of the first bytes.
    words = np.frombuffer(bytes(-len(data) % 4) + bytes(byte ^ 0xFF for byte in data[:4]) + data[4:], "<u4")
    level = 0
    while len(words) > 1:
        if len(words) % 2:
            words = np.concatenate((np.zeros(1, "<u4"), words))
        words = _followed(words[0::2], level) ^ words[1::2]
        level += 1
    crc = int(_followed(words, 0)[0]) ^ 0xFFFFFFFF
    return (crc >> 15 | crc << 17) + 0xA282EAD8 & 0xFFFFFFFF


def _followed(remainders: np.ndarray, level: int) -> np.ndarray:
    """What the remainders become when 1 << level words of zeros follow."""
    first, second, third, fourth = _crc32c_tables(level)
    return (
        first[remainders & 0xFF]
        ^ second[remainders >> 8 & 0xFF]
        ^ third[remainders >> 16 & 0xFF]
        ^ fourth[remainders >> 24]
    )


@functools.cache
def _crc32c_tables(level: int) -> np.ndarray:
    """For each place of a byte in a remainder, what each byte there becomes in `_followed`."""
    if level:
        return _followed(_crc32c_tables(level - 1), level - 1)
    table = np.arange(256, dtype="<u4") << np.array([[0], [8], [16], [24]], "<u4")
    for _ in range(32):
        table = table >> 1 ^ _CASTAGNOLI * (table & 1)
    return table


def _strings(data: memoryview, count: int, shape: tuple[int, ...], name: str) -> np.ndarray:
    """Strings: their lengths as varints, a checksum of four bytes, their bytes."""
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
        raise InputError(f"The checkpoint's strings in '{name}' are damaged.")
    array = np.empty(count, object)
    for index, length in enumerate(lengths):
        array[index] = bytes(data[at : at + length])
        at += length
    return array.reshape(shape)


def _parse_slice(spec: str, shape: tuple[int, ...], name: str) -> list[tuple[int, int]]:
    """RestoreV2's "4 3 0,2:-" -> [(0, 2), (0, 3)]; nothing for the whole tensor."""
    if not spec:
        return []
    *sizes, extents = spec.split(" ")
    try:
        if tuple(map(int, sizes)) != shape:
            raise InputError(f"The model restores '{name}' as {sizes}, but the checkpoint holds {list(shape)}.")
        part = []
        for size, extent in zip(shape, extents.split(":")):
            start, length = (0, size) if extent == "-" else map(int, extent.split(","))
            part.append((start, length))
    except ValueError:
        part = []
    if len(part) != len(shape) or not _within(part, shape):
        raise InputError(f"The model restores '{name}' by the slice '{spec}', which does not fit {list(shape)}.")
    return part


def _extents(stored: Any, shape: tuple[int, ...], name: str) -> list[tuple[int, int]]:
    part = [
        (extent.start, extent.length if extent.HasField("length") else size)
        for extent, size in zip(stored.extent, shape)
    ]
    if len(stored.extent) != len(shape) or not _within(part, shape):
        raise InputError(f"The checkpoint says that it holds a slice of '{name}' which does not lie within it.")
    return part


def _within(part: list[tuple[int, int]], shape: tuple[int, ...]) -> bool:
    return all(start >= 0 and length >= 0 and start + length <= size for (start, length), size in zip(part, shape))


def _slice_key(name: str, stored: Any) -> bytes:
    """The key under which a slice is stored (tensorflow/core/util/saved_tensor_slice_util, ordered_code)."""
    key = b"\0" + name.encode().replace(b"\0", b"\0\xff") + b"\0\1" + _ordered_unsigned(len(stored.extent))
    for extent in stored.extent:
        key += _ordered_signed(extent.start) + _ordered_signed(extent.length if extent.HasField("length") else -1)
    return key


def _ordered_unsigned(value: int) -> bytes:
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def _ordered_signed(value: int) -> bytes:
    """In as many bytes as it takes with seven bits to the byte, with that many leading bits inverted."""
    size = (~value if value < 0 else value).bit_length() // 7 + 1
    bits = (value & ((1 << 8 * size) - 1)) ^ (((1 << size) - 1) << 7 * size)
    return bits.to_bytes(size, "big")
