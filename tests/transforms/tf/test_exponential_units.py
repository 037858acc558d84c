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


_LARGE = "%large: bool[n] = tf.Greater(%x, float32[] 20.0)"
_SPELLED = [
    _LARGE, "%exp: float32[n] = tf.Exp(%x)", "%log: float32[n] = tf.Log1p(%exp)",
    "%y: float32[n] = tf.SelectV2(%large, %x, %log)",
]  # fmt: skip


def test_a_softplus_of_pytorch_has_a_name() -> None:
    check_pass("simplify-stablehlo", _main(*_SPELLED), _main(*_SPELLED[:-1], "%y: float32[n] = tf.Softplus(%x)"))


@pytest.mark.parametrize(("old", "new"), [
    ("20.0", "10.0"), ("Exp(%x)", "Exp(%z)"), ("Greater(%x", "Greater(%z"), ("Greater", "Less"), ("Log1p", "Log"),
    ("SelectV2(%large, %x, %log)", "SelectV2(%large, %log, %x)"),
])  # fmt: skip
def test_near_misses_of_pytorch_s(old: str, new: str) -> None:
    check_pass("simplify-stablehlo", _main(*[line.replace(old, new) for line in _SPELLED]))


_POWERS = "%powers: float32[n] = tf.Expm1(%x)"
_UNIT = "%unit: float32[n] = tf.Elu(%x)"
_ABOVE = "%above: bool[n] = tf.GreaterEqual(%x, float32[] 0.0)"
_SCALED = "%scaled: float32[n] = tf.Mul({}, float32[] 1.5)"
_CHOSEN = "%y: float32[n] = tf.SelectV2(%above, {}, {})"


def test_an_exponential_linear_unit_of_pytorch_has_a_name() -> None:
    for test in ("GreaterEqual", "Greater"):
        above = _ABOVE.replace("GreaterEqual", test)
        before = _main(above, _POWERS, _CHOSEN.format("%x", "%powers"))
        check_pass("simplify-stablehlo", before, _main(above, _POWERS, "%y: float32[n] = tf.Elu(%x)"))


def test_one_that_is_scaled_keeps_its_choice() -> None:
    before = _main(_ABOVE, _POWERS, _SCALED.format("%powers"), _CHOSEN.format("%z", "%scaled"))
    after = [_POWERS, _SCALED.format("%powers").replace("%scaled", "%dead"), _UNIT, _SCALED.format("%unit")]
    check_pass("simplify-stablehlo", before, _main(_ABOVE, *after, _CHOSEN.format("%z", "%scaled")))


@pytest.mark.parametrize("lines", [
    [_ABOVE, _POWERS, _CHOSEN.format("%z", "%powers")], [_ABOVE, _POWERS, _CHOSEN.format("%powers", "%x")],
    [_ABOVE.replace("%x", "%z"), _POWERS, _CHOSEN.format("%x", "%powers")],
    [_ABOVE.replace("0.0", "1.0"), _POWERS, _CHOSEN.format("%x", "%powers")],
    [_ABOVE, _POWERS, "%scaled: float32[n] = tf.Mul(%powers, %z)", _CHOSEN.format("%x", "%scaled")],
])  # fmt: skip
def test_other_choices_stay(lines: list[str]) -> None:
    check_pass("simplify-stablehlo", _main(*lines))
