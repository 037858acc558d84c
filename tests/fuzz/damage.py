"""Damage to bytes: what disks, networks and editors of hexadecimal do to a file of any format."""

from __future__ import annotations

import struct
from collections.abc import Callable
from random import Random

INTERESTING = (0, 1, -1, 2, 7, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**20, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**40,
               2**62, 2**63 - 1, -(2**31), -(2**63))  # fmt: skip


def damage(rng: Random, data: bytes, other: bytes) -> bytes:
    """The data with one to five damages; `other` is what pieces are spliced in from."""
    for _ in range(min(5, 1 + int(rng.expovariate(0.8)))):
        data = rng.choice(_WAYS)(rng, data, other)
    return data


def _flip(rng: Random, data: bytes, other: bytes) -> bytes:
    return _put(data, rng.randrange(len(data)), lambda byte: byte ^ 1 << rng.randrange(8)) if data else data


def _set(rng: Random, data: bytes, other: bytes) -> bytes:
    return _put(data, rng.randrange(len(data)), lambda byte: rng.randrange(256)) if data else data


def _put(data: bytes, at: int, change: Callable[[int], int]) -> bytes:
    return data[:at] + bytes([change(data[at])]) + data[at + 1 :]


def _insert(rng: Random, data: bytes, other: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + rng.randbytes(rng.choice((1, 2, 4, 8, 100))) + data[at:]


def _delete(rng: Random, data: bytes, other: bytes) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] + data[at + rng.choice((1, 2, 4, 8, 100, 1000)) :]


def _truncate(rng: Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.choice((0, 1, len(data) // 2, max(0, len(data) - 1), rng.randint(0, len(data))))]


def _overwrite(rng: Random, data: bytes, other: bytes) -> bytes:
    """A number in its place, aligned to its size, as formats with offsets and lengths have them."""
    size, code = rng.choice(((1, "B"), (2, "H"), (4, "I"), (8, "Q")))
    if len(data) < size:
        return data
    at = rng.randrange(0, len(data) - size + 1, size)
    number = struct.pack(f"{rng.choice('<>')}{code}", rng.choice(INTERESTING) & (1 << 8 * size) - 1)
    return data[:at] + number + data[at + size :]


def _repeat(rng: Random, data: bytes, other: bytes) -> bytes:
    at, size = rng.randint(0, len(data)), rng.choice((1, 8, 64, 512))
    return data[: at + size] + data[at : at + size] * rng.choice((1, 2, 30)) + data[at + size :]


def _splice(rng: Random, data: bytes, other: bytes) -> bytes:
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _borrow(rng: Random, data: bytes, other: bytes) -> bytes:
    at, start, size = rng.randint(0, len(data)), rng.randint(0, len(other)), rng.choice((4, 16, 64, 256))
    return data[:at] + other[start : start + size] + data[at + size :]


_WAYS = (_flip, _flip, _set, _set, _insert, _delete, _truncate, _overwrite, _overwrite, _repeat, _splice, _borrow)
