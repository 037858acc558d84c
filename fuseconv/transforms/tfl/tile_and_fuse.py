"""Compute in tiles what takes the most memory, for runtimes whose memory is what counts.

Where an op with its operands and results is the peak, no order of ops takes less. But a tile of its result takes a part
of that, if the ops around it compute tiles too. The channels between two layers are made and used up a few at a time.
Attention is computed head by head. A CONCATENATION that a convolution reads is not made at all, as its operands are
tiles. Compilers call that tiling and fusion. Numbers are as exact as before: only sums of channels are added up in
another order, and these of floats alone, as integers would be rounded once more. What is added are the sums of tiles,
their joins, and slices of what is not computed in tiles.

So it goes on with the next peak, for as long as that takes less memory: what an op is described by takes some as well.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import budget
from fuseconv.ir.graph import Graph, Module, Op, Value, detach, replace_uses
from fuseconv.ir.rewriter import Speculative
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.targets.target import Target
from fuseconv.tfl.arena import aligned, arena, better_plan, of_graphs, size_of
from fuseconv.tfl.tile_rules import Tiles, joins_along, joints
from fuseconv.transforms.tfl.legalize_for_target import arena_bytes, takes
from fuseconv.transforms.tfl.tiling import Tiler, Tiling, tiled_inputs, tiled_result

# Bytes of the arena that TFLite Micro takes for an op and its result, with what their kernel keeps: 180 to 470 were
# measured in its wheel.
_RECORD = 320
# How many ops behind the peak tiles are joined at most, into how many they are cut, and channels of a tile at least.
_REACH = 24
_COUNTS = (2, 4, 8)
_LEAST_CHANNELS = 4
# How many more ops there may be, over those that there were and besides.
_GROWTH, _MORE = 2, 32
# How many results are joined of tiles, and how many ops are looked at for that, so that it takes time in proportion.
_MOST_JOINS = 200
_MOST_LOOKS = 1_000_000


@module_pass("tile-and-fuse", requires=(TFL_ONLY,), ensures=(TFL_ONLY,))
def tile_and_fuse(module: Module, target: Target | None, report: Report) -> bool:
    """Compute what takes the most memory in tiles: W2 f(W1 x) -> W2a f(W1a x) + W2b f(W1b x).

    That is for targets that run whole files, in modules without functions and with known sizes. All ops that are made
    the target takes. The report tells of the memory before and after."""
    if target is None or not target.is_whole or module.functions:
        return False
    before = arena_bytes(module)
    tiled = [graph for graph in module.graphs() if _tile(graph, target)]
    if tiled:
        report.arena_of_tiles = before, arena_bytes(module)
    return bool(tiled)


def _tile(graph: Graph, target: Target) -> bool:
    """Lower the peak of a graph while that pays; return whether it does."""
    if not all(value.is_static for value in itertools.chain(graph.inputs, *[op.results for op in graph.ops])):
        return False
    first = kept = _Snapshot(graph)
    lives, tiler = _Lives(graph), Tiler()
    level, best, most = lives.peak, _cost(graph), _GROWTH * len(graph.ops) + _MORE
    for _ in range(min(_MOST_JOINS, _MOST_LOOKS // max(len(graph.ops), 1))):
        if not _lower(lives, tiler, target) or len(graph.ops) > most:
            break
        lives = _Lives(graph)
        if lives.peak < level:
            level, cost = lives.peak, _cost(graph)
            if cost < best:
                best, kept = cost, _Snapshot(graph)
    kept.restore()
    if kept is first:
        return False
    for value in graph.constants():
        if value.data is not None and not value.data.flags.c_contiguous:
            budget.charge(value.data, value.name)
            value.data = np.ascontiguousarray(value.data)
    return True


def _cost(graph: Graph) -> int:
    """Return the bytes of the arena, with what ops take of it."""
    subgraphs = of_graphs([graph])
    plan, found = better_plan(subgraphs), arena(subgraphs)
    planned = plan[0] if plan is not None else 0 if found is None else found.size or found.peak
    return planned + _RECORD * len(graph.ops)


class _Snapshot:
    """A graph as it is, to be restored. What changes meanwhile are operands, and the list of ops."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._operands = {op: list(op.operands) for op in (*graph.ops, graph.terminator)}

    def restore(self) -> None:
        graph = self._graph
        for op in graph.ops:
            if op not in self._operands:
                detach(op)
        for op, operands in self._operands.items():
            if op.operands != operands:
                op.set_operands(operands)
            for value in op.results:
                value.op = op
        graph.ops = [op for op in self._operands if op is not graph.terminator]


