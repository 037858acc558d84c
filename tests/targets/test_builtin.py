"""The targets that come with fuseconv: each has a name of its own, by which it is found."""

from __future__ import annotations

from fuseconv.fuse.registry import Registry
from fuseconv.targets.builtin import MODULES


def test_each_is_found_by_its_name() -> None:
    targets = [target for module in MODULES for target in module.TARGETS]
    assert len(targets) >= len(MODULES)
    assert all(Registry.builtin().target(target.name) is target for target in targets)
