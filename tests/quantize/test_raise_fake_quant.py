"""Arithmetic that rounds to a grid is found, whatever it is made of."""

from __future__ import annotations

import sys
from unittest.mock import Mock

import pytest

from fuseconv.quantize.raise_fake_quant import _crossings
from tests.check_pass import check_pass

_ALL = "tfl.FAKE_QUANT(%x) {'min': -64.0, 'max': 63.5, 'num_bits': 8}"
# Each leaves its result in %y.
_FORMS = {
    "cut, then rounded": """
      %a: float32[n] = tfl.MINIMUM(%x, float32[] 63.5)
      %b: float32[n] = tfl.MAXIMUM(%a, float32[] -64)
      %c: float32[n] = tfl.MUL(%b, float32[] 2)
      %d: float32[n] = tfl.ROUND(%c)
      %y: float32[n] = tfl.MUL(%d, float32[] 0.5)
    """,
    "rounded, then cut": """
      %a: float32[n] = tfl.DIV(%x, float32[] 0.5)
      %b: float32[n] = tfl.ADD(%a, float32[] 0.5)
      %c: float32[n] = tfl.FLOOR(%b)
      %d: float32[n] = tfl.MINIMUM(%c, float32[] 127)
      %e: float32[n] = tfl.MAXIMUM(%d, float32[] -128)
      %y: float32[n] = tfl.DIV(%e, float32[] 2)
    """,
    "with a zero point": """
      %a: float32[n] = tfl.MUL(%x, float32[] 2)
      %b: float32[n] = tfl.ADD(%a, float32[] 128)
      %c: float32[n] = tfl.ROUND(%b)
      %d: float32[n] = tfl.MAXIMUM(%c, float32[] 0)
      %e: float32[n] = tfl.MINIMUM(%d, float32[] 255)
      %f: float32[n] = tfl.SUB(%e, float32[] 128)
      %y: float32[n] = tfl.MUL(%f, float32[] 0.5)
    """,
    "as what is added": """
      %a: float32[n] = tfl.MUL(%x, float32[] 2)
      %b: float32[n] = tfl.ROUND(%a)
      %c: float32[n] = tfl.MAXIMUM(%b, float32[] -128)
      %d: float32[n] = tfl.MINIMUM(%c, float32[] 127)
      %e: float32[n] = tfl.MUL(%d, float32[] 0.5)
      %f: float32[n] = tfl.SUB(%e, %x)
      %y: float32[n] = tfl.ADD(%x, %f)
    """,
}


def _check(before: str, *after: str) -> None:
    lines = "\n".join(f"      {line}" for line in after)
    head, tail = "main {\n      input %x: float32[n]", "      return %y\n    }"
    check_pass("raise-fake-quant", f"{head}\n{before}\n{tail}", f"{head}\n{lines}\n{tail}" if after else None)


@pytest.mark.parametrize("form", _FORMS)
def test_all_steps(form: str) -> None:
    _check(_FORMS[form], f"%y: float32[n] = {_ALL}")


def test_of_fewer_steps_the_others_are_cut_off() -> None:
    wide = "%z: float32[n] = tfl.FAKE_QUANT(%x) {'min': -1.0, 'max': 126.5, 'num_bits': 8}"
    _check("""
      %a: float32[n] = tfl.RELU_N1_TO_1(%x)
      %b: float32[n] = tfl.MUL(%a, float32[] 2)
      %c: float32[n] = tfl.ROUND(%b)
      %y: float32[n] = tfl.MUL(%c, float32[] 0.5)
    """, wide, "%y: float32[n] = tfl.MINIMUM(%z, float32[] 1.0)")
    _check("""
      %y: float32[n] = tfl.FAKE_QUANT(%x) {"min": -1.0, "max": 6.5, "num_bits": 4}
    """, wide, "%y: float32[n] = tfl.MINIMUM(%z, float32[] 6.5)")


def test_steps_that_are_scaled_elsewhere() -> None:
    _check("""
      %a: float32[n] = tfl.MINIMUM(%x, float32[] 63.5)
      %b: float32[n] = tfl.MAXIMUM(%a, float32[] -64)
      %c: float32[n] = tfl.MUL(%b, float32[] 2)
      %y: float32[n] = tfl.ROUND(%c)
    """, f"%z: float32[n] = {_ALL}", "%y: float32[n] = tfl.MUL(%z, float32[] 2.0)")


