"""Damage to a checkpoint's index that its checksums do not show, and slices that lie about each other."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

from fuseconv.load import protos
from fuseconv.load.checkpoint import masked_crc32c
from tests.fuzz.damage import INTERESTING, damage

Entries = dict[bytes, bytes]

_MAGIC = 0xDB4775248B80FB57


def entries(index: bytes) -> Entries:
    """The entries of an intact index: its header under b"", BundleEntryProtos by tensor name."""
    _, start, size = _first_block(index)
    return dict(_rows(index, start, size))


def _first_block(index: bytes) -> tuple[bytes, int, int]:
    """The last key, place and size of the first block, which holds all entries of a small checkpoint."""
    at = len(index) - 48
    for _ in range(2):  # of the meta index
        _, at = _read_varint(index, at)
    start, at = _read_varint(index, at)
    size, _ = _read_varint(index, at)
    last, handle = next(_rows(index, start, size))
    start, at = _read_varint(handle, 0)
    return last, start, _read_varint(handle, at)[0]


def _rows(data: bytes, at: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    end = at + size - 4 - 4 * struct.unpack_from("<I", data, at + size - 4)[0]
    key = b""
    while at < end:
        shared, at = _read_varint(data, at)
        unshared, at = _read_varint(data, at)
        length, at = _read_varint(data, at)
        key = key[:shared] + data[at : at + unshared]
        at += unshared + length
        yield key, data[at - length : at]


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def table(items: list[tuple[bytes, bytes]], share: bool = True) -> bytes:
    """An index of these entries, which need not be sorted; share: write what a key has in common with the last."""
    data = _block(items, share)
    last = items[-1][0] if items else b""
    empty = _block([], share)
    handle = _varint(len(data)) + _varint(len(empty) - 5)
    index = _block([(last, _varint(0) + _varint(len(data) - 5))], share)
    place = _varint(len(data) + len(empty)) + _varint(len(index) - 5)
    return data + empty + index + (handle + place).ljust(40, b"\0") + struct.pack("<Q", _MAGIC)


def _block(items: list[tuple[bytes, bytes]], share: bool) -> bytes:
    body, previous = bytearray(), b""
    for key, value in items:
        common = _in_common(key, previous) if share else 0
        body += _varint(common) + _varint(len(key) - common) + _varint(len(value)) + key[common:] + value
        previous = key
    return _signed(bytes(body) + struct.pack("<II", 0, 1))


def _in_common(first: bytes, second: bytes) -> int:
    """The length of the prefix that two keys share, found by halving: keys may be long."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if first[:middle] == second[:middle] else (low, middle - 1)
    return low


def _signed(content: bytes) -> bytes:
    return content + b"\0" + struct.pack("<I", masked_crc32c(content + b"\0"))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def damage_index(rng: Random, index: bytes) -> bytes:
    """Bytes of the block of entries changed, and the block signed anew; else entries changed one by one."""
    if rng.random() < 0.4:
        block = damage(rng, index[: _first_block(index)[2]], index).ljust(4, b"\0")
        signed = _signed(block)
        handle = _varint(len(signed)) + _varint(8)
        empty = _signed(struct.pack("<II", 0, 1))
        rest = _block([(b"~", _varint(0) + _varint(len(block)))], True)
        place = _varint(len(signed) + len(empty)) + _varint(len(rest) - 5)
        return signed + empty + rest + (handle + place).ljust(40, b"\0") + struct.pack("<Q", _MAGIC)
    found = entries(index)
    for _ in range(rng.choice((1, 1, 2, 5))):
        rng.choice(_WAYS)(rng, found)
    return table(sorted(found.items()) if rng.random() < 0.9 else list(found.items()), rng.random() < 0.7)


def _tensor(rng: Random, found: Entries) -> tuple[bytes, Any]:
    """A tensor's key and entry; the header's key, or one of an entry that is broken already, with None."""
    key = rng.choice(sorted(found))
    return key, _parsed("BundleEntryProto", found[key]) if key else None


def _parsed(message: str, data: bytes) -> Any:
    try:
        return protos.classes[message].FromString(data)
    except protos.DecodeError:
        return None


