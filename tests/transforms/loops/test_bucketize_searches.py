"""Loops that search constants become Bucketize."""

from __future__ import annotations

import numpy as np
import pytest

from tests.check_pass import check_pass

# A search of 0.5, 1 and 1, and 2, for the number of those below x, or up to it.
SEARCH = """
    main {
      input %x: float32[n,2]
      %sizes: int32[2] = tf.Shape(%x) {'out_type': int32}
      %size: int32[] = tf.StridedSlice(%sizes, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      %low: int32[n,2] = tf.BroadcastTo(int32[1,2] [[0, 0]], %sizes)
      %high: int32[n,2] = tf.Fill(%sizes, int32[] 4)
      %a: int32[]; %b: float32[n,2]; %c: int32[n,2]; %found: int32[n,2]; %d: int32[] = tf.While(int32[] 0, %x, %low, %high, %size) {'body': @body, 'cond': @cond}
      return %found
    }
    cond {
      input %i: int32[]
      input %x: float32[n,2]
      input %low: int32[n,2]
      input %high: int32[n,2]
      input %size: int32[]
      %more: bool[] = tf.Less(%i, int32[] 3)
      return %more
    }
    body {
      input %i: int32[]
      input %x: float32[n,2]
      input %low: int32[n,2]
      input %high: int32[n,2]
      input %size: int32[]
      %both: int32[n,2] = tf.AddV2(%low, %high)
      %middle: int32[n,2] = tf.TruncateDiv(%both, int32[] 2)
      %sizes: int32[3] = tf.Pack(%size, int32[] 2, int32[] 1)
      %column: int32[n,2,1] = tf.Reshape(%middle, %sizes)
      %rows: float32[n,2,1] = tf.GatherV2(float32[4] [0.5, 1.0, 1.0, 2.0], %column, int32[] 0)
      %row: float32[n,2] = tf.Squeeze(%rows) {'squeeze_dims': [2]}
      %left: bool[n,2] = tf.LessEqual(%x, %row)
      %next_low: int32[n,2] = tf.SelectV2(%left, %low, %middle)
      %next_high: int32[n,2] = tf.SelectV2(%left, %middle, %high)
      %next: int32[] = tf.AddV2(%i, int32[] 1)
      return %next, %x, %next_low, %next_high, %size
    }
    """  # noqa: E501
# The pass goes by sizes, which this infers.
FIRST = ("canonicalize",)
UP_TO = ("tf.LessEqual(%x, %row)", "tf.Less(%x, %row)")


def _bucketized(boundaries: list[float], text: str) -> None:
    before, _, _ = text.partition("%a: int32[]")
    check_pass("bucketize-searches", text, f"""{before}
      %found: int32[n,2] = tf.Bucketize(%x) {{'boundaries': {boundaries}}}
      return %found
    }}
    """, first=FIRST)


def _just_above(*numbers: float) -> list[float]:
    return [float(np.nextafter(np.float32(number), np.float32(np.inf))) for number in numbers]


def test_constants_up_to_a_number_are_counted() -> None:
    _bucketized([0.5, 1.0, 1.0, 2.0], SEARCH.replace(*UP_TO))


def test_constants_below_a_number_are_counted() -> None:
    # NaN is not less: the search ends at 0, and BUCKETIZE at 4.
    below = SEARCH.replace("tf.LessEqual(%x, %row)", "tf.LogicalNot(%less)").replace(
        "%left:", "%less: bool[n,2] = tf.Less(%row, %x)\n      %left:")
    check_pass("bucketize-searches", below, first=FIRST)
    last = below.replace("%left:", "%nan: bool[n,2] = tf.NotEqual(%x, %x)\n      %left_or_nan:").replace(
        "%next_low:", "%number: bool[n,2] = tf.LogicalNot(%nan)\n      "
        "%left: bool[n,2] = tf.LogicalAnd(%left_or_nan, %number)\n      %next_low:")
    _bucketized(_just_above(0.5, 1, 1, 2), last)


@pytest.mark.parametrize("change", [
    # Numbers that are not constants, or that x is computed with.
    ("float32[4] [0.5, 1.0, 1.0, 2.0], %column", "%x, %column"),
    ("%left: bool[n,2] = tf.Less(%x", "%y: float32[n,2] = tf.AddV2(%x, %x)\n      %left: bool[n,2] = tf.Less(%y"),
    # What falls where x rises.
    ("tf.SelectV2(%left, %middle, %high)", "tf.SelectV2(%left, %high, %middle)"),
    # A size counts, or decides.
    ("tf.AddV2(%low, %high)", "tf.AddV2(%low, %size)"),
    ("tf.Less(%i, int32[] 3)", "tf.Less(%i, %size)"),
    ("tf.AddV2(%i, int32[] 1)", "tf.AddV2(%i, %size)"),
    ("tf.Fill(%sizes, int32[] 4)", "tf.Fill(%sizes, %size)"),
    # Elements meet each other.
    ("tf.AddV2(%low, %high)", "tf.ReverseV2(%high, int32[1] [0])"),
    # Another result is read.
    ("return %found\n", "return %found, %c\n"),
], ids=str)  # fmt: skip
def test_other_loops_stay(change: tuple[str, str]) -> None:
    text = SEARCH.replace(*UP_TO)
    assert change[0] in text
    check_pass("bucketize-searches", text.replace(*change), first=FIRST)


@pytest.mark.parametrize(("last", "fits"), [((1 << 24) - 1, True), (1 << 24, False)])
def test_whole_numbers_that_float32_has_not_apart_are_not_compared(last: int, fits: bool) -> None:
    whole = SEARCH.replace(*UP_TO).replace("float32", "int32").replace("[0.5, 1.0, 1.0, 2.0]", f"[1, 2, 2, {last}]")
    if not fits:
        check_pass("bucketize-searches", whole, first=FIRST)
        return
    _bucketized([1.0, 2.0, 2.0, float(last)], whole)
