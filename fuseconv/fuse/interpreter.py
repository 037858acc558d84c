"""Interpreter of small models in numpy, in this process, though what it runs may be hostile.

It ends: each op counts, and each step of a loop. It takes little memory: only ops run of which it is known beforehand
how much they make, and what all have made is counted. What is no such op, or comes to more, is declined: a child
process runs that (isolation.py), which takes some 20 ms to begin with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import ILL_FITTING
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.tf import folders
from fuseconv.tf.folders.bounds import PRODUCTS_PER_NUMBER, numbers_of
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import CALLS, LOOPS
from fuseconv.tfl import recurrent_kernels
from fuseconv.tfl.opdef import KERNELS

# What one run may take: ops, and numbers that these move or add up. It is some 5 ms.
_MOST_OPS = 1000
_MOST_NUMBERS = 1 << 22
_DEEPEST = 20
# A tensor, or a TensorList: its elements, None where there is none yet.
_Item = Any


class Declined(Exception):
    """Raised for what is not run here."""


class _Plan(NamedTuple):
    """A graph, made ready to run. items: those of its values that are constants, behind places for its inputs; steps:
    of each op what computes it, and the places of its operands and results; outputs: their places."""

    items: list[_Item]
    steps: list[tuple[Callable[[list[_Item], int], Sequence[_Item]], list[int], list[int]]]
    outputs: list[int]


class Interpreter:
    """A model of one signature. Called with arrays for its inputs, it returns those of its outputs, or raises Declined.

    As in the runtime, a recurrent op leaves its last states in the tensors of its states; a model whose states outlive
    a run is declined."""

    def __init__(self, module: Module, what: str) -> None:
        self.what = what
        self._module = module
        self._plans: dict[Graph, _Plan] = {}
        self._ops_left, self._numbers_left = 0, 0.0

    def __call__(self, arrays: list[np.ndarray]) -> list[np.ndarray]:
        self._ops_left, self._numbers_left = _MOST_OPS, float(_MOST_NUMBERS)
        try:
            with np.errstate(all="ignore"):
                return self._run(self._module.signatures[0].graph, arrays, 0)
        except (folders.Declined, AttributeError, TypeError, *ILL_FITTING) as error:
            raise Declined from error  # operands do not fit together: a list stands for a tensor, say

    def _run(self, graph: Graph, arrays: Sequence[_Item], depth: int) -> list[_Item]:
        if depth > _DEEPEST or len(arrays) != len(graph.inputs):
            raise Declined
        if graph not in self._plans:
            self._plans[graph] = self._plan(graph)
        known, steps, outputs = self._plans[graph]
        items = [*arrays, *known[len(arrays) :]]
        for compute, sources, places in steps:
            self._spend(1, 1)
            made = compute([items[place] for place in sources], depth)
            for place, item in zip(places, made):
                items[place] = item
        return [items[place] for place in outputs]

    def _plan(self, graph: Graph) -> _Plan:
        items: list[_Item] = [None] * len(graph.inputs)
        places: dict[Value | None, int] = {value: place for place, value in enumerate(graph.inputs)}

        def place(value: Value | None, made: bool = False) -> int:
            if value not in places:
                if value is not None and value.data is None and not made:
                    raise Declined  # a variable
                places[value] = len(items)
                items.append(None if value is None else value.data)
            return places[value]

        steps = [
            (self._step(op), [place(value) for value in op.operands], [place(value, True) for value in op.results])
            for op in graph.ops
        ]
        return _Plan(items, steps, [place(value) for value in graph.outputs])

    def _step(self, op: Op) -> Callable[[list[_Item], int], Sequence[_Item]]:
        """Return what computes the results of an op from its operands, in functions so deep in each other."""
        if op.dialect == "tfl":
            return lambda items, depth: self._run_tfl(op, items)
        if op.kind in LOOPS:
            return lambda items, depth: self._repeat(op, items, depth + 1)
        if op.kind in CALLS:
            body, _ = bodies(op, self._module)[0]
            return lambda items, depth: self._run(body, items, depth + 1)
        if op.kind in _LISTS:
            return lambda items, depth: [self._run_list(op, items)]
        kernel, numbers = folders.kernel_of(op), numbers_of(op)
        if kernel is None or numbers is None:
            raise Declined

        def compute(arrays: list[_Item], depth: int) -> Sequence[_Item]:
            self._spend(0, numbers(op, arrays))
            made = kernel(op, op, arrays)
            return made if isinstance(made, list) else [np.asarray(made)]

        return compute

    def _repeat(self, op: Op, items: Sequence[_Item], depth: int) -> Sequence[_Item]:
        functions = self._module.functions
        condition, body = functions[op.attrs["cond"].name], functions[op.attrs["body"].name]
        while self._run(condition, items, depth)[0].item():
            self._spend(1, 1)
            items = self._run(body, items, depth)
        return items

    def _run_list(self, op: Op, operands: Sequence[_Item]) -> _Item:
        if op.attrs.get("resize_if_index_out_of_bounds"):  # the others state what is known anyhow
            raise Declined
        items = operands[0] if isinstance(operands[0], list) else ()
        stacks = op.kind == "tf.TensorListStack"
        self._spend(0, sum(item.size for item in items if item is not None) if stacks else len(items))
        return _LISTS[op.kind](*operands)

    def _run_tfl(self, op: Op, operands: Sequence[_Item]) -> Sequence[_Item]:
        for result in op.results:
            self._spend(0, math.prod(result.shape) if result.is_static else math.inf)  # type: ignore[arg-type]
        recurrent = recurrent_kernels.KERNELS.get(op.kind)
        if recurrent is not None:
            self._spend(0, _recurrent_numbers(operands))
            held = [item if value and value.variable else _held(item) for value, item in zip(op.operands, operands)]
            try:
                return recurrent(*held, **op.attrs)
            except recurrent_kernels.Unserved:
                raise Declined from None
        kernel = KERNELS.get(op.type)
        made = None if kernel is None else kernel(*operands, **op.attrs)
        if made is None:
            raise Declined
        return [np.array(made) if op.result.variable else made]

    def _spend(self, ops: int, numbers: float) -> None:
        self._ops_left -= ops
        self._numbers_left -= numbers
        if self._ops_left < 0 or self._numbers_left < 0:
            raise Declined


def _held(array: _Item) -> _Item:
    """Return an array that nothing can be written to."""
    if array is not None:
        array = array.view()
        array.flags.writeable = False
    return array


def _recurrent_numbers(operands: Sequence[_Item]) -> float:
    """Return the same of a recurrent op: each step multiplies all weights by each row of the batch."""
    x, *weights = operands
    rows = x.shape[0] * x.shape[1]
    return rows * sum(array.size for array in weights if array is not None) / PRODUCTS_PER_NUMBER


def _decline() -> Any:
    raise Declined


def _listed(tensor: np.ndarray, element_shape: np.ndarray) -> list[_Item]:
    return list(tensor)


def _reserve(element_shape: np.ndarray, count: np.ndarray) -> list[_Item]:
    return [None] * int(count) if 0 <= count <= _MOST_OPS else _decline()


def _get(items: list[_Item], index: np.ndarray, element_shape: np.ndarray) -> _Item:
    return items[int(index)] if isinstance(items, list) and 0 <= index < len(items) else _decline()


def _set(items: list[_Item], index: np.ndarray, item: np.ndarray) -> list[_Item]:
    if not isinstance(items, list) or not 0 <= index < len(items):
        raise Declined
    return [*items[: int(index)], item, *items[int(index) + 1 :]]


def _stack(items: list[_Item], element_shape: np.ndarray) -> np.ndarray:
    if not isinstance(items, list) or any(item is None for item in items):
        raise Declined
    return np.stack(items)


_LISTS: dict[str, Callable[..., _Item]] = {
    "tf.TensorListFromTensor": _listed,
    "tf.TensorListReserve": _reserve,
    "tf.TensorListGetItem": _get,
    "tf.TensorListSetItem": _set,
    "tf.TensorListStack": _stack,
}
