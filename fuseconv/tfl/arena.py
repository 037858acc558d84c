"""The arena: how many bytes the activations of a file take, by the rule of TFLite Micro's planner.

Sources: micro_allocation_info.cc and greedy_memory_planner.cc of TFLite Micro. A tensor has its place from the op that
makes it to the last one that reads it, an input from the start, an output until the end. The tensors of a subgraph have
theirs while the op runs that runs it. Sizes are rounded up to 16 bytes. The largest tensor is placed first, each in the
first gap of those that share its time. LiteRT plans alike, in units of 64 bytes. Constants have no place there.
Variable tensors, what kernels keep or need for themselves, and TFLite Micro's own records come on top:
`arena_used_bytes()` tells all.
"""

from __future__ import annotations

import functools
import itertools
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape, substitute_dim
from fuseconv.ir.graph import FuncRef, Graph, Value
from fuseconv.ir.types import DType

ALIGNMENT = 16
# Subgraphs of files may run each other again and again.
_MOST_STEPS = 100_000
_MOST_NESTED = 50
# How many pairs of tensors may share a step, for each tensor, so that planning takes time in proportion to the ops.
_MOST_PAIRS = 2_000
# How many orders are tried in which tensors are placed, from each that is tried first.
_MOST_ORDERS = 16
# The metadata of a file that brings a plan along: three numbers, then where each tensor of each subgraph begins.
OFFLINE_PLAN = "OfflineMemoryAllocation"
_PLAN_HEAD = 12
# The options of ops that name the subgraphs that these run.
RUNS = (
    "cond_subgraph_index", "body_subgraph_index", "then_subgraph_index", "else_subgraph_index", "init_subgraph_index",
    "decomposition_subgraph_index",
)  # fmt: skip

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


def to_json(found: Arena | None, dynamic: bool) -> dict[str, Any] | None:
    """Return an arena as `{"bytes", "peak", "subgraph", "index", "dynamic"}`: its size and peak, where the op at the
    peak stands, and whether unknown sizes counted as 1."""
    if found is None:
        return None
    place = {"subgraph": found.subgraph, "index": found.node}
    return {"bytes": found.size, "peak": found.peak, **place, "dynamic": dynamic}


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
    called = {name: numbers[body] for name, body in (functions or {}).items() if body in numbers}
    return [_subgraph(graph, called) for graph in graphs]


def _subgraph(graph: Graph, functions: Mapping[str, int]) -> Subgraph:
    numbers = _Numbers()
    number = numbers.__getitem__
    inputs = [*map(number, graph.inputs)]
    nodes = [
        Node([*map(number, op.operands)], [*map(number, op.results)], _runs(op.attrs, functions) if functions else ())
        for op in graph.ops
    ]
    return Subgraph(inputs, [*map(number, graph.outputs)], nodes, numbers.sizes)


class _Numbers(dict["Value | None", int]):
    """Numbers of tensors, given as they are asked for; sizes: their bytes. Constants, which have no place, are -1."""

    def __init__(self) -> None:
        super().__init__({None: -1})
        self.sizes: list[int] = []

    def __missing__(self, value: Value) -> int:
        number = -1
        if value.op is not None or not value.is_const:
            number = len(self.sizes)
            self.sizes.append(size_of(value))
        self[value] = number
        return number


def _runs(attrs: Mapping[str, object], functions: Mapping[str, int]) -> list[int]:
    found = [attrs.get(name) for name in RUNS]
    return [functions[ref.name] for ref in found if isinstance(ref, FuncRef) and ref.name in functions]


def size_of(value: Value) -> int:
    """Return the bytes of a tensor that is no constant in the arena, unknown sizes being 1; 0 of variable tensors and
    strings."""
    if value.variable or value.shape is None:
        return 0
    return _bytes(value.dtype, value.shape)


@functools.lru_cache(maxsize=4096)
def _bytes(dtype: DType, shape: Shape) -> int:
    return item_bytes(dtype) * math.prod([dim if isinstance(dim, int) else _at_one(dim) for dim in shape])


def _at_one(dim: Dim) -> int:
    """Return what is written for an unknown size: its value if all unknowns are 1, at least 1."""
    return max(int(substitute_dim(dim, {}, 1)), 1)  # type: ignore[arg-type]


def item_bytes(dtype: DType) -> int:
    """Return the bytes of an element."""
    return _ITEM_BYTES.get(dtype, dtype.numpy.itemsize)


