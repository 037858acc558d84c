"""Flexbuffers are read as flatbuffers' own decoder reads them, and none takes more than its bytes account for."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest
from flatbuffers import flexbuffers

from fuseconv.load.tflite.flexbuffer import decode
from fuseconv.load.tflite.table_decoder import DamagedError

_INTS, _VECTOR = 11, 10  # of the format's types
_VALUES: tuple[Any, ...] = (
    {}, {"a": 1, "b": [1.5, "text", None, True], "c": {"d": [1, 2, 3]}}, [], [[], [[1]]], "text", b"bytes", -5, 0.5,
    None, {f"key{n}": "the same text" for n in range(300)}, [{"name": "x", "size": [1, 2]}] * 100,
)  # fmt: skip


def shared(levels: int, fan: int) -> bytes:
    """Return vectors of `fan` references to one vector of the level below: fan**levels numbers."""
    made = bytearray(struct.pack("<II", 1, 7))
    place, kind = 4, _INTS
    for _ in range(levels):
        made += struct.pack("<I", fan)
        start = len(made)
        for _ in range(fan):
            made += struct.pack("<I", len(made) - place)
        made += bytes([kind << 2 | 2]) * fan + bytes(-fan % 4)
        place, kind = start, _VECTOR
    return bytes(made + struct.pack("<IBB", len(made) - place, kind << 2 | 2, 4))


@pytest.mark.parametrize("value", _VALUES)
def test_what_flatbuffers_encodes_is_read_as_it_reads_it(value: Any) -> None:
    raw = bytes(flexbuffers.Dumps(value))
    assert decode(raw) == flexbuffers.Loads(raw)


def test_vectors_that_are_shared_stand_for_no_more_than_their_bytes_account_for() -> None:
    assert decode(shared(2, 3)) == flexbuffers.Loads(shared(2, 3)) == [[[7]] * 3] * 3
    for levels, fan in ((9, 10), (40, 2), (2000, 1)):
        with pytest.raises(DamagedError):
            decode(shared(levels, fan))


def test_damaged_bytes_end_in_one_error() -> None:
    rng = Random(3)
    whole = bytes(flexbuffers.Dumps(_VALUES[1]))
    for _ in range(2000):
        raw = bytearray(whole)
        raw[rng.randrange(len(raw))] = rng.randrange(256)
        try:
            decode(bytes(raw[: rng.choice((len(raw), len(raw), rng.randrange(len(raw))))]))
        except DamagedError as error:
            assert str(error)
