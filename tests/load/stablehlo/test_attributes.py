"""Attributes and types of bytecode."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fuseconv.load.stablehlo.attributes import (
    Attributes,
    FunctionType,
    Location,
    Other,
    OtherType,
    UnreadError,
    _booleans,
)
from fuseconv.load.stablehlo.cursor import DamagedError

_Written = tuple[str, bytes]


def _entry(*data: int, dialect: str = "vhlo") -> _Written:
    return dialect, bytes(data)


def _number(value: int) -> int:
    return 2 * value + 1


def _attributes(attributes: list[_Written], kinds: list[_Written]) -> Attributes:
    written = attributes + kinds
    ends = [0, *itertools.accumulate(len(data) for _, data in written)]
    entries = [(dialect, 1, at, end) for (dialect, _), at, end in zip(written, ends, ends[1:])]
    data = b"".join(data for _, data in written)
    return Attributes([b"a text"], data, entries[: len(attributes)], entries[len(attributes) :])


def test_sizes_are_not_negative() -> None:
    found = _attributes([], [_entry(_number(4)), _entry(_number(20), _number(2), _number(6), _number(5), _number(0))])
    with pytest.raises(DamagedError, match="a tensor has the shape"):
        found.type(1)


def test_a_splat_stands_for_all_elements() -> None:
    kinds = [_entry(_number(16)), _entry(_number(20), _number(1), _number(6), _number(0))]
    value = _entry(_number(15), _number(1), _number(1), 9)
    np.testing.assert_array_equal(_attributes([value], kinds).attribute(0), np.full(3, 9, np.uint8))
    short = _entry(_number(15), _number(1), _number(2), 9, 9)
    with pytest.raises(DamagedError, match="a constant of 3 elements has 2 bytes"):
        _attributes([short], kinds).attribute(0)


@pytest.mark.parametrize(("data", "count", "expected"), [
    (b"\xff", 20, [True]), (b"\x00", 20, [False]), (b"\x05", 3, [True, False, True]), (b"\x01\x00\x01", 3, [1, 0, 1]),
    (b"\xff", 3, [True] * 3), (b"\x01", 1, [True]),
])  # fmt: skip
def test_booleans_are_bits_or_bytes_or_one_for_all(data: bytes, count: int, expected: list[bool]) -> None:
    assert _booleans(data, count).tolist() == [bool(value) for value in expected]


def test_unknown_codes_are_named() -> None:
    found = _attributes([_entry(_number(60)), _entry(_number(20)), _entry(_number(3), _number(9))],
                        [_entry(_number(60)), _entry(_number(6))])  # fmt: skip
    with pytest.raises(UnreadError, match="attribute of number 60"):
        found.attribute(0)
    assert found.attribute(1) == Other("result accuracy")
    with pytest.raises(UnreadError, match="the value 9"):
        found.attribute(2)
    with pytest.raises(UnreadError, match="type of number 60"):
        found.type(0)
    assert found.type(1) == OtherType("f8E4M3FN")


def test_what_holds_itself_is_damaged() -> None:
    with pytest.raises(DamagedError, match="deep"):
        _attributes([_entry(_number(1), _number(1), _number(0))], []).attribute(0)


def test_parts_that_are_shared_stand_for_no_more_than_the_bytes_account_for() -> None:
    two = [_entry(_number(1), _number(2), _number(level), _number(level)) for level in range(40)]
    lists = [_entry(_number(2), _number(1)), *two]
    with pytest.raises(DamagedError, match="stands for much more"):
        _attributes(lists, []).attribute(40)
    # The parts of one that was read before count, too, and one after the other they may be read.
    read = _attributes(lists[:14], [])
    assert [len(read.attribute(level)) for level in range(1, 14)] == [2] * 13
    with pytest.raises(DamagedError, match="stands for much more"):
        _read_in_order(_attributes(lists, []))


def _read_in_order(attributes: Attributes) -> None:
    for level in range(41):
        attributes.attribute(level)


def test_functions_take_no_functions() -> None:
    kinds = [_entry(_number(8), _number(2), _number(level - 1), _number(level - 1), _number(0)) for level in (1, 2)]
    tensor = _entry(_number(20), _number(0), _number(2))
    found = _attributes([], [_entry(_number(4)), *kinds, tensor])
    assert found.type(2) == FunctionType((OtherType("function"),) * 2, ())
    assert found.type(3) == OtherType("tensor of function")


def test_a_location_is_named_by_a_text_alone() -> None:
    location = _entry(_number(14), _number(0), _number(0), dialect="builtin")
    assert _attributes([_entry(_number(1), _number(0)), location], []).attribute(1) == Location("")


def test_tensors_of_tensors_have_no_names_without_end() -> None:
    kinds = [_entry(_number(20), _number(0), _number(level - 1)) for level in range(1, 40)]
    assert len(_attributes([], [_entry(_number(6)), *kinds]).type(39).name) == 64
