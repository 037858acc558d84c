"""What a target refuses of a graph that is written as IR text."""

from __future__ import annotations

from fuseconv.fuse.registry import Registry
from fuseconv.targets.signature import signature_of
from tests.tf.text_cases import module_of


def refusals(target: str, *lines: str) -> dict[str, str]:
    """Return why a target refuses ops, by their types. lines: of a graph, the last of which defines %y, without the
    graph's head, `return` and braces."""
    module, _ = module_of("\n".join(["main {", *lines, "return %y", "}"]))
    rules = Registry().target(target)
    found = {op.type: rules.refusal(signature_of(op)) for graph in module.graphs() for op in graph.ops}
    return {type: why for type, why in found.items() if why is not None}


def why(target: str, operands: str, op: str) -> str | None:
    """Return why a target refuses one op, None if it takes it. operands: types, as "float32[1,4] int32[3]"; op: as
    "float32[1,4] = tfl.RELU(%0)", with the operands by their places."""
    inputs = [f"input %i{index}: {type}" for index, type in enumerate(operands.split())]
    text = op
    for index in range(len(inputs)):
        text = text.replace(f"%{index}", f"%i{index}")
    found = refusals(target, *inputs, f"%y: {text}")
    return next(iter(found.values()), None)
