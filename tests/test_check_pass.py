"""The text that passes are told in, and that a difference fails."""

from __future__ import annotations

import pytest

from tests.check_pass import check_pass
from tests.tf.text_cases import module_of, short_text

SHORT = """main {
  input %0: float32[n,2]
  %1: int32[2]; %2: float32[n,2] = tf.Odd(%0, _, float32[2] [1.0, 2.0]) {'T': int32, 'f': @inner, 'shapes': [1, 2]}
  tf.Assert(%2, bool[] True)
  %3: float32[n+-1,2] = tf.While(%2, string[] strings:[b'a']) {'shape': [int32, int64]}
  return %3, int32[] 4
}
inner {
  attrs {'_implements': {'function': 'x'}}
  input %0: float32[]
  variable %1: float32[1,2] {'variable': True}
  %2: float32[] = tf.Neg(%1)
  return %2
}
"""


def test_the_short_form_is_read_and_printed() -> None:
    module, report = module_of(SHORT)
    assert short_text(module) == SHORT
    assert [*report.account()] == ["1", "tf.Assert", "3"]
    assert len(module.signatures[0].outputs) == 2 and [*module.functions] == ["inner"]


def test_names_and_the_order_of_functions_do_not_count() -> None:
    main, _, inner = SHORT.replace("%0", "%x").partition("inner {")
    inner, other = "inner {" + inner, 'unused {\n input %0 "x": float32[]\n return %0\n}\n'
    texts = [short_text(module_of(main, *functions)[0]) for functions in ((inner, other), (other, inner))]
    assert texts[0] == texts[1] == SHORT


NEG = "main {\n input %x: float32[2]\n %y: float32[2] = tf.Identity(%x)\n %z: float32[2] = tf.Neg(%y)\n return %z\n}"


def test_a_difference_fails_and_is_shown() -> None:
    check_pass("canonicalize", NEG, "main {\n input %a: float32[2]\n %b: float32[2] = tf.Neg(%a)\n return %b\n}")
    with pytest.raises(pytest.fail.Exception, match=r"(?s)-  %1: float32\[2\] = tf.Identity\(%0\).*\+  return %1"):
        check_pass("canonicalize", NEG)
