"""Keep ops of a branch from failing where the branch is not taken.

TFLite prepares both sides of an IF for the sizes that it is given, whichever will be taken. A kernel that checks sizes
as it is prepared then refuses the whole file for a size that only the other side is for.
"""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.ir.graph import Graph, Module, Op
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass
from fuseconv.tf.traits import BRANCHES


@module_pass("guard-branches", kinds=BRANCHES)
def guard_branches(module: Module) -> None:
    """Hand in what ops of a branch check sizes against: If(c, x) {TopKV2(x, 3)} -> If(c, x, 3) {TopKV2(x, k)}.

    What is handed in is no constant there, so that the check waits until the branch runs."""
    for graph in list(module.graphs()):
        for op in ops_of_kinds(graph, BRANCHES):
            names = dict.fromkeys(op.attrs[side].name for side in ("then_branch", "else_branch"))
            sides = [module.functions[name] for name in names]
            for side in sides:
                for inner in list(_checking(side)):
                    _hand_in(op, sides, side, inner)


def _checking(graph: Graph) -> Iterator[Op]:
    """Yield the ops that look for a known number of elements in a dimension whose size is not known."""
    for op in graph.ops:
        if op.kind == "tf.TopKV2" and op.operands[1] is not None and op.operands[1].is_const:
            x = op.operands[0]
            if x is not None and x.shape and not isinstance(x.shape[-1], int):
                yield op


def _hand_in(branch: Op, sides: list[Graph], side: Graph, inner: Op) -> None:
    """Make the second operand of an op in one side an operand of the branch."""
    number = inner.operands[1]
    assert number is not None
    branch.set_operands([*branch.operands, number])
    for each in sides:
        value = each.add_input(number.dtype, number.shape, number.name)
        if each is side:
            inner.set_operand(1, value)
