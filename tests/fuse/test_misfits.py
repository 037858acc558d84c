"""What plug-ins offer that no model can meet."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from fuseconv.fuse.match import Fusion
from fuseconv.fuse.misfits import report_misfits, wrong_counts
from fuseconv.fuse.pattern import pattern
from fuseconv.fuse.registry import Registry
from fuseconv.load.op_defs import op_names, operand_count
from fuseconv.lower.rules import lowers
from fuseconv.report.records import Report
from fuseconv.tf.folders.registry import kernel
from fuseconv.tf.shape_functions.registry import infers
from tests.tf.text_cases import module_of

MODEL = """
main {
  input %x: float32[2]
  %y: float32[2] = tf.AcmeFold(%x)
  return %y
}
"""


def _fusion(traced: Callable[..., Any]) -> Fusion:
    return Fusion("suspect", "", pattern(traced), lambda tfl, m: m.x)


def _reported(*fusions: Fusion, registry: Registry | None = None, explain: bool = False) -> Report:
    report = Report()
    registry = registry or Registry.builtin()
    report_misfits(module_of(MODEL)[0], fusions, registry, op_names, operand_count, report, explain)
    return report


@pytest.mark.parametrize(
    ("kind", "warned", "recorded"),
    [("Relu", "", ""), ("Betainc", "", ""), ("ReLU", "did you mean Relu", ""), ("Abss", "did you mean Abs", ""),
     ("AcmeSwoosh", "", "op AcmeSwoosh"), ("AcmeFold", "", "")],
)  # fmt: skip
def test_an_op_that_nobody_has_is_told(kind: str, warned: str, recorded: str) -> None:
    """It may be misspelt, or another model's own."""
    suspect = _fusion(lambda tf, x: tf.Abs(tf[kind](x, ...)))
    for explain in (False, True):
        report = _reported(suspect, explain=explain)
        assert [warned in warning for warning in report.warnings] == [True] * bool(warned)
        assert [recorded in record.why for record in report.records] == [True] * (bool(recorded) and explain)


@pytest.mark.parametrize(
    ("traced", "why"),
    [
        (lambda tf, x: tf.Abs(x, x), "Abs 2 operands, and it takes 1"),
        (lambda tf, x: tf.Neg(tf["Sub", "Mul"](x)), "Sub 1 operand, and it takes 2"),
        (lambda tf, x: tf.Neg(x, x, ...), "Neg 2 operands, and it takes 1"),
        (lambda tf, x: tf.Mul(x, ...), ""),
        (lambda tf, x: tf.AddN(x, x, x), ""),
        (lambda tfl, x: tfl.CONCATENATION(x, x, x), ""),
    ],
)
def test_a_number_of_operands_that_the_op_never_has_is_told(traced: Callable, why: str) -> None:
    warnings = _reported(_fusion(traced)).warnings
    assert bool(warnings) == bool(why)
    assert not why or warnings[0] == f"the fusion suspect matches nothing: its pattern gives {why}"


@pytest.mark.parametrize("mark", [lowers, infers, kernel])
@pytest.mark.parametrize(("name", "alike"), [("Xdivi", "Xdivy"), ("AcmeSwoosh", ""), ("AcmeFold", "")])
def test_a_function_for_an_op_that_nobody_has_is_told(mark: Callable, name: str, alike: str) -> None:
    what = {lowers: "rule", infers: "shape function", kernel: "folder"}[mark]
    plugin = ModuleType("acme")
    vars(plugin)["offer"] = mark(name)(lambda tfl, x: x)
    plugin.offer.__module__ = "acme"
    warnings = _reported(registry=Registry(plugin)).warnings
    told = f"the {what} for {name} of acme serves nothing: neither TensorFlow nor the model has an op {name}"
    assert warnings == ([f"{told}; did you mean {alike}?"] if alike else [])


def test_our_own_patterns_give_ops_the_operands_that_they_take() -> None:
    assert [why for fusion in Registry.builtin().fusions for why in wrong_counts(fusion, operand_count)] == []
