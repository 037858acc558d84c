"""Gathers along a batch whose places are written out."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_COUNTED = [
    "%s: int32[3] = tf.Shape(%x)",
    "%n: int32[] = tf.StridedSlice(%s, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}",
    "%r: int32[n] = tf.Range(int32[] 0, %n, int32[] 1)",
]
_PLACES = ["%a: int32[n,1] = tf.ExpandDims(%r, int32[] 1)", "%b: int32[n,1] = tf.ExpandDims(%i, int32[] 1)"]
_JOINED = ["%c: int32[n,2] = tf.ConcatV2(%a, %b, int32[] 1)"]
_CLAMPED = ["%d: int32[n,2] = tf.Minimum(%c, int32[2] [9, 5])", "%e: int32[n,2] = tf.Maximum(%d, int32[] 0)"]


def _main(*lines: str, shape: str = "n,6,2") -> str:
    return "\n".join(["main {", f"input %x: float32[{shape}]", "input %i: int32[n]", *lines, "return %y", "}"])


def test_the_batch_is_a_dimension() -> None:
    before = [*_COUNTED, *_PLACES, *_JOINED]
    check_pass("simplify-stablehlo", _main(*before, "%y: float32[n,2] = tf.GatherNd(%x, %c)"),
               _main(*before, "%y: float32[n,2] = tf.GatherV2(%x, %i, int32[] 1) {'batch_dims': 1}"))  # fmt: skip


def test_a_batch_behind_time_is_moved() -> None:
    before = [
        *(line.replace("[1] [0]", "[1] [1]").replace("[1] [1], int32[1] [1])", "[1] [2], int32[1] [1])")
          for line in _COUNTED),
        *_PLACES, "%c: int32[n,2] = tf.ConcatV2(%b, %a, int32[] -1)",
        "%d: int32[n,2] = tf.Maximum(%c, int32[2] [1, 0])",
    ]  # fmt: skip
    after = [
        "%h: int32[n] = tf.Maximum(%i, int32[] 1)",
        "%t: float32[n,6,2] = tf.Transpose(%x, int32[3] [1, 0, 2])",
        "%y: float32[n,2] = tf.GatherV2(%t, %h, int32[] 1) {'batch_dims': 1}",
    ]
    check_pass("simplify-stablehlo", _main(*before, "%y: float32[n,2] = tf.GatherNd(%x, %d)", shape="6,n,2"),
               _main(*before, *after, shape="6,n,2"))  # fmt: skip


@pytest.mark.parametrize("places", ["[[0], [1], [2]]", "[[0], [1], [1]]"])
def test_places_that_are_constants(places: str) -> None:
    def main(*lines: str) -> str:
        return _main("%b: int32[3,1] = tf.ExpandDims(%i, int32[] 1)",
                     f"%c: int32[3,2] = tf.ConcatV2(int32[3,1] {places}, %b, int32[] 1)", *lines,
                     shape="3,6,2").replace("int32[n]", "int32[3]")  # fmt: skip

    made = "%y: float32[3,2] = tf.GatherV2(%x, %i, int32[] 1) {'batch_dims': 1}"
    check_pass("simplify-stablehlo", main("%y: float32[3,2] = tf.GatherNd(%x, %c)"),
               main(made) if places.endswith("[2]]") else None)  # fmt: skip


@pytest.mark.parametrize("lines", [
    [*_COUNTED, *_PLACES, *_JOINED, *_CLAMPED, "%y: float32[n,2] = tf.GatherNd(%x, %e)"],
    [*_COUNTED[:2], "%r: int32[n] = tf.Range(int32[] 1, %n, int32[] 1)", *_PLACES, *_JOINED,
     "%y: float32[n,2] = tf.GatherNd(%x, %c)"],
    [*_COUNTED, _PLACES[0], "%b: int32[n,1] = tf.Neg(%a)", "%j: int32[n,1] = tf.ExpandDims(%i, int32[] 1)",
     "%c: int32[n,3] = tf.ConcatV2(%a, %b, %j, int32[] 1)", "%y: float32[n] = tf.GatherNd(%x, %c)"],
    [_PLACES[1], "%c: int32[n,2] = tf.Minimum(%b, int32[2] [9, 5])", "%y: float32[n,2] = tf.GatherNd(%x, %c)"],
])  # fmt: skip
def test_near_misses_stay(lines: list[str]) -> None:
    """Places that are clamped, that do not begin at 0, with two more numbers, and of one number that bounds repeat."""
    check_pass("simplify-stablehlo", _main(*lines))


def test_rows_of_another_number_stay() -> None:
    lines = [*_COUNTED, *_PLACES, *_JOINED, "%y: float32[n,2] = tf.GatherNd(%x, %c)"]
    check_pass("simplify-stablehlo", _main(*lines, shape="m,6,2"))


def test_what_counts_up_counts_none_from_the_end() -> None:
    lines = [*_COUNTED, "%l: bool[n] = tf.Less(%r, int32[] 0)", "%m: int32[n] = tf.AddV2(%r, %n)"]
    check_pass("simplify-stablehlo", _main(*lines, "%y: int32[n] = tf.SelectV2(%l, %m, %r)"),
               _main(*lines).replace("return %y", "return %r"))  # fmt: skip
