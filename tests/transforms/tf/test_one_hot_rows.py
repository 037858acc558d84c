"""Rows that are 1 where an index is."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def _main(*lines: str) -> str:
    return "main {\n" + "\n".join(["input %i: int32[n,5]", "input %z: bool[n,5,3]", *lines, "return %y"]) + "\n}"


_INDEX = "%k: int32[n,5,1] = tf.ExpandDims(%i, int32[] 2)"
_EQUAL = "%e: bool[n,5,3] = tf.Equal(%k, int32[3] [0, 1, 2])"
_CAST = "%y: float32[n,5,3] = tf.Cast(%e)"


@pytest.mark.parametrize(("made", "one", "zero"), [("float32", "1.0", "0.0"), ("int32", "1", "0")])
def test_rows_have_a_name(made: str, one: str, zero: str) -> None:
    cast = _CAST.replace("float32", made)
    named = f"%y: {made}[n,5,3] = tf.OneHot(%i, int32[] 3, {made}[] {one}, {made}[] {zero}) {{'axis': -1}}"
    check_pass("simplify-stablehlo", _main(_INDEX, _EQUAL, cast), _main(_INDEX, _EQUAL, named))
    turned = "%e: bool[n,5,3] = tf.Equal(int32[1,1,3] [[[0, 1, 2]]], %k)"
    check_pass("simplify-stablehlo", _main(_INDEX, turned, cast), _main(_INDEX, turned, named))


@pytest.mark.parametrize(("old", "new"), [
    ("[0, 1, 2]", "[0, 1, 3]"), ("Equal", "LessEqual"), ("float32[n,5,3] = tf.Cast", "float16[n,5,3] = tf.Cast"),
    # Numbers along another dimension
    ("%k: int32[n,5,1] = tf.ExpandDims(%i, int32[] 2)", "%k: int32[n,1,5] = tf.ExpandDims(%i, int32[] 1)"),
])  # fmt: skip
def test_near_misses(old: str, new: str) -> None:
    lines = [line.replace(old, new) for line in (_INDEX, _EQUAL, _CAST)]
    assert lines != [_INDEX, _EQUAL, _CAST]
    if "[n,1,5]" in new:
        rows = "%e: bool[n,3,5] = tf.Equal(%k, int32[3,1] [[0], [1], [2]])"
        lines = [lines[0], rows, "%y: float32[n,3,5] = tf.Cast(%e)"]
    check_pass("simplify-stablehlo", _main(*lines))


def test_a_comparison_that_is_read_besides_stays() -> None:
    both = ["%c: float32[n,5,3] = tf.Cast(%e)", "%y: float32[n,5,3] = tf.SelectV2(%e, %c, float32[] 2.0)"]
    check_pass("simplify-stablehlo", _main(_INDEX, _EQUAL, *both))
