"""Drop writes of variables with what they hold: AssignVariableOp(v, ReadVariableOp(v)) -> nothing.

Keras on JAX hands all variables to its module and writes them back after each call, those too that do not change: the
moving statistics of BatchNormalization, and the seeds of layers without dropout.
"""

from __future__ import annotations

from fuseconv.ir.graph import Module, Op, Value
from fuseconv.ir.rewriter import erase_ops
from fuseconv.ir.terms import look_through, operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.traits import FORWARDS

_WRITE, _READ = "tf.AssignVariableOp", "tf.ReadVariableOp"


@module_pass("drop-unchanged-writes")
def drop_unchanged_writes(module: Module, report: Report) -> bool:
    """Drop writes of variables that never change: AssignVariableOp(v, ReadVariableOp(v)) -> nothing.

    Where nothing else is done with the variable than to read it. Returns whether anything changed."""
    changed = False
    for graph in module.graphs():
        writes = [op for op in graph.ops if op.kind == _WRITE]
        dropped = {op for op in writes if _is_unchanged(op)}
        for op in dropped:
            if op.sources:
                report.record("removed", "drop-unchanged-writes", op.sources, why="it writes what the variable holds")
        erase_ops(graph, dropped)
        changed |= bool(dropped)
    return changed


def _is_unchanged(op: Op) -> bool:
    handle, value = op.operands
    if handle is None or not _reads(value, handle):
        return False
    return all(
        user.kind == _READ or (user.kind == _WRITE and user.operands[0] is handle and _reads(user.operands[1], handle))
        for user in handle.uses
    )


def _reads(value: Value | None, handle: Value) -> bool:
    """Return whether a value is what a variable holds."""
    return value is not None and operand_of(look_through(value, FORWARDS), _READ) is handle
