"""Divisions of integers that round down."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_QUOTIENT = [
    "%cut: int32[n] = tf.TruncateDiv(%x, int32[] 3)", "%sign: int32[n] = tf.Sign(%x)",
    "%below: bool[n] = tf.NotEqual(%sign, int32[] 1)", "%rest: int32[n] = tf.TruncateMod(%x, int32[] 3)",
    "%some: bool[n] = tf.NotEqual(%rest, int32[] 0)", "%both: bool[n] = tf.LogicalAnd(%below, %some)",
    "%less: int32[n] = tf.Sub(%cut, int32[] 1)", "%y: int32[n] = tf.SelectV2(%both, %less, %cut)",
]  # fmt: skip
_REST = [
    "%rest: int32[n] = tf.TruncateMod(%x, int32[] 3)", "%some: bool[n] = tf.NotEqual(%rest, int32[] 0)",
    "%below: bool[n] = tf.Less(%rest, int32[] 0)", "%both: bool[n] = tf.LogicalAnd(%below, %some)",
    "%more: int32[n] = tf.AddV2(%rest, int32[] 3)", "%y: int32[n] = tf.SelectV2(%both, %more, %rest)",
]  # fmt: skip


def _main(*lines: str) -> str:
    return "main {\n" + "\n".join(["input %x: int32[n]", "input %z: int32[n]", *lines, "return %y"]) + "\n}"


def test_a_quotient_has_a_name() -> None:
    named = "%y: int32[n] = tf.FloorDiv(%x, int32[] 3)"
    check_pass("simplify-stablehlo", _main(*_QUOTIENT), _main(*_QUOTIENT[:-1], named))


def test_a_rest_has_a_name() -> None:
    named = "%y: int32[n] = tf.FloorMod(%x, int32[] 3)"
    check_pass("simplify-stablehlo", _main(*_REST), _main(*_REST[:-1], named))


@pytest.mark.parametrize(("old", "new"), [
    ("TruncateDiv(%x", "TruncateDiv(%z"), ("Sign(%x)", "Sign(%z)"), ("Mod(%x, int32[] 3)", "Mod(%x, int32[] 4)"),
    ("Mod(%x", "Mod(%z"), ("%rest, int32[] 0", "%rest, int32[] 1"), ("%sign, int32[] 1", "%sign, int32[] 0"),
    ("Sub(%cut, int32[] 1)", "Sub(%cut, int32[] 2)"), ("Sub(%cut", "Sub(%z"), ("LogicalAnd", "LogicalOr"),
    ("int32[] 3", "int32[] -3"), ("NotEqual(%rest", "Equal(%rest"), ("NotEqual(%sign", "Equal(%sign"),
])  # fmt: skip
def test_near_misses_of_a_quotient(old: str, new: str) -> None:
    lines = [line.replace(old, new) for line in _QUOTIENT]
    assert lines != _QUOTIENT
    check_pass("simplify-stablehlo", _main(*lines))


@pytest.mark.parametrize(("old", "new"), [
    ("Less(%rest, int32[] 0)", "Less(%rest, int32[] 1)"), ("Less(%rest", "Less(%x"), ("Less", "Greater"),
    ("NotEqual(%rest", "NotEqual(%x"), ("AddV2(%rest, int32[] 3)", "AddV2(%rest, int32[] 2)"),
    ("AddV2(%rest", "AddV2(%x"), ("LogicalAnd", "LogicalOr"), ("int32[] 3", "int32[] -3"),
])  # fmt: skip
def test_near_misses_of_a_rest(old: str, new: str) -> None:
    lines = [line.replace(old, new) for line in _REST]
    assert lines != _REST
    check_pass("simplify-stablehlo", _main(*lines))


def _floats(lines: list[str], dtype: str = "float32") -> str:
    return _main(*lines).replace("int32", dtype)


def test_a_rest_of_floats_has_a_name() -> None:
    named = "%y: int32[n] = tf.FloorMod(%x, int32[] 3)"
    check_pass("floor-division", _floats(_REST), _floats([*_REST[:-1], named]))
    check_pass("floor-division", _floats(_REST, "float16"))


def _with_signs(divisor: str, signs: str) -> list[str]:
    lines = [line.replace("int32[] 3", divisor) for line in _REST]
    differ = f"%differ: bool[n] = tf.NotEqual(%below, {signs})"
    return [*lines[:3], differ, lines[3].replace("%below", "%differ"), *lines[4:]]


@pytest.mark.parametrize(("divisor", "signs", "fits"), [
    ("int32[] -3", "bool[] True", True), ("int32[2] [3, -2]", "bool[2] [False, True]", True),
    ("int32[2] [3, -2]", "bool[2] [True, False]", False), ("int32[] -3", "bool[] False", False),
    ("int32[] 3", "bool[] True", False),
])  # fmt: skip
def test_a_constant_divisor_may_be_negative(divisor: str, signs: str, fits: bool) -> None:
    lines = _with_signs(divisor, signs)
    named = f"%y: int32[n] = tf.FloorMod(%x, {divisor})"
    check_pass("floor-division", _floats(lines), _floats([*lines[:-1], named]) if fits else None)


_REMAINDER = [
    "%zero: bool[n] = tf.Equal(%z, int32[] 0)", "%minus: bool[n] = tf.Equal(%z, int32[] -1)",
    "%odd: bool[n] = tf.LogicalOr(%zero, %minus)", "%d: int32[n] = tf.SelectV2(%odd, int32[] 1, %z)",
    "%of: int32[n] = tf.TruncateMod(%x, %d)", "%rest: int32[n] = tf.SelectV2(%zero, %x, %of)",
    "%some: bool[n] = tf.NotEqual(%rest, int32[] 0)", "%below: bool[n] = tf.Less(%rest, int32[] 0)",
    "%down: bool[n] = tf.Less(%z, int32[] 0)", "%apart: bool[n] = tf.NotEqual(%below, %down)",
    "%both: bool[n] = tf.LogicalAnd(%apart, %some)", "%more: int32[n] = tf.AddV2(%rest, %z)",
    "%y: int32[n] = tf.SelectV2(%both, %more, %rest)",
]  # fmt: skip


def test_a_rest_of_any_divisor_has_a_name() -> None:
    named = ["%m: int32[n] = tf.FloorMod(%x, %d)", "%y: int32[n] = tf.SelectV2(%zero, %x, %m)"]
    check_pass("simplify-stablehlo", _main(*_REMAINDER), _main(*_REMAINDER[:-1], *named))


@pytest.mark.parametrize(("old", "new"), [
    ("Equal(%z, int32[] 0)", "Equal(%z, int32[] 2)"), ("Equal(%z, int32[] -1)", "Equal(%z, int32[] 2)"),
    ("Equal(%z, int32[] 0)", "Equal(%x, int32[] 0)"), ("(%odd, int32[] 1, %z)", "(%odd, int32[] 3, %z)"),
    ("(%odd, int32[] 1, %z)", "(%odd, int32[] 1, %x)"), ("TruncateMod(%x", "TruncateMod(%z"),
    ("(%zero, %x, %of)", "(%zero, %z, %of)"), ("(%rest, int32[] 0)", "(%rest, int32[] 1)"),
    ("Less(%z, int32[] 0)", "Less(%z, int32[] 1)"), ("Less(%z", "Less(%x"), ("NotEqual(%below", "Equal(%below"),
    ("LogicalAnd", "LogicalOr"), ("AddV2(%rest, %z)", "AddV2(%rest, %x)"), ("AddV2", "Mul"),
    ("(%both, %more, %rest)", "(%both, %rest, %more)"), ("TruncateMod", "TruncateDiv"),
])  # fmt: skip
def test_near_misses_of_a_rest_of_any_divisor(old: str, new: str) -> None:
    lines = [line.replace(old, new) for line in _REMAINDER]
    assert lines != _REMAINDER
    check_pass("simplify-stablehlo", _main(*lines))


_OF_SIZES = """
    main {
      input %x: int32[n]
      input %z: int32[]
      %shape: int32[1] = tf.Shape(%x)
      %n: int32[] = tf.StridedSlice(%shape, int32[1] [0], int32[1] [1], int32[1] [1]) {'shrink_axis_mask': 1}
      LINES
      return RESULTS
    }
    """


def _of_sizes(lines: list[str], results: str) -> str:
    return _OF_SIZES.replace("LINES", "\n      ".join(lines)).replace("RESULTS", results)


def test_a_size_is_not_negative_and_what_replaces_0_is_not_0() -> None:
    choices = [
        "%none: bool[] = tf.Equal(%n, int32[] 0)", "%some: int32[] = tf.SelectV2(%none, int32[] 1, %n)",
        "%zero: bool[] = tf.Equal(%z, int32[] 0)", "%other: int32[] = tf.SelectV2(%zero, int32[] -3, %z)",
    ]  # fmt: skip
    asked = [
        "%a: bool[] = tf.Equal(%n, int32[] -1)", "%b: bool[] = tf.Less(%n, int32[] 0)",
        "%c: bool[] = tf.Less(%some, int32[] 0)", "%d: bool[] = tf.Equal(int32[] -1, %some)",
        "%e: bool[] = tf.Equal(%some, int32[] 0)", "%f: bool[] = tf.Equal(%other, int32[] 0)",
    ]  # fmt: skip
    false = ", ".join(["bool[] False"] * 6)
    before = _of_sizes(choices + asked, "%a, %b, %c, %d, %e, %f")
    check_pass("simplify-stablehlo", before, _of_sizes(choices, false), first=["canonicalize"])


def test_what_may_hold_of_sizes_stays() -> None:
    lines = [
        "%a: bool[] = tf.Equal(%n, int32[] 0)", "%b: bool[] = tf.Less(%n, int32[] 1)",
        "%c: bool[] = tf.Less(int32[] -1, %n)", "%d: bool[] = tf.Less(%z, int32[] 0)",
        "%some: int32[] = tf.SelectV2(%a, int32[] 1, %n)", "%e: bool[] = tf.Equal(%some, int32[] 1)",
        "%zero: int32[] = tf.SelectV2(%a, int32[] 0, %z)", "%f: bool[] = tf.Equal(%zero, int32[] 0)",
        "%g: bool[] = tf.Equal(%zero, int32[] -1)",
    ]  # fmt: skip
    check_pass("simplify-stablehlo", _of_sizes(lines, "%a, %b, %c, %d, %e, %f, %g"), first=["canonicalize"])


def test_divisions_have_names_before_shapes_are_inferred() -> None:
    named = "%y: int32[n] = tf.FloorDiv(%x, int32[] 3)"
    check_pass("floor-division", _main(*_QUOTIENT), _main(*_QUOTIENT[:-1], named))
    guarded = "%cut: int32[n] = tf.SelectV2(bool[] False, %z, %first)"
    lines = [_QUOTIENT[0].replace("%cut", "%first"), guarded, *_QUOTIENT[1:]]
    check_pass("floor-division", _main(*lines), _main(lines[0], *lines[2:-1], named).replace("%cut", "%first"))
    check_pass("floor-division", _main(*_REST), _main(*_REST[:-1], "%y: int32[n] = tf.FloorMod(%x, int32[] 3)"))