def _number(rng: Random, found: Entries) -> None:
    """Where a tensor lies, how long it is, in which shard, of what type."""
    key, entry = _tensor(rng, found)
    header = None if key else _parsed("BundleHeaderProto", found[key])
    if header is not None:
        header.num_shards = rng.choice((0, -1, 2, 99999, 2**31 - 1))
        header.endianness = rng.choice((0, 0, 1, 7))
        found[key] = header.SerializeToString()
    if entry is None:
        return
    field = rng.choice(("offset", "size", "shard_id", "dtype"))
    wide = field in ("offset", "size")
    setattr(entry, field, rng.choice([n for n in INTERESTING if wide or -(2**31) <= n < 2**31]))
    found[key] = entry.SerializeToString()


def _shape(rng: Random, found: Entries) -> None:
    key, entry = _tensor(rng, found)
    if entry is None:
        return
    if len(entry.shape.dim) and rng.random() < 0.6:
        entry.shape.dim[rng.randrange(len(entry.shape.dim))].size = rng.choice(INTERESTING)
    else:
        sizes = [dim.size for dim in entry.shape.dim] or [1]
        rng.shuffle(sizes)
        del entry.shape.dim[:]
        for size in rng.choice((sizes[1:], [*sizes, 1], [1] * 70, [sum(sizes)])):
            entry.shape.dim.add(size=size)
    found[key] = entry.SerializeToString()


def _slices(rng: Random, found: Entries) -> None:
    """A tensor in two slices, of its first dimension: they overlap, leave a gap, or lie beyond it, as chance has it."""
    key, entry = _tensor(rng, found)
    if entry is None or not entry.shape.dim:
        return
    rows = entry.shape.dim[0].size
    row_bytes = entry.size // rows if rows > 0 else 0
    offset = entry.offset
    for _ in range(rng.choice((1, 2, 2, 3))):
        start, length = rng.choice((0, 0, rows // 2, rows, -1)), rng.choice((rows // 2, rows // 2, rows, 1, 2**40))
        spec = entry.slices.add()
        spec.extent.add(start=start, length=length)
        for _ in entry.shape.dim[1:]:
            spec.extent.add()
        size = min(max(0, length) * row_bytes, 2**63 - 1)
        part = protos.classes["BundleEntryProto"](dtype=entry.dtype, offset=offset, size=size)
        part.shape.dim.add(size=length)
        for dim in entry.shape.dim[1:]:
            part.shape.dim.add(size=dim.size)
        found[_slice_key(key, spec)] = part.SerializeToString()
    found[key] = entry.SerializeToString()


def _slice_key(name: bytes, spec: Any) -> bytes:
    """The key that a slice is stored under, for names without zeros (tensorflow/core/util/saved_tensor_slice_util)."""
    key = b"\0" + name + b"\0\1\1" + bytes([len(spec.extent)])
    for extent in spec.extent:
        key += _ordered(extent.start) + _ordered(extent.length if extent.HasField("length") else -1)
    return key


def _ordered(value: int) -> bytes:
    """An integer in OrderedCode: seven bits to the byte, as many leading bits turned as there are bytes."""
    size = (~value if value < 0 else value).bit_length() // 7 + 1
    bits = (value & (1 << 8 * size) - 1) ^ ((1 << size) - 1) << 7 * size
    return bits.to_bytes(size, "big")


def _exchange(rng: Random, found: Entries) -> None:
    first, second = rng.choice(sorted(found)), rng.choice(sorted(found))
    found[first], found[second] = found[second], found[first]


def _rename(rng: Random, found: Entries) -> None:
    key = rng.choice(sorted(found))
    found[rng.choice((key + b"x", b"\xff\xfe", b"\0\1", key[:-1], b"a" * 5000))] = found.pop(key)


def _break(rng: Random, found: Entries) -> None:
    key = rng.choice(sorted(found))
    found[key] = damage(rng, found[key], key)


def _crowd(rng: Random, found: Entries) -> None:
    """Many keys of one long prefix: written once, they take their length each when they are read."""
    prefix = b"p" * rng.choice((10, 1000, 20_000))
    for number in range(rng.choice((10, 2000))):
        found[prefix + b"%05d" % number] = b""


_WAYS: tuple[Callable[[Random, Entries], None], ...] = (
    _number, _number, _shape, _shape, _slices, _slices, _slices, _exchange, _rename, _break, _crowd,
)  # fmt: skip
