"""The passes of targets that run whole files run for these only, and on floats."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module
from fuseconv.pass_manager import Context, passes_of
from fuseconv.report.records import Report
from fuseconv.transforms.whole_files import PASSES


@pytest.mark.parametrize(
    ("target", "quantize", "runs"),
    [(None, None, False), ("gpu", None, False), ("micro", None, True), ("micro", "int8", False)],
)
def test_they_run_on_floats_for_such_targets(target: str | None, quantize: str | None, runs: bool) -> None:
    options = {"target": target and Registry().target(target), "quantize": quantize}
    context = Context(Module(), Report(), options)
    found = [item.condition is not None and item.condition(context) for item in passes_of(PASSES)]
    assert found == [runs] * 2
