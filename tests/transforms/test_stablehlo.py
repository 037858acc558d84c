"""The passes of StableHLO modules run on these only."""

from __future__ import annotations

from fuseconv.ir.graph import Module
from fuseconv.pass_manager import Context, passes_of
from fuseconv.report.records import Report
from fuseconv.transforms.stablehlo import PASSES


def test_they_run_on_modules_of_stablehlo_only() -> None:
    context = Context(Module(), Report(), {})
    conditions = [item.condition for item in passes_of(PASSES)]
    for has_stablehlo in (False, True):
        context.module.has_stablehlo = has_stablehlo
        runs = [condition is not None and condition(context) for condition in conditions]
        assert runs == [has_stablehlo] * len(conditions)
