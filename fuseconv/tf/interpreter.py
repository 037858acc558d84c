"""Interpreter of TF functions in numpy, in this process, though what it runs may be hostile.

It ends: each op counts, and each step of a loop. It takes little memory: only ops run of which it is known beforehand
how much they make, and what all have made is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from fuseconv.errors import ILL_FITTING
from fuseconv.ir.dims import admits
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.tf import folders
from fuseconv.tf.folders.bounds import numbers_of
from fuseconv.tf.folders.registry import Declined, require
from fuseconv.tf.side_effects import bodies
from fuseconv.tf.traits import BRANCHES, CALLS, FORWARDS, LOOPS

_DEEPEST = 20
_MOST_ELEMENTS = 1 << 12
# What a value holds: an array, or the elements of a TensorList, None where there is none yet.
Item = Any
# What computes the results of an op from its operands, in functions so deep in each other.
Step = Callable[[list[Item], int], Sequence[Item]]


class _Plan(NamedTuple):
    """A graph, made ready to run."""

    # Places for its inputs, and then its constants.
    items: list[Item]
    # Of each op what computes it, and the places of its operands and results.
    steps: list[tuple[Step, list[int], list[int]]]
    # Their places.
    outputs: list[int]


@contextmanager
def declining() -> Iterator[None]:
    """Raise Declined for operands that do not fit together, a list that stands for a tensor, say; and let numpy be
    silent about overflows."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (AttributeError, TypeError, *ILL_FITTING) as error:
        raise Declined from error


class Interpreter:
    """One run of graphs, and of the functions of their module that they run.

    ops, numbers: what may be run and moved or added up in all; what comes to more is declined, as is an op that is not
    known to be harmless. Runs stand inside of `declining`."""

    def __init__(self, module: Module, ops: int, numbers: float) -> None:
        self._module = module
        self._plans: dict[Graph, _Plan] = {}
        self._ops_left, self._numbers_left = ops, numbers

    def run(self, graph: Graph, arguments: Sequence[Item], depth: int = 0) -> list[Item]:
        """Run a graph, so deep in others, and return what its outputs hold."""
        require(depth <= _DEEPEST and len(arguments) == len(graph.inputs))
        if graph not in self._plans:
            self._plans[graph] = self._plan(graph)
        known, steps, outputs = self._plans[graph]
        items = [*arguments, *known[len(arguments) :]]
        self.spend(len(steps), len(steps))
        for compute, sources, places in steps:
            made = compute([items[place] for place in sources], depth)
            for place, item in zip(places, made):
                items[place] = item
        return [items[place] for place in outputs]

    def run_loop(self, op: Op, items: Sequence[Item], depth: int = 0) -> Sequence[Item]:
        """Run a loop from what its operands hold, and return what its results hold."""
        condition, body = (self._module.functions[op.attrs[name].name] for name in ("cond", "body"))
        while _truth(self.run(condition, items, depth)[0]):
            self.spend(1, 1)
            items = self.run(body, items, depth)
        return items

    def spend(self, ops: int, numbers: float) -> None:
        """Count ops, or steps of a loop, and the numbers that they move. Raises Declined if there are too many."""
        self._ops_left -= ops
        self._numbers_left -= numbers
        require(self._ops_left >= 0 and self._numbers_left >= 0)

    def step(self, op: Op) -> Step:
        """Return what computes an op. Raises Declined if nothing does."""
        if op.kind in LOOPS:
            return lambda items, depth: self.run_loop(op, items, depth + 1)
        if op.kind in BRANCHES:
            return lambda items, depth: self._run_branch(op, items, depth + 1)
        if op.kind in CALLS:
            body, _ = bodies(op, self._module)[0]
            return lambda items, depth: self.run(body, items, depth + 1)
        if op.kind in FORWARDS:
            return lambda items, depth: items
        if op.kind in LISTS:
            return lambda items, depth: [self._run_list(op, items)]
        kernel, numbers = folders.kernel_of(op), numbers_of(op)
        if kernel is None or numbers is None:
            raise Declined

        # Those of the results in the iteration before, which were held to what is inferred.
        held: list[tuple[int, ...]] | None = None

        def compute(arrays: list[Item], depth: int) -> Sequence[Item]:
            nonlocal held
            self.spend(0, numbers(op, arrays))
            made = kernel(op, op, arrays)
            results = made if isinstance(made, list) else [np.asarray(made)]
            shapes = [result.shape for result in results]
            if shapes != held:
                held = shapes if _admitted(op.results, results) else None
                # What runs may have other shapes than were inferred for another caller of the graph.
                require(held is not None or not _admitted(op.operands, arrays))
            return results

        return compute

    def _plan(self, graph: Graph) -> _Plan:
        items: list[Item] = [None] * len(graph.inputs)
        places: dict[Value | None, int] = {value: place for place, value in enumerate(graph.inputs)}

        def place(value: Value | None, made: bool = False) -> int:
            if value not in places:
                require(made or value is None or value.data is not None)  # else it is a variable
                places[value] = len(items)
                items.append(None if value is None else value.data)
            return places[value]

        steps = [
            (self.step(op), [place(value) for value in op.operands], [place(value, True) for value in op.results])
            for op in graph.ops
        ]
        return _Plan(items, steps, [place(value) for value in graph.outputs])

    def _run_branch(self, op: Op, items: Sequence[Item], depth: int) -> Sequence[Item]:
        side = op.attrs["then_branch" if _truth(items[0]) else "else_branch"]
        return self.run(self._module.functions[side.name], items[1:], depth)

    def _run_list(self, op: Op, operands: Sequence[Item]) -> Item:
        require(not op.attrs.get("resize_if_index_out_of_bounds"))  # the other attributes state what is known anyhow
        items = operands[0] if isinstance(operands[0], list) else ()
        stacks = op.kind == "tf.TensorListStack"
        self.spend(0, sum(item.size for item in items if item is not None) if stacks else len(items))
        return LISTS[op.kind](*operands)


