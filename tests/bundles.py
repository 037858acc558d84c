"""Writes checkpoints that no TensorFlow writes: the index of a tensor bundle from its parts."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fuseconv.load import protos
from fuseconv.load.checkpoint import masked_crc32c
from fuseconv.load.tensor_slices import slice_key

FLOAT = 1
Box = Sequence[tuple[int, int]]


def varint(value: int) -> bytes:
    data = b""
    while value > 0x7F:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def row(key: bytes, value: bytes, shared: int = 0) -> bytes:
    """An entry of a block, which takes so many bytes of its key from the one before."""
    return varint(shared) + varint(len(key)) + varint(len(value)) + key + value


def block(rows: bytes, restarts: int = 0) -> bytes:
    """A block of rows, with its trailer."""
    data = rows + struct.pack("<I", restarts) + b"\0"
    return data + struct.pack("<I", masked_crc32c(data))


def table(blocks: Iterable[bytes], handles: Sequence[bytes] | None = None) -> bytes:
    """An index of blocks, which are found by `handles`, by default where they are."""
    data, found = b"", []
    for each in blocks:
        found.append(varint(len(data)) + varint(len(each) - 5))
        data += each
    rows = b"".join(row(b"%09d" % number, handle) for number, handle in enumerate(handles or found))
    index = block(rows)
    footer = varint(0) + varint(0) + varint(len(data)) + varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + struct.pack("<Q", 0xDB4775248B80FB57)


def header(shards: int = 1) -> bytes:
    return protos.classes["BundleHeaderProto"](num_shards=shards).SerializeToString()


def entry(shape: Sequence[int], *, offset: int = 0, size: int = 0, shard: int = 0, slices: Iterable[Box] = (),
          dtype: int = FLOAT) -> Any:  # fmt: skip
    proto = protos.classes["BundleEntryProto"](dtype=dtype, offset=offset, size=size, shard_id=shard)
    proto.shape.SetInParent()
    for length in shape:
        proto.shape.dim.add(size=length)
    for box in slices:
        stored = proto.slices.add()
        for start, length in box:
            stored.extent.add(start=start, length=length)
    return proto


def bundle(folder: Path, entries: dict[bytes, Any], shard: bytes = b"", shards: int = 1) -> None:
    """Writes a checkpoint "variables" into a folder: the index with these entries, and a shard."""
    rows = [row(b"", header(shards))]
    rows += [row(key, proto.SerializeToString()) for key, proto in sorted(entries.items())]
    (folder / "variables.index").write_bytes(table([block(b"".join(rows))]))
    (folder / "variables.data-00000-of-00001").write_bytes(shard)


def sliced(shape: Sequence[int], boxes: Sequence[Box], shard: Sequence[int]) -> dict[bytes, Any]:
    """The entries of the tensor "w" in these slices, which lie one after the other at the bytes that `shard` tells."""
    whole = entry(shape, slices=boxes)
    entries = {b"w": whole}
    for box, stored, offset in zip(boxes, whole.slices, shard, strict=True):
        lengths = [length for _, length in box]
        size = 4
        for length in lengths:
            size *= length
        entries[slice_key("w", stored)] = entry(lengths, offset=offset, size=min(size, 1 << 30))
    return entries
