"""Ranges of inputs, in each form in which people write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fuseconv.errors import InputError
from fuseconv.input_ranges import checked_ranges, read_ranges
from fuseconv.input_shapes import ONLY

TYPES: dict[str, np.dtype] = {"ids": np.dtype(np.int32), "x": np.dtype(np.float32), "hour": np.dtype(np.uint8)}


@pytest.mark.parametrize(("given", "ranges"), [
    ({"x": (0, 5)}, {"x": (0, 5)}), ({"x": [np.int64(-3), 5]}, {"x": (-3, 5)}), ("x=0:5", {"x": (0, 5)}),
    (("a=b=-7:-7", "y=0:1"), {"a=b": (-7, -7), "y": (0, 1)}), ("0:19", {ONLY: (0, 19)}), (None, {}), ((), {}),
])  # fmt: skip
def test_forms(given: Any, ranges: dict) -> None:
    assert read_ranges(given) == ranges


@pytest.mark.parametrize(("given", "sentence"), [
    ("x=5", "--input-range x=5 is no range of whole numbers: write NAME=0:29999"),
    ("x=0:1.5", "is no range"), ("=0:5", "--input-range =0:5 is no range"), (5, "--input-range 5 is no range"),
    ({"x": 5}, "--input-range x=5 is no range"), ({"x": (0, 1.5)}, "is no range"),
    ({"x": (False, True)}, "is no range"),
    ({"x": "0:5"}, "is no range"), ({"x": (0, 1, 2)}, "is no range"),
    ("x=5:0", "--input-range x=5:0 is empty: the least number comes first"),
    (["x=0:1", "x=0:2"], "gives x twice"), (["0:1", "0:2"], "gives the only input twice"),
])  # fmt: skip
def test_what_is_no_range(given: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        read_ranges(given)


def test_ranges_of_inputs() -> None:
    whole = {"ids": (-1 << 31, (1 << 31) - 1), "hour": (0, 255)}
    assert checked_ranges(whole, [(["serve"], TYPES)]) == [whole]
    ids = {"ids": TYPES["ids"]}
    assert checked_ranges({ONLY: (0, 9)}, [(["f"], ids), (["g"], ids)]) == [{"ids": (0, 9)}] * 2
    given = {"ids": (0, 9), "g/ids": (0, 5)}
    assert checked_ranges(given, [(["f"], TYPES), (["h", "g"], ids)]) == [{"ids": (0, 9)}, {"ids": (0, 5)}]


@pytest.mark.parametrize(("given", "sentence"), [
    ({"idz": (0, 1)}, "the model has no input idz; did you mean ids"),
    ({"words": (0, 1)}, "the model has no input words; there are ids, x, hour"),
    ({"g/ids": (0, 1)}, "the model has no input g/ids; did you mean"),
    ({"x": (0, 1)}, "the input x is of float32; only whole numbers have a range"),
    ({"hour": (0, 256)}, "--input-range hour=0:256 is more than uint8 holds"),
    ({"ids": (0, 1 << 31)}, "is more than int32 holds"), ({"ids": (-1 << 32, 0)}, "is more than int32 holds"),
    ({"hour": (-1, 5)}, "--input-range hour=-1:5 is more than uint8 holds"),
    ({ONLY: (0, 1)}, "a range is given for no input by name, and there are ids, x, hour: write NAME=0:29999"),
])  # fmt: skip
def test_ranges_that_no_input_has(given: dict, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        checked_ranges(given, [(["f"], TYPES)])
