"""The arena: how many bytes the activations of a file take, by the rule of TFLite Micro's planner.

Sources: micro_allocation_info.cc and greedy_memory_planner.cc of TFLite Micro. A tensor has its place from the op that
makes it to the last one that reads it, inputs from the start, outputs until the end; the tensors of a subgraph that an
op runs, while it runs. Sizes are rounded up to 16 bytes. The largest tensor is placed first, each in the first gap of
those that share its time. LiteRT plans alike, in units of 64 bytes. Constants have no place there. Variable tensors,
what kernels keep or need for themselves, and TFLite Micro's own records come on top: `arena_used_bytes()` tells all.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fuseconv.ir import types
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import FuncRef, Graph, Value

ALIGNMENT = 16
# Subgraphs of files may run each other again and again.
_MOST_STEPS = 100_000
_MOST_NESTED = 50
# How many steps a tensor may live in the mean, so that planning takes time in proportion to the ops.
_MOST_MEAN_LIFE = 200

# Types without a width of their own in numpy: a handle is a number, strings are no tensors of the arena.
_ITEM_BYTES = {types.RESOURCE: 4, types.VARIANT: 0, types.STRING: 0}


class Node(NamedTuple):
    """An op of a subgraph: its operands and results by their numbers (-1: left out), and the subgraphs that it runs, by
    theirs."""

    operands: Sequence[int]
    results: Sequence[int]
    runs: Sequence[int] = ()


class Subgraph(NamedTuple):
    """A subgraph of a file. sizes: the bytes of each tensor, 0 of what has no place in the arena."""

    inputs: Sequence[int]
    outputs: Sequence[int]
    nodes: Sequence[Node]
    sizes: Sequence[int]


class Buffer(NamedTuple):
    """A piece of the arena: its bytes, and the first and the last step that need it."""

    size: int
    first: int
    last: int


class Arena(NamedTuple):
    """What the activations take.

    size: bytes of the arena as it is planned; None where that would take too long. peak: bytes of the tensors that are
    needed at once, at most: no plan takes less. subgraph, node: the op at which that is, by numbers."""

    size: int | None
    peak: int
    subgraph: int
    node: int


def arena(subgraphs: Sequence[Subgraph]) -> Arena | None:
    """Return the arena of a file that runs its first subgraph. Tensors of those that it does not run are all placed at
    once, as TFLite Micro does. None of a file without ops, or one whose subgraphs run each other too often."""
    walk = _Walk(subgraphs)
    if not subgraphs or not walk.run(0) or len(walk.places) < 2:
        return None
    buffers = walk.buffers()
    loads = live_bytes(buffers, len(walk.places))
    step = max(range(len(loads)), key=loads.__getitem__)
    return Arena(planned_size(buffers), loads[step], *walk.places[step])


def of_graphs(graphs: Sequence[Graph], functions: Mapping[str, Graph] | None = None) -> list[Subgraph]:
    """Return the subgraphs that graphs of `tfl` ops become, with every unknown size 1. functions: those that ops run,
    by the names in their attributes."""
    numbers = {graph: number for number, graph in enumerate(graphs)}
    return [_subgraph(graph, {name: numbers[body] for name, body in (functions or {}).items() if body in numbers})
            for graph in graphs]  # fmt: skip


def _subgraph(graph: Graph, functions: Mapping[str, int]) -> Subgraph:
    numbers: dict[Value | None, int] = {None: -1}

    def tensors(values: Iterable[Value | None]) -> list[int]:
        return [numbers.setdefault(value, len(numbers) - 1) for value in values]

    inputs = tensors(graph.inputs)
    nodes = [Node(tensors(op.operands), tensors(op.results), _runs(op.attrs, functions)) for op in graph.ops]
    outputs = tensors(graph.outputs)
    return Subgraph(inputs, outputs, nodes, [size_of(value) for value in numbers if value is not None])


def _runs(attrs: Mapping[str, object], functions: Mapping[str, int]) -> list[int]:
    return [functions[value.name] for value in attrs.values() if isinstance(value, FuncRef)] if functions else []


def size_of(value: Value) -> int:
    """Return the bytes of a tensor in the arena, unknown sizes being 1; 0 of constants, variable tensors, strings."""
    if value.is_const or value.variable or value.shape is None:
        return 0
    sizes = [dim if isinstance(dim, int) else _assumed(dim) for dim in value.shape]
    return _ITEM_BYTES.get(value.dtype, value.dtype.numpy.itemsize) * math.prod(sizes)


def _assumed(dim: Sym) -> int:
    size = dim.substitute({}, 1)
    return max(size, 1) if isinstance(size, int) else 1


def aligned(size: int) -> int:
    """Return a number of bytes as the arena counts it."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def live_bytes(buffers: Iterable[Buffer], steps: int) -> list[int]:
    """Return how many bytes are needed at each step."""
    changes = [0] * (steps + 1)
    for size, first, last in buffers:
        if last >= 0:
            changes[max(first, 0)] += size
            changes[last + 1] -= size
    return list(itertools.accumulate(changes[:-1]))