def _admitted(values: Sequence[Value | None], arrays: Sequence[Item]) -> bool:
    """Return whether arrays have the shapes that are known of values."""
    return all(value is None or admits(value.shape, np.shape(array)) for value, array in zip(values, arrays))


def _truth(item: Item) -> bool:
    require(item.ndim == 0 and item.dtype != object)
    return bool(item)


def stacked(listed: list[Item]) -> np.ndarray:
    """Return the elements of a list as one array; decline one without elements, or with one that nothing has written.
    """
    require(isinstance(listed, list) and listed and all(item is not None for item in listed))
    return np.stack(listed)


def _reserved(count: np.ndarray) -> list[Item]:
    require(0 <= count <= _MOST_ELEMENTS)
    return [None] * int(count)


def _elements(tensor: np.ndarray) -> list[Item]:
    require(len(tensor) <= _MOST_ELEMENTS)
    return [np.asarray(item) for item in tensor]


def _at(listed: list[Item], index: np.ndarray) -> int:
    require(isinstance(listed, list) and 0 <= index < len(listed))
    return int(index)


def _read(listed: list[Item], index: np.ndarray) -> Item:
    item = listed[_at(listed, index)]
    require(item is not None)
    return item


def _replaced(listed: list[Item], index: np.ndarray, item: np.ndarray) -> list[Item]:
    at = _at(listed, index)
    return [*listed[:at], item, *listed[at + 1 :]]


# What ops that make lists from tensors, and all ops on lists, make of what their operands hold.
LIST_MAKERS: dict[str, Callable[..., Item]] = {
    "tf.EmptyTensorList": lambda shape, most: [],
    "tf.TensorListFromTensor": lambda tensor, shape: _elements(tensor),
    "tf.TensorListReserve": lambda shape, count: _reserved(count),
}
LISTS: dict[str, Callable[..., Item]] = LIST_MAKERS | {
    "tf.TensorListGetItem": lambda listed, index, shape: _read(listed, index),
    "tf.TensorListLength": lambda listed: np.array(len(listed), np.int32),
    "tf.TensorListPushBack": lambda listed, item: [*listed, item],
    "tf.TensorListSetItem": _replaced,
    "tf.TensorListStack": lambda listed, shape, *count: stacked(listed),
}