def aligned(size: int) -> int:
    """Return a number of bytes as the arena counts it."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def live_bytes(buffers: Iterable[tuple[int, int, int]], steps: int) -> list[int]:
    """Return how many bytes are needed at each step. buffers: as of `Buffer`."""
    changes = [0] * (steps + 1)
    for size, first, last in buffers:
        if last >= 0:
            changes[max(first, 0)] += size
            changes[last + 1] -= size
    return list(itertools.accumulate(changes[:-1]))


def planned_size(buffers: Sequence[Buffer]) -> int | None:
    """Return the bytes of an arena that buffers are placed in, the largest first; of equal ones the last. None if too
    many are needed at once for that to be quick."""
    if not _is_quick(buffers):
        return None
    return _place(buffers, sorted(range(len(buffers)), key=lambda number: (-buffers[number].size, -number)))[0]


def better_plan(subgraphs: Sequence[Subgraph]) -> tuple[int, list[list[int]]] | None:
    """Return the bytes of an arena that is smaller than the planned one, and where each tensor of each subgraph begins
    in it, -1 of what has no place there; None if none is found.

    More orders are tried: tensors are sorted by the most bytes that are needed at once while they live, then by size or
    by the step at which they are made. From each of these orders and the planner's own come others, in which the tensor
    that ends the arena is placed first."""
    walk = _Walk(subgraphs)
    if not subgraphs or not walk.run(0):
        return None
    buffers = walk.buffers()
    size = planned_size(buffers)
    if size is None:
        return None
    loads = live_bytes(buffers, len(walk.places))
    heights = [max(loads[max(first, 0) : last + 1], default=0) for _, first, last in buffers]
    by_size = sorted(range(len(buffers)), key=lambda number: (-heights[number], -buffers[number].size))
    by_time = sorted(range(len(buffers)), key=lambda number: (-heights[number], buffers[number].first))
    plain = sorted(range(len(buffers)), key=lambda number: (-buffers[number].size, -number))
    best, begins = min(_lowered(buffers, order, max(loads)) for order in (by_size, by_time, plain))
    if best >= size:
        return None
    found = iter(begins)
    return best, [[next(found) if size else -1 for size in subgraph.sizes] for subgraph in subgraphs]


def told_size(subgraphs: Sequence[Subgraph], plan: bytes) -> int | None:
    """Return the bytes of the arena by the plan that a file brings along; None if that does not tell of all tensors."""
    sizes = [size for subgraph in subgraphs for size in subgraph.sizes]
    if len(plan) != _PLAN_HEAD + 4 * len(sizes):
        return None
    begins = struct.unpack_from(f"<{len(sizes)}i", plan, _PLAN_HEAD)
    if any(begin < 0 for size, begin in zip(sizes, begins) if size):
        return None
    return max((begin + aligned(size) for size, begin in zip(sizes, begins) if size), default=0)


def _is_quick(buffers: Sequence[Buffer]) -> bool:
    ends = [last for _, _, last in buffers]
    together = live_bytes([(1, first, last) for _, first, last in buffers], max(ends, default=0) + 1)
    return sum([count * count for count in (*together, ends.count(-1))]) <= _MOST_PAIRS * (len(buffers) + 1)


def _place(buffers: Sequence[Buffer], order: Sequence[int]) -> tuple[int, list[int]]:
    """Place buffers in this order, each in the first gap. Return the bytes of all, and where each begins."""
    # What stands at each step, the one before the first among them: there nothing is run.
    placed: list[list[tuple[int, int, int]]] = [[] for _ in range(max([last for _, _, last in buffers], default=0) + 2)]
    begins = [0] * len(buffers)
    total = 0
    for number in order:
        size, first, last = buffers[number]
        steps = placed[first + 1 : last + 2]
        begins[number] = begin = _first_gap(size, set().union(*steps))
        if begin + size > total:
            total = begin + size
        entry = begin, begin + size, number
        for step in steps:
            step.append(entry)
    return total, begins


def _lowered(buffers: Sequence[Buffer], order: list[int], least: int) -> tuple[int, list[int]]:
    """Place buffers in an order, and while that takes more than `least`, in others, some times: with the one first that
    ends the arena. Return what `_place` does of the best."""
    found = [_place(buffers, order)]
    while found[-1][0] > least and len(found) < _MOST_ORDERS:
        begins = found[-1][1]
        last = max(order, key=lambda number: begins[number] + buffers[number].size)
        order = [last, *(number for number in order if number != last)]
        found.append(_place(buffers, order))
    return min(found)


def _first_gap(size: int, taken: Iterable[tuple[int, int, int]]) -> int:
    begin = 0
    for start, end, _ in sorted(taken):
        if start - begin >= size:
            break
        if end > begin:
            begin = end
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
