"""The passes of targets that run whole files run for these only."""

from __future__ import annotations

import pytest

from fuseconv.fuse.registry import Registry
from fuseconv.ir.graph import Module
from fuseconv.pass_manager import Context
from fuseconv.report.records import Report
from tests.transforms.groups import conditions


@pytest.mark.parametrize(("target", "runs"), [(None, False), ("gpu", False), ("micro", True)])
def test_they_run_for_such_targets(target: str | None, runs: bool) -> None:
    context = Context(Module(), Report(), {"target": target and Registry().target(target)})
    assert conditions("fuseconv.transforms.whole_files", context) == {runs}
