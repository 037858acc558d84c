"""Globs choose the ops that are quantized, by type, tensor, node or layer."""

from __future__ import annotations

import pytest

from fuseconv.errors import InputError
from fuseconv.quantize.selection import Selection
from tests.check_pass import check_pass
from tests.quantize.ranges import measured
from tests.tf.text_cases import module_of

_TEXT = """
main {
  input %x: float32[n]
  %y: float32[n] = tfl.ABS(%x) "net/first/Abs" from ["net/first/Abs"]
  %z: float32[n] = tfl.LOGISTIC(%y) "net/second/Sigmoid" from ["net/second/Sigmoid"]
  return %z
}
"""


@pytest.mark.parametrize(("selection", "left"), [
    (Selection(), []),
    (Selection(without=("ABS",)), ["ABS"]),
    (Selection(without=("first",)), ["ABS"]),
    (Selection(without=("net/*/Sig*",)), ["LOGISTIC"]),
    (Selection(without=("y",)), ["ABS"]),
    (Selection(only=("LOG*",)), ["ABS"]),
    (Selection(only=("net",), without=("second",)), ["LOGISTIC"]),
])  # fmt: skip
def test_what_is_left_out(selection: Selection, left: list[str]) -> None:
    module, _ = module_of(_TEXT)
    selection.check(module)
    assert [op.type for op in module.signatures[0].graph.ops if selection.refusal(op)] == left


@pytest.mark.parametrize("selection", [Selection(only=("lstm",)), Selection(without=("lstm",))])
def test_a_glob_that_matches_nothing(selection: Selection) -> None:
    with pytest.raises(InputError, match="lstm matches no op, tensor or layer"):
        selection.check(module_of(_TEXT)[0])


def test_a_misspelt_glob() -> None:
    with pytest.raises(InputError, match=r"--no-quantize LOGISTICS matches no op, .*; did you mean LOGISTIC\?"):
        Selection(without=("LOGISTICS",)).check(module_of(_TEXT)[0])


def test_passes_leave_out_what_is_not_chosen() -> None:
    calibration = measured(x=(-128, 127), y=(0, 127), z=(0, 1))
    none = Selection(without=("ABS", "LOGISTIC"))
    context = check_pass("to-integers", _TEXT, quantize="int8", calibration=calibration, selection=none)
    assert {item.why for item in context.report.quantized} == {
        "--no-quantize ABS leaves it out", "--no-quantize LOGISTIC leaves it out",
    }  # fmt: skip
    dense = """
    main {
      input %x: float32[n,1]
      %y: float32[n,2000] = tfl.FULLY_CONNECTED(%x, %w, _)
      return %y
    }
    """.replace("%w", f"float32[2000,1] {[[1.0]] * 2000}")
    for name in ("weights-to-int8", "weights-to-float16"):
        check_pass(name, dense, selection=Selection(without=("FULLY*",)))
