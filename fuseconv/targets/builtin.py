"""List the targets that come with fuseconv: a module each, with a list `TARGETS`, as a plug-in may have one."""

from __future__ import annotations

from collections.abc import Mapping

from fuseconv.errors import InputError, suggestion_or_all
from fuseconv.ir.op_table import OpTable
from fuseconv.targets import coreml, google_tensor, gpu, mediatek, micro, openvino, qnn, xnnpack
from fuseconv.targets.target import Target

MODULES = (gpu, coreml, xnnpack, micro, qnn, mediatek, openvino, google_tensor)


def builtin_targets() -> OpTable[Target]:
    """Return the targets by their names."""
    targets: OpTable[Target] = OpTable()
    for module in MODULES:
        for target in module.TARGETS:
            targets.claim(target.name, target, module.__name__)
    return targets


def named_target(name: str, targets: Mapping[str, Target]) -> Target:
    """Return the target of this name. Raises InputError, which names them all, if there is none."""
    if name not in targets:
        raise InputError(f"no target is called {name}{suggestion_or_all(name, targets)}")
    return targets[name]
