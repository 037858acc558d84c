"""What booleans are compared with, and what they choose."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass


def _main(*lines: str) -> str:
    inputs = ["input %b: bool[n]", "input %x: float32[n]", "input %z: float32[n]"]
    return "main {\n" + "\n".join([*inputs, *lines, "return %y"]) + "\n}"


_NUMBER = "%i: int32[n] = tf.Cast(%b)"
_NOT = "%not: bool[n] = tf.LogicalNot(%b)"


@pytest.mark.parametrize(("test", "negates"), [
    ("Less(%i, int32[] 1)", True), ("Equal(%i, int32[] 0)", True), ("GreaterEqual(%i, int32[] 1)", False),
    ("Less(int32[] 0, %i)", False), ("Greater(int32[] 1, %i)", True), ("NotEqual(%b, bool[] False)", False),
    ("Equal(%b, bool[] False)", True), ("NotEqual(%b, bool[1] True)", True),
])  # fmt: skip
def test_a_boolean_that_is_compared(test: str, negates: bool) -> None:
    after = "%y: bool[n] = tf.LogicalNot(%b)" if negates else "%y: bool[n] = tf.LogicalAnd(%b, %b)"
    before = f"%y: bool[n] = tf.{test}"
    if not negates:  # something has to return the boolean itself
        before = f"%t: bool[n] = tf.{test}\n%y: bool[n] = tf.LogicalAnd(%t, %b)"
    check_pass("simplify-stablehlo", _main(_NUMBER, before), _main(_NUMBER, after))


@pytest.mark.parametrize("test", [
    "Less(%i, int32[] 2)", "Less(%i, int32[] 0)", "Equal(%b, %b)", "Equal(%b, bool[1,1] True)",
])  # fmt: skip
def test_other_tests_stay(test: str) -> None:
    shape = "[1,n]" if "1,1" in test else "[n]"
    check_pass("simplify-stablehlo", _main(_NUMBER, f"%y: bool{shape} = tf.{test}"))


def test_what_is_chosen() -> None:
    check_pass("simplify-stablehlo", _main(_NOT, "%y: float32[n] = tf.SelectV2(%not, %x, %z)"),
               _main(_NOT, "%y: float32[n] = tf.SelectV2(%b, %z, %x)"))  # fmt: skip
    check_pass("simplify-stablehlo", _main("%w: float32[n] = tf.SelectV2(%b, %x, %x)", "%y: float32[n] = tf.Neg(%w)"),
               _main("%y: float32[n] = tf.Neg(%x)"))  # fmt: skip
    check_pass("simplify-stablehlo", _main(
        "%one: float32[1] = tf.Sum(%x, int32[1] [0]) {'keep_dims': True}",
        "%y: float32[n] = tf.SelectV2(%b, %one, %one)",
    ))  # fmt: skip


@pytest.mark.parametrize(("condition", "side"), [
    ("bool[] False", "z"), ("bool[1] [True]", "x"), ("bool[2] [False, False]", None),
])  # fmt: skip
def test_a_constant_that_chooses(condition: str, side: str | None) -> None:
    shape = "2" if side is None else "n"  # a condition of two makes two of a side
    lines = [f"%w: float32[{shape}] = tf.SelectV2({condition}, %x, %z)", f"%y: float32[{shape}] = tf.Neg(%w)"]
    check_pass("simplify-stablehlo", _main(*lines), side and _main(f"%y: float32[n] = tf.Neg(%{side})"))
