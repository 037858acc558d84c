"""Biases that a file computes of constants."""

from __future__ import annotations

from tests.check_pass import check_pass

_CONV = "%y: float32[n,a,b,2] = tfl.CONV_2D(%x, %w, {bias}) {{'stride_h': 4, 'stride_w': 4}}"
_INPUTS = "input %x: float32[n,h,w,3]\ninput %w: float32[2,3,3,3]"


def _text(bias: str, before: str = "") -> str:
    return "\n".join(["main {", _INPUTS, before, _CONV.format(bias=bias), "return %y", "}"])


def test_a_bias_that_is_reshaped_is_read_as_it_was() -> None:
    constant = "float32[2] [1.0, 2.0]"
    reshaped = f"%b: float32[2] = tfl.RESHAPE({constant}, int32[1] [2])"
    check_pass("constant-biases", _text("%b", reshaped), _text(constant))


def test_other_biases_stay() -> None:
    column = "%b: float32[2] = tfl.RESHAPE(float32[2,1] [[1.0], [2.0]], int32[1] [2])"
    check_pass("constant-biases", _text("%b", column))
    check_pass("constant-biases", _text("float32[2] [1.0, 2.0]"))
