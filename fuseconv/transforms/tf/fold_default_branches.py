"""Take the side of a branch that a model takes where nobody feeds its placeholders."""

from __future__ import annotations

import numpy as np

from fuseconv.facts import NO_TF1_CONTROL_FLOW
from fuseconv.ir import types
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.pass_manager import rewrite_pass
from fuseconv.report.records import Report
from fuseconv.tf.folders import evaluate
from fuseconv.tf.traits import BRANCHES, FORWARDS
from fuseconv.transforms.tf.simplify_control_flow import inline_known_branch

_LOGIC = frozenset({"tf.Equal", "tf.LogicalAnd", "tf.LogicalNot", "tf.LogicalOr", "tf.NotEqual"})


@rewrite_pass("fold-default-branches", BRANCHES, requires=(NO_TF1_CONTROL_FLOW,), revisit=True)
def fold_default_branches(op: Op, out: list[Op], module: Module, report: Report) -> list[Value] | None:
    """Take the default side of a branch that nobody feeds: If(PlaceholderWithDefault(True)) -> then_branch.

    This comes before variables are looked at: what the other side writes is never written."""
    known = _default(op.operands[0], {})
    if known is None:
        return None
    op.set_operand(0, constant(known, types.of_array(known), op.name))
    return inline_known_branch(op, out, module, report)


def _default(value: Value | None, seen: dict[Value, np.ndarray | None]) -> np.ndarray | None:
    """Return what a condition is if nobody feeds it anything else; None if that is not known. seen: of values that came
    before."""
    if value is None or value.is_const or value.op is None:
        return None if value is None else value.data
    if value not in seen:
        seen[value] = _computed_default(value.op, value.index, seen)
    return seen[value]


def _computed_default(op: Op, index: int, seen: dict[Value, np.ndarray | None]) -> np.ndarray | None:
    if op.kind in FORWARDS:
        return _default(op.operands[index], seen)
    operands = [_default(operand, seen) for operand in op.operands] if op.kind in _LOGIC else [None]
    known = [operand for operand in operands if operand is not None]
    made = evaluate(op, known) if len(known) == len(operands) else None
    return None if made is None else made[0]
