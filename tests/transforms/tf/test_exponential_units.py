"""The softplus of JAX; exponential linear units are tested beside what else has a name."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass

_LINES = [
    "%relu: float32[n] = tf.Relu(%x)", "%odd: bool[n] = tf.NotEqual(%x, %x)", "%abs: float32[n] = tf.Abs(%x)",
    "%neg: float32[n] = tf.Neg(%abs)", "%exp: float32[n] = tf.Exp(%neg)", "%log: float32[n] = tf.Log1p(%exp)",
    "%sum: float32[n] = tf.AddV2(%relu, %log)", "%y: float32[n] = tf.SelectV2(%odd, %x, %sum)",
]  # fmt: skip


def _main(*lines: str) -> str:
    return "main {\n" + "\n".join(["input %x: float32[n]", "input %z: float32[n]", *lines, "return %y"]) + "\n}"


def test_a_softplus_has_a_name() -> None:
    check_pass("simplify-stablehlo", _main(*_LINES), _main(*_LINES[:-1], "%y: float32[n] = tf.Softplus(%x)"))


@pytest.mark.parametrize(("old", "new"), [
    ("Relu(%x)", "Relu(%z)"), ("NotEqual(%x, %x)", "NotEqual(%x, %z)"), ("Abs(%x)", "Abs(%z)"), ("Neg", "Square"),
    ("Log1p", "Log"), ("SelectV2(%odd, %x", "SelectV2(%odd, %z"), ("AddV2", "Sub"),
])  # fmt: skip
def test_near_misses(old: str, new: str) -> None:
    lines = [line.replace(old, new) for line in _LINES]
    assert lines != _LINES
    check_pass("simplify-stablehlo", _main(*lines))
