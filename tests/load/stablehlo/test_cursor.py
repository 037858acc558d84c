"""Numbers and bytes of bytecode."""

from __future__ import annotations

import pytest

from fuseconv.load.stablehlo.cursor import Cursor, DamagedError, decoded


def _cursor(*data: int) -> Cursor:
    return Cursor(bytes(data), 0, len(data))


def test_the_first_byte_of_a_number_tells_its_length() -> None:
    assert _cursor(0b101).varint() == 2
    assert _cursor(0b10, 1).varint() == (1 << 6)
    assert _cursor(0, *(300).to_bytes(8, "little")).varint() == 300


def test_a_list_holds_numbers_of_any_length() -> None:
    numbers = [20, 300, 70_000, 1, 1 << 60]
    data = [11, 20 << 1 | 1]  # the count, and a number of one byte
    for number in numbers[1:3]:
        size = 2 if number < 1 << 14 else 3
        data += ((number * 2 + 1) << size - 1).to_bytes(size, "little")
    data += [3, 0, *numbers[4].to_bytes(8, "little"), 7]
    cursor = _cursor(*data)
    assert cursor.varints() == numbers
    assert cursor.left == 1
    assert _cursor(3, 9).varints() == [4]
    assert _cursor(1).varints() == []


@pytest.mark.parametrize("data", [(3,), (5, 9), (5, 9, 2), (5, 9, 4, 1), (3, 0, 1)])
def test_a_list_ends_within_its_section(data: tuple[int, ...]) -> None:
    with pytest.raises(DamagedError):
        Cursor(bytes([*data, 1, 1, 1, 1, 1, 1, 1, 1]), 0, len(data)).varints()
    with pytest.raises(DamagedError):
        _cursor(*data).varints()


def test_signs_and_flags_are_the_lowest_bits() -> None:
    assert [_cursor(2 * number + 1).signed() for number in (0, 1, 2, 3)] == [0, -1, 1, -2]
    assert _cursor(2 * 7 + 1).flagged() == (3, True)


@pytest.mark.parametrize("read", ["byte", "varint", "count", "text"])
def test_nothing_is_read_beyond_a_section(read: str) -> None:
    with pytest.raises(DamagedError):
        getattr(Cursor(b"\x01\x02", 2, 2), read)()
    with pytest.raises(DamagedError, match="8 bytes are to be read"):
        _cursor(0, 1, 2).varint()


def test_a_list_is_no_longer_than_what_follows() -> None:
    with pytest.raises(DamagedError, match="a list of 5 items stands in a section that has 1 bytes left"):
        _cursor(2 * 5 + 1, 0).count()
    with pytest.raises(DamagedError, match="1 bytes are left at the end of it"):
        _cursor(1).done("it")


def test_a_text_is_utf_8() -> None:
    with pytest.raises(DamagedError, match="no UTF-8"):
        decoded(b"\xff")