def test_weights_take_in_what_steps_are_scaled_by() -> None:
    _check("""
      %a: float32[n] = tfl.MINIMUM(%x, float32[] 63.5)
      %b: float32[n] = tfl.MAXIMUM(%a, float32[] -64)
      %c: float32[n] = tfl.MUL(%b, float32[] 2)
      %d: float32[n] = tfl.ROUND(%c)
      %y: float32[m,1] = tfl.FULLY_CONNECTED(%d, float32[1,2] [3, 4])
    """, f"%z: float32[n] = {_ALL}", "%y: float32[m,1] = tfl.FULLY_CONNECTED(%z, float32[1,2] [6, 8])")


def test_another_rounding_keeps_what_cuts_it_off() -> None:
    _check(f"""
      {_FORMS["cut, then rounded"].replace("%y", "%q")}
      %e: float32[n] = tfl.MINIMUM(%q, float32[] 31.75)
      %f: float32[n] = tfl.MAXIMUM(%e, float32[] -32)
      %g: float32[n] = tfl.MUL(%f, float32[] 4)
      %h: float32[n] = tfl.ROUND(%g)
      %y: float32[n] = tfl.MUL(%h, float32[] 0.25)
    """, f"%q: float32[n] = {_ALL}",
        "%y: float32[n] = tfl.FAKE_QUANT(%q) {'min': -32.0, 'max': 31.75, 'num_bits': 8}")


@pytest.mark.parametrize(("stored", "least"), [("int8[n]<0.5:0>", -64.0), ("uint8[n]<0.5:128>", -64.0),
                                              ("int8[n]<0.5:-128>", 0.0)])  # fmt: skip
def test_pairs_of_a_file(stored: str, least: float) -> None:
    wanted = f"{{'min': {least}, 'max': {least + 127.5}, 'num_bits': 8}}".replace("'min': 0.0, ", "")
    _check(f"""
      %q: {stored} = tfl.QUANTIZE(%x)
      %y: float32[n] = tfl.DEQUANTIZE(%q)
    """, f"%y: float32[n] = tfl.FAKE_QUANT(%x) {wanted}")


@pytest.mark.parametrize("text", [
    "%y: float32[n] = tfl.ROUND(%x)",  # cut at no end
    """
      %a: float32[n] = tfl.MINIMUM(%x, float32[] 200)
      %b: float32[n] = tfl.MAXIMUM(%a, float32[] -200)
      %y: float32[n] = tfl.ROUND(%b)
    """,  # too many steps
    """
      %a: float32[n] = tfl.RELU6(%x)
      %y: float32[n] = tfl.FLOOR(%a)
    """,  # not to the nearest
    """
      %a: float32[n] = tfl.MINIMUM(%x, float32[] 5)
      %b: float32[n] = tfl.MAXIMUM(%a, float32[] 1)
      %y: float32[n] = tfl.ROUND(%b)
    """,  # 0 is no step
    """
      %a: float32[n] = tfl.RELU6(%x)
      %b: float32[n] = tfl.MUL(%a, float32[2] [1, 2])
      %y: float32[n] = tfl.ROUND(%b)
    """,  # steps of channels
    """
      %b: float32[n] = tfl.ROUND(%x)
      %c0: float32[n] = tfl.TANH(%x)
    """ + "".join(f"%c{at + 1}: float32[n] = tfl.ADD(%c{at}, %c{at})\n" for at in range(64)) + """
      %y: float32[n] = tfl.SUB(%b, %c64)
    """,  # less what has 2 ** 64 ways to another tensor
])  # fmt: skip
def test_what_is_no_such_grid(text: str) -> None:
    _check(text)


def test_the_ends_of_what_nothing_clips_are_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Mock(wraps=_crossings)
    monkeypatch.setattr(sys.modules[_crossings.__module__], "_crossings", search)
    _check("""
      %a: float32[n] = tfl.MUL(%x, float32[] 8)
      %b: float32[n] = tfl.ROUND(%a)
      %y: float32[n] = tfl.MUL(%b, float32[] 0.125)
    """)
    assert not search.called
    _check(_FORMS["cut, then rounded"], f"%y: float32[n] = {_ALL}")
    assert search.called