def planned_size(buffers: Sequence[Buffer]) -> int | None:
    """Return the bytes of an arena that buffers are placed in, the largest first; of equal ones the last. None if they
    live too long for that to be quick."""
    if sum(last - first + 1 for _, first, last in buffers) > _MOST_MEAN_LIFE * (len(buffers) + 1):
        return None
    placed: dict[int, list[tuple[int, int, int]]] = {}
    total = 0
    for number, (size, first, last) in sorted(enumerate(buffers), key=lambda item: (-item[1].size, -item[0])):
        begin = _first_gap(size, set(itertools.chain.from_iterable(placed.get(t, ()) for t in range(first, last + 1))))
        total = max(total, begin + size)
        entry = begin, begin + size, number
        for step in range(first, last + 1):
            placed.setdefault(step, []).append(entry)
    return total


def _first_gap(size: int, taken: Iterable[tuple[int, int, int]]) -> int:
    begin = 0
    for start, end, _ in sorted(taken):
        if start - begin >= size:
            break
        begin = max(begin, end)
    return begin


class _Walk:
    """The steps of a run: each op of each subgraph, in the order in which they run. places: subgraph and op of each."""

    def __init__(self, subgraphs: Sequence[Subgraph]) -> None:
        self.subgraphs = subgraphs
        self.places: list[tuple[int, int]] = []
        self._first = [[-1] * len(subgraph.sizes) for subgraph in subgraphs]
        self._last = [[-1] * len(subgraph.sizes) for subgraph in subgraphs]
        self._nested = 0

    def run(self, number: int, place: tuple[int, int] = (0, 0)) -> bool:
        """Run a subgraph for the op at a place; return False if that takes too many steps."""
        inputs, outputs, nodes, _ = self.subgraphs[number]
        self._nested += 1
        if self._nested > _MOST_NESTED:
            return False
        self.places.append(place)
        self._make(number, inputs)
        self._read(number, inputs)
        for index, node in enumerate(nodes):
            self.places.append((number, index))
            if len(self.places) > _MOST_STEPS:
                return False
            self._make(number, node.results)
            if not all(self.run(inner, (number, index)) for inner in node.runs):
                return False
            self._read(number, node.operands)
            self._read(number, node.results)
        self._make(number, outputs)
        self._read(number, outputs)
        self._nested -= 1
        return True

    def buffers(self) -> list[Buffer]:
        return [
            Buffer(aligned(size), first, last)
            for subgraph, firsts, lasts in zip(self.subgraphs, self._first, self._last)
            for size, first, last in zip(subgraph.sizes, firsts, lasts)
            if size
        ]

    def _make(self, number: int, tensors: Sequence[int]) -> None:
        first, now = self._first[number], len(self.places) - 1
        for tensor in tensors:
            if tensor >= 0 and first[tensor] < 0:
                first[tensor] = now

    def _read(self, number: int, tensors: Sequence[int]) -> None:
        last, now = self._last[number], len(self.places) - 1
        for tensor in tensors:
            if tensor >= 0:
                last[tensor] = now