class _Lives:
    """How long values live, in the order of a graph's ops.

    places: of each op. last: of each value, the place of the last op that reads it. before, loads: how many bytes are
    needed before each op, and while it runs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.places = {op: place for place, op in enumerate(graph.ops)}
        self.last = _last_places(graph.ops) | dict.fromkeys(graph.outputs, len(graph.ops))
        given = sum(_bytes(value) for value in graph.inputs if value in self.last)
        self.before, self.loads = _loads(graph.ops, given, self.last)

    @property
    def peak(self) -> int:
        return max(self.loads, default=0)

    def needed(self, plan: Tiling, ops: Sequence[Op], result: Value) -> int:
        """Return the most bytes that are needed while these ops of a tiling run, or those between them."""
        begin, end = self.places[next(iter(plan.region))], self.places[plan.last]
        between = [op for op in self.graph.ops[begin : end + 1] if op not in plan.region]
        sequence = [*between, *ops]
        last = _last_places(sequence)
        last |= dict.fromkeys([value for value in last if self.last.get(value, 0) > end], len(sequence))
        last[result] = len(sequence)
        return max(_loads(sequence, self.before[begin], last)[1])


def _last_places(ops: Sequence[Op]) -> dict[Value, int]:
    return {
        value: place for place, op in enumerate(ops) for value in (*op.results, *op.operands) if value is not None
    }


def _loads(ops: Sequence[Op], now: int, last: dict[Value, int]) -> tuple[list[int], list[int]]:
    """Return how many bytes are needed before each op, and while it runs. now: how many before the first."""
    before, loads = [], []
    for place, op in enumerate(ops):
        before.append(now)
        now += sum([_bytes(value) for value in op.results])
        loads.append(now)
        values = {value for value in (*op.operands, *op.results) if value is not None}
        now -= sum([_bytes(value) for value in values if last[value] == place])
    return before, loads


def _bytes(value: Value) -> int:
    """Return the bytes of a value in the arena, where constants have no place."""
    return 0 if value.is_const else aligned(size_of(value))


def _lower(lives: _Lives, tiler: Tiler, target: Target) -> bool:
    """Compute the op at the peak in tiles, as few as there must be, in the way that takes the least memory."""
    peak = lives.peak
    if not peak:
        return False
    place = lives.loads.index(peak)
    for count in _COUNTS:
        best: tuple[int, Tiling] | None = None
        for plan in _tilings(lives, place, count):
            with Speculative() as trial:
                result = tiler.build(plan, trial.ops)
                cost = lives.needed(plan, trial.ops, result)
                if cost < peak and all(takes(target, op) for op in trial.ops):
                    cost += _RECORD * len(trial.ops)
                    best = (cost, plan) if best is None or cost < best[0] else best
        if best is not None:
            _apply(lives, best[1], tiler)
            return True
    return False


def _apply(lives: _Lives, plan: Tiling, tiler: Tiler) -> None:
    graph, old = lives.graph, plan.last.result
    out: list[Op] = []
    new = tiler.build(plan, out)
    new.name = old.name
    replace_uses(old, new)
    for op in plan.region:
        detach(op)
    end = lives.places[plan.last]
    graph.ops = [*(op for op in graph.ops[:end] if op not in plan.region), *out, *graph.ops[end + 1 :]]


def _tilings(lives: _Lives, place: int, count: int) -> Iterator[Tiling]:
    """Yield the ways to compute the op at a place in so many tiles, or in those that a CONCATENATION joins."""
    ops, peak = lives.graph.ops, lives.graph.ops[place]
    near = ops[max(place - _REACH, 0) : place + _REACH]
    reached: set[Op | None] = {peak}
    for op in ops[place : place + _REACH]:
        if len(op.results) != 1 or (op is not peak and not any(v is not None and v.op in reached for v in op.operands)):
            continue
        reached.add(op)
        shape = op.result.shape or ()
        found = [tiled_result(op, Tiles(axis, bounds), lives.places) for axis in range(len(shape))
                 for bounds in _bounds(shape[axis], axis, axis == len(shape) - 1, count, near)]  # fmt: skip
        for value in dict.fromkeys(op.operands):
            if value is not None and value.shape and not value.is_const:
                axis = len(value.shape) - 1
                found += [tiled_inputs(op, bounds, lives.places)
                          for bounds in _bounds(value.shape[axis], axis, True, count, near)]  # fmt: skip
        yield from (plan for plan in found if plan is not None and peak in plan.region)


def _bounds(size: object, axis: int, channels: bool, count: int, near: Sequence[Op]) -> Iterator[tuple[int, ...]]:
    """Yield where a dimension is cut: in equal tiles, and where a CONCATENATION nearby joins as many elements."""
    if not isinstance(size, int) or size < count * (_LEAST_CHANNELS if channels else 1):
        return
    yield tuple(size * index // count for index in range(count + 1))
    if count == _COUNTS[0]:
        joined = (op for op in near if op.type == "CONCATENATION" and axis < len(op.result.shape or ()))
        yield from dict.fromkeys(joints(op) for op in joined if joins_along(op, axis) and joints(op)[-1] == size)
