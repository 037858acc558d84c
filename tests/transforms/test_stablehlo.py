"""The passes of StableHLO modules run on these only."""

from __future__ import annotations

from fuseconv.ir.graph import Module
from fuseconv.pass_manager import Context
from fuseconv.report.records import Report
from tests.transforms.groups import conditions


def test_they_run_on_modules_of_stablehlo_only() -> None:
    context = Context(Module(), Report(), {})
    for has_stablehlo in (False, True):
        context.module.has_stablehlo = has_stablehlo
        assert conditions("fuseconv.transforms.stablehlo", context) == {has_stablehlo}
