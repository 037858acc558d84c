"""Eliminate variables that are only kept up to date: what they hold reaches no result.

Keras 3's dropout layers, for one, advance the seed of a generator in inference too.
"""

from __future__ import annotations

from fuseconv.facts import READ_ONLY_VARIABLES_ARE_CONSTANTS
from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import erase_ops
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.resource_alias import aliases, are_read
from fuseconv.tf.side_effects import bodies, has_effect
from fuseconv.tf.traits import VARIABLES

_READ, _ASSIGN = "tf.ReadVariableOp", "tf.AssignVariableOp"


@module_pass("eliminate-dead-variables", requires=(READ_ONLY_VARIABLES_ARE_CONSTANTS,), kinds=VARIABLES)
def eliminate_dead_variables(module: Module, report: Report) -> None:
    """Remove variables that are only kept up to date: v = f(v), which no result reads -> nothing.

    Variables that loops, branches or functions use are left alone."""
    if not are_read(module, VARIABLES):
        return
    names = aliases(module, VARIABLES)
    main = {op for signature in module.signatures for op in signature.graph.ops}
    uses: dict[str, set[Op]] = {}
    for value, known in names.items():
        for name in known:
            uses.setdefault(name, set()).update(value.uses)
    dead = {
        name for name, ops in uses.items()
        if all(op in main and op.kind in (_READ, _ASSIGN) and len(names[op.operands[0]]) == 1 for op in ops)  # type: ignore[index]
    }  # fmt: skip
    targets = {op: name for name in dead for op in uses[name] if op.kind == _ASSIGN}
    while True:
        seen = {name for name in dead if not _vanishes(uses[name], dead, targets, module)}
        if not seen:
            break
        dead -= seen
    for graph in {id(signature.graph): signature.graph for signature in module.signatures}.values():
        gone = {op for op in graph.ops if targets.get(op) in dead}
        for op in gone:
            report.removed(op, "eliminate-dead-variables", f"what the variable {targets[op]} holds reaches no result")
        erase_ops(graph, gone)


def _vanishes(uses: set[Op], dead: set[str], targets: dict[Op, str], module: Module) -> bool:
    """Return whether all that a variable's reads lead to are assignments of dead variables."""
    pending: list[Value] = [op.result for op in uses if op.kind == _READ]
    found: set[Value] = set()
    while pending:
        value = pending.pop()
        if value in found:
            continue
        found.add(value)
        for op in value.uses:
            if targets.get(op) in dead:
                continue
            if op.kind == "ir.return" or any(True for _ in bodies(op, module)) or has_effect(op, module, {}):
                return False
            pending += op.results
    return True
