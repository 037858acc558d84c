"""How slices are told apart, and by what keys they are stored."""

from __future__ import annotations

import struct

import pytest

from fuseconv.load.tensor_slices import _ordered_signed, _ordered_unsigned


@pytest.mark.parametrize(
    "value, expected",
    [
        (0, b"\x80"), (63, b"\xbf"), (-1, b"\x7f"), (-64, b"\x40"), (64, b"\xc0\x40"), (-65, b"\x3f\xbf"),
        (8191, b"\xdf\xff"), (8192, b"\xe0\x20\x00"),
    ],
)  # fmt: skip
def test_ordered_numbers(value: int, expected: bytes) -> None:
    assert _ordered_signed(value) == expected


def test_ordered_unsigned_numbers() -> None:
    assert _ordered_unsigned(0) == b"\0"
    assert _ordered_unsigned(300) == b"\x02" + struct.pack(">H", 300)
