"""Run small loops of which everything is known when the model is converted.

Tables that a model builds step by step are such loops, and the permutations that `tf.linalg.norm(x, ord=2)` computes
with `tf.map_fn`: their elements tell the ranks and sizes of what is made with them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fuseconv.errors import ILL_FITTING
from fuseconv.ir import budget, types
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.folders import evaluate
from fuseconv.tf.folders.bounds import numbers_of
from fuseconv.tf.folders.registry import Declined, require
from fuseconv.tf.side_effects import bodies, is_repeatable
from fuseconv.tf.traits import BRANCHES, FORWARDS, LOOPS
from fuseconv.transforms.loops.loop_info import for_each_loop

_RULE = "fold-constant-loops"
# What a loop makes may take so many bytes, about those of the loop itself in the file.
_MOST_BYTES = 4096
# To run an op takes as long as to move so many bytes. No loop may run more of them, or move more numbers in all.
_OP_WORK = 1 << 14
_MOST_OPS = 1 << 12
_MOST_NUMBERS = 1 << 20

# What a value holds: an array, or the elements of a list, None where none was written yet.
Known = np.ndarray | list


@module_pass(_RULE, kinds=LOOPS)
def fold_constant_loops(module: Module, report: Report) -> bool:
    """Run loops on constants, where they make little: While(i < 3; SetItem(list, i, f(i))) -> [f(0), f(1), f(2)].

    Returns whether there was one."""
    folded: list[Op] = []

    def visit(op: Op, graph: Graph) -> None:
        try:
            made = _Run(module).loop(op, [_start(value) for value in op.operands])
            ends = [_array(known) if result.uses else None for known, result in zip(made, op.results)]
        except (Declined, budget.Exhausted, *ILL_FITTING):
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


def _start(value: Value | None) -> Known:
    """Return what a loop's operand holds; decline what is not known."""
    assert value is not None
    maker = value.op
    if maker is None:
        require(value.data is not None)
        return value.data  # type: ignore[return-value]
    operands = [None if each is None else each.data for each in maker.operands]
    require(maker.kind in _MADE and all(each is not None for each in operands))
    return _MADE[maker.kind](*operands)[0]


def _array(known: Known) -> np.ndarray:
    """Return what a loop's result holds as one array; decline a large one."""
    array = _stacked(known) if isinstance(known, list) else known
    require(array.nbytes <= _MOST_BYTES and array.dtype != object)
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


class _Run:
    """One run of a loop, and of the loops and branches inside it."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.ops, self.numbers = 0, 0.0

    def loop(self, op: Op, variables: list[Known]) -> list[Known]:
        cond, body = (self.module.functions[op.attrs[name].name] for name in ("cond", "body"))
        while self.body(cond, variables)[0]:
            self.spend(0)
            variables = self.body(body, variables)
        return variables

    def spend(self, numbers: float) -> None:
        """Count an op, or a step of a loop, and the numbers that it moves."""
        self.ops += 1
        self.numbers += numbers
        require(self.ops <= _MOST_OPS and self.numbers <= _MOST_NUMBERS)
        budget.spend_work(_OP_WORK + int(numbers))

    def body(self, graph: Graph, arguments: list[Known]) -> list[Known]:
        made: dict[Value, Known] = dict(zip(graph.inputs, arguments))

        def known(value: Value | None) -> Known:
            found = None if value is None else made.get(value) if value.data is None else value.data
            require(found is not None)
            return found  # type: ignore[return-value]

        for op in graph.ops:
            made.update(zip(op.results, self.op(op, [known(value) for value in op.operands])))
        return [known(value) for value in graph.outputs]

    def op(self, op: Op, operands: list[Known]) -> list[Known]:
        self.spend(0)
        if op.kind in LOOPS:
            return self.loop(op, operands)
        if op.kind in BRANCHES:
            side = op.attrs["then_branch" if operands[0] else "else_branch"]
            return self.body(self.module.functions[side.name], operands[1:])
        require(is_repeatable(op) and not bodies(op, self.module))
        if op.kind in FORWARDS:
            return operands
        if op.kind in _LISTS:
            require(not op.attrs.get("resize_if_index_out_of_bounds"))
            self.spend(sum(map(_size, operands)))
            return _LISTS[op.kind](*operands)
        arrays, numbers = [each for each in operands if isinstance(each, np.ndarray)], numbers_of(op)
        require(len(arrays) == len(operands) and numbers is not None)
        self.spend(numbers(op, arrays))  # type: ignore[misc]
        results = evaluate(op, arrays)
        require(results is not None)
        return results  # type: ignore[return-value]


def _size(known: Known) -> int:
    """Return how many numbers a value holds, at least one for each element of a list."""
    if isinstance(known, list):
        return sum(1 if item is None else max(item.size, 1) for item in known)
    return known.size


def _stacked(listed: list) -> np.ndarray:
    """Return the elements of a list as one array, whose type they tell."""
    require(listed)
    return np.stack([_written(item) for item in listed])


def _written(item: np.ndarray | None) -> np.ndarray:
    require(item is not None)
    return item  # type: ignore[return-value]


def _elements(tensor: np.ndarray) -> list:
    require(len(tensor) <= _MOST_OPS)
    return [np.asarray(item) for item in tensor]


def _at(listed: list, index: np.ndarray) -> int:
    require(0 <= index < len(listed))
    return int(index)


def _set(listed: list, index: np.ndarray, item: np.ndarray) -> list[Known]:
    at = _at(listed, index)
    return [[*listed[:at], item, *listed[at + 1 :]]]


def _reserve(shape: np.ndarray, count: np.ndarray) -> list[Known]:
    require(0 <= count <= _MOST_OPS)
    return [[None] * int(count)]


# What ops that make lists, and others on lists, make of theirs.
_MADE: dict[str, Callable[..., list[Known]]] = {
    "tf.TensorListReserve": _reserve,
    "tf.EmptyTensorList": lambda shape, most: [[]],
    "tf.TensorListFromTensor": lambda tensor, shape: [_elements(tensor)],
}
_LISTS: dict[str, Callable[..., list[Known]]] = _MADE | {
    "tf.TensorListGetItem": lambda listed, index, shape: [_written(listed[_at(listed, index)])],
    "tf.TensorListSetItem": _set,
    "tf.TensorListPushBack": lambda listed, item: [[*listed, item]],
    "tf.TensorListLength": lambda listed: [np.array(len(listed), np.int32)],
    "tf.TensorListStack": lambda listed, shape: [_stacked(listed)],
}
