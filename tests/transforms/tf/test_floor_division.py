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
