"""Run small loops of which everything is known when the model is converted.

Tables that a model builds step by step are such loops, and the permutations that `tf.linalg.norm(x, ord=2)` computes
with `tf.map_fn`: their elements tell the ranks and sizes of what is made with them.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.dims import admits
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.folders.registry import Declined, require
from fuseconv.tf.interpreter import LIST_MAKERS, Interpreter, Item, declining, stacked
from fuseconv.tf.traits import LOOPS
from fuseconv.transforms.loops.loop_info import for_each_loop

_RULE = "fold-constant-loops"
# What a loop makes may take so many bytes, about those of the loop itself in the file.
_MOST_BYTES = 4096
# To run an op takes as long as to move so many bytes. No loop may run more of them, or move more numbers in all.
_OP_WORK = 1 << 14
_MOST_OPS = 1 << 12
_MOST_NUMBERS = 1 << 20


@module_pass(_RULE, kinds=LOOPS)
def fold_constant_loops(module: Module, report: Report) -> bool:
    """Run loops on constants, where they make little: While(i < 3; SetItem(list, i, f(i))) -> [f(0), f(1), f(2)].

    Returns whether there was one."""
    folded: list[Op] = []

    def visit(op: Op, graph: Graph) -> None:
        try:
            with declining():
                made = LoopRun(module).run_loop(op, [_start(value) for value in op.operands])
                ends = [_array(item, result) if result.uses else None for item, result in zip(made, op.results)]
        except (Declined, budget.Exhausted):
            return
        out: list[Op] = []
        for array, result in zip(ends, op.results):
            if array is not None:
                _replace(TfBuilder(out, op), result, array)
        at = graph.ops.index(op)
        graph.ops[at : at + 1] = out
        report.record("folded", _RULE, op.sources, why="all that it needs is known")
        detach(op)
        folded.append(op)

    for_each_loop(module, visit)
    return bool(folded)


def _start(value: Value | None) -> Item:
    """Return what a loop's operand holds; decline what is not known."""
    assert value is not None
    maker = value.op
    if maker is None:
        require(value.data is not None)
        return value.data
    operands = [None if each is None else each.data for each in maker.operands]
    require(maker.kind in LIST_MAKERS and all(each is not None for each in operands))
    return LIST_MAKERS[maker.kind](*operands)


def _array(item: Item, result: Value) -> np.ndarray:
    """Return what a loop's result holds as one array; decline a large one."""
    listed = isinstance(item, list)
    require(sum(part.nbytes for part in (item if listed else [item])) <= _MOST_BYTES)
    array = stacked(item) if listed else item
    require(array.dtype != object)
    require(listed or (array.dtype == result.dtype.numpy and admits(result.shape, array.shape)))
    return array


def _replace(tf: TfBuilder, result: Value, array: np.ndarray) -> None:
    """Let the readers of a loop's result read a constant: a list's elements, if it is one, stacked."""
    value = constant(array, None, result.name)
    if result.dtype is not types.VARIANT:
        replace_uses(result, value)
        return
    for use in list(result.uses):
        if use.kind == "tf.TensorListStack":
            replace_uses(use.result, value)
    replace_uses(result, tf.TensorListFromTensor(value, tf.ints(array.shape[1:]), dtype=types.VARIANT))


class LoopRun(Interpreter):
    """One run of a loop, whose work counts for the conversion as well."""

    def __init__(self, module: Module) -> None:
        super().__init__(module, _MOST_OPS, _MOST_NUMBERS)

    def spend(self, ops: int, numbers: float) -> None:
        super().spend(ops, numbers)
        budget.spend_work(_OP_WORK * ops + int(numbers))
