"""Damage to MLIR bytecode that leaves its sections whole, so that what stands in them is read."""

from __future__ import annotations

from random import Random

# Sections by what they hold; `fuseconv/load/stablehlo/bytecode.py` reads them.
_STRINGS, _NAMES, _ATTRIBUTES, _OFFSETS, _IR, _PROPERTIES = 0, 1, 2, 3, 4, 8
_TARGETS = (_IR, _IR, _IR, _PROPERTIES, _PROPERTIES, _ATTRIBUTES, _ATTRIBUTES, _OFFSETS, _NAMES, _STRINGS)


def damage_sections(rng: Random, data: bytes) -> bytes:
    """Return bytecode with one to four numbers of a section changed: ops, operands, types, attributes, sizes."""
    found = sections(data)
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        begin, end = rng.choice(found.get(rng.choice(_TARGETS)) or [(5, len(data))])
        if begin < end:
            rng.choice(_WAYS)(rng, changed, begin, end)
    return bytes(changed)


def sections(data: bytes) -> dict[int, list[tuple[int, int]]]:
    """Return where the sections of each kind begin and end: those of the file, and those of functions."""
    found: dict[int, list[tuple[int, int]]] = {}
    at = data.index(b"\0", 5) + 1
    while at < len(data):
        kind = data[at]
        size, at = _varint(data, at + 1)
        if kind & 0x80:
            alignment, at = _varint(data, at)
            at += -at % max(alignment, 1)
        found.setdefault(kind & 0x7F, []).append((at, min(at + size, len(data))))
        at += size
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    first = data[at] if at < len(data) else 1
    size = 9 if not first else (first & -first).bit_length()
    number = int.from_bytes(data[at : at + size], "little")
    return number >> min(size, 8), at + size


def _other_number(rng: Random, data: bytearray, begin: int, end: int) -> None:
    """A number of one byte -> another."""
    at = rng.randrange(begin, end)
    near = (data[at] >> 1) + rng.choice((1, -1, 2))
    data[at] = rng.choice((rng.randrange(64), rng.randrange(8), near)) % 128 << 1 | 1


def _as_elsewhere(rng: Random, data: bytearray, begin: int, end: int) -> None:
    """A byte -> that of another place in the section."""
    data[rng.randrange(begin, end)] = data[rng.randrange(begin, end)]


def _swapped(rng: Random, data: bytearray, begin: int, end: int) -> None:
    """Two bytes -> each in the place of the other."""
    a, b = rng.randrange(begin, end), rng.randrange(begin, end)
    data[a], data[b] = data[b], data[a]


def _any_byte(rng: Random, data: bytearray, begin: int, end: int) -> None:
    data[rng.randrange(begin, end)] = rng.choice((0, 1, 2, 3, 127, 128, 254, 255, rng.randrange(256)))


def _piece(rng: Random, data: bytearray, begin: int, end: int) -> None:
    """A few bytes -> those that stand elsewhere in the section."""
    size = min(rng.choice((2, 4, 8, 16)), end - begin)
    a, b = rng.randint(begin, end - size), rng.randint(begin, end - size)
    data[a : a + size] = data[b : b + size]


_WAYS = (_other_number, _other_number, _as_elsewhere, _swapped, _any_byte, _piece)
