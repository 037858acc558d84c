"""Find an order of a graph's ops in which fewer bytes are needed at once.

Ops that only hand on to each other run one after the other, as a unit: of units there are few, and their order is what
counts. Around the op at the peak, a beam search puts units in order. Of all orders that need no more than the peak, it
goes on with those that need the least now. What is left to do is the same for all orders of the same units, so that one
of each set will do. So it goes on with the next peak, until none is lower. Ahn and others, "Ordering chaos:
memory-aware scheduling of irregularly wired neural networks", search so, by dynamic programming.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from fuseconv.tfl.arena import Buffer, Node, Subgraph, aligned, planned_size

# Units before and after the peak that are put in order, how many sets of them go on, and how often.
_REACH = 32
_WIDTH = 8
_ROUNDS = 8


def lighter_order(subgraph: Subgraph, pinned: Sequence[int] = (), inside: Sequence[int] = ()) -> list[int] | None:
    """Return an order of the nodes in which the arena is smaller; None if none is found.

    pinned: nodes that keep their order, by numbers. inside: bytes that each node needs for the subgraphs
    that it runs."""
    begin, end, part = _around_peak(subgraph, inside)
    if 2 * len(part.nodes) < len(subgraph.nodes):
        # As much as is needed for the part at the peak is needed for the whole.
        inner = _Flow(part, [number - begin for number in pinned if begin <= number < end], inside[begin:end])
        if not any(_lighter(inner, inner.peak(range(end - begin)))):
            return None
    flow = _Flow(subgraph, pinned, inside)
    order = list(range(len(subgraph.nodes)))
    peak = flow.peak(order)
    found = list(_lighter(flow, peak)) if peak else []
    size: int | None = None
    for lighter in reversed(found):
        made = planned_size(flow.buffers(lighter))
        if made is None or made < peak:
            return lighter  # no plan takes less than the peak
        # An order with a lower peak may leave larger gaps.
        size = size or planned_size(flow.buffers(order))
        if size is None or made < size:
            return lighter
    return None


def _around_peak(subgraph: Subgraph, inside: Sequence[int]) -> tuple[int, int, Subgraph]:
    """Return the nodes at the peak between two places where a single tensor is handed on: the first one, the one behind
    the last, and them alone. No order mixes these with others, but for nodes that read nothing."""
    nodes, half = subgraph.nodes, len(subgraph.nodes) // 2
    last = {tensor: number for number, node in enumerate(nodes) for tensor in node.operands}
    last |= dict.fromkeys(subgraph.outputs, len(nodes))
    if any(last.get(tensor, 0) - number > half for number, node in enumerate(nodes) for tensor in node.results):
        return 0, len(nodes), subgraph  # such as a mask that each layer reads
    sizes = [aligned(size) for size in subgraph.sizes]
    alive = {tensor for tensor in subgraph.inputs if tensor in last}
    now = sum([sizes[tensor] for tensor in alive])
    peak, begin, end = -1, 0, len(nodes)
    waist, inputs, given, outputs = 0, subgraph.inputs, subgraph.inputs, subgraph.outputs
    for number, node in enumerate(nodes):
        for tensor in node.results:
            alive.add(tensor)
            now += sizes[tensor]
        need = now + inside[number] if inside else now
        if need > peak:
            peak, begin, end, inputs, outputs = need, waist, len(nodes), given, subgraph.outputs
        for tensor in (*node.operands, *node.results):
            if tensor in alive and last.get(tensor, -1) <= number:
                alive.remove(tensor)
                now -= sizes[tensor]
        if len(alive) == 1:
            waist, given = number + 1, [*alive]
            if end == len(nodes):
                end, outputs = waist, given
    return begin, end, _renumbered(Subgraph(inputs, outputs, nodes[begin:end], subgraph.sizes))


def _renumbered(part: Subgraph) -> Subgraph:
    """Return a part of a subgraph with its own tensors alone."""
    numbers = {-1: -1}
    for tensor in itertools.chain(part.inputs, *[(*node.operands, *node.results) for node in part.nodes], part.outputs):
        numbers.setdefault(tensor, len(numbers) - 1)

    def renumbered(tensors: Sequence[int]) -> list[int]:
        return [*map(numbers.__getitem__, tensors)]

    nodes = [Node(renumbered(node.operands), renumbered(node.results)) for node in part.nodes]
    sizes = [part.sizes[tensor] for tensor in numbers if tensor >= 0]
    return Subgraph(renumbered(part.inputs), renumbered(part.outputs), nodes, sizes)


def peak_bytes(subgraph: Subgraph, inside: Sequence[int]) -> int:
    """Return the bytes that are needed at once as the nodes stand, at most. inside: as of `lighter_order`."""
    return _Flow(subgraph, (), inside).peak(range(len(subgraph.nodes)))


def _lighter(flow: _Flow, lowest: int) -> Iterator[list[int]]:
    """Yield orders of nodes, each with a lower peak than the ones before. lowest: the peak to begin with."""
    units = _units(flow)
    order = sorted(range(len(units)), key=lambda number: units[number].nodes[-1])
    for _ in range(_ROUNDS):
        nodes = [node for number in order for node in units[number].nodes]
        loads = flow.loads(nodes)
        peak = max(loads)
        if peak < lowest:
            lowest = peak
            yield nodes
        place = nodes[loads.index(peak)]
        if peak <= flow.needed_at(place):
            return
        at = next(index for index, number in enumerate(order) if place in units[number].nodes)
        begin, end = max(0, at - _REACH), at + _REACH
        found = _Window(flow, units, order, begin, end).search(peak)
        if found is None:
            return
        order[begin:end] = found


class _Flow:
    """Who makes and who reads what.

    Of each tensor, sizes: its bytes, as the arena counts them. makers: the node that makes it. readers, counts: the
        nodes that read it, and how many these are. kept: those that are outputs.
    Of each node, operands: the tensors that it reads. before: the nodes that it waits for. frees: the tensors with
        bytes that it may be the last to read. made, dead: the bytes of its results, and of those that nobody reads.
    """

    def __init__(self, subgraph: Subgraph, pinned: Sequence[int], inside: Sequence[int]) -> None:
        self.subgraph, self.pinned = subgraph, frozenset(pinned)
        self.inside = inside or [0] * len(subgraph.nodes)
        self.sizes = [aligned(size) for size in subgraph.sizes]
        self.makers = {tensor: number for number, node in enumerate(subgraph.nodes) for tensor in node.results}
        self.operands = [set(node.operands) - {-1} for node in subgraph.nodes]
        self.readers: dict[int, list[int]] = {}
        self.before: list[set[int]] = []
        for number, operands in enumerate(self.operands):
            before = set()
            for tensor in operands:
                if tensor in self.makers:
                    before.add(self.makers[tensor])
                if tensor in self.readers:
                    self.readers[tensor].append(number)
                else:
                    self.readers[tensor] = [number]
            self.before.append(before)
        for first, then in itertools.pairwise(pinned):
            self.before[then].add(first)
        self.counts = {tensor: len(readers) for tensor, readers in self.readers.items()}
        self.kept = frozenset(subgraph.outputs)
        sizes = self.sizes
        self.frees = [[x for x in operands if sizes[x] and x not in self.kept] for operands in self.operands]
        self.made = [sum(map(sizes.__getitem__, node.results)) for node in subgraph.nodes]
        unread = set(self.makers).difference(self.readers, self.kept)
        self.dead = [sum([sizes[x] for x in node.results if x in unread]) for node in subgraph.nodes]

    def loads(self, order: Sequence[int]) -> list[int]:
        """Return the bytes that are needed at each node of an order."""
        sizes, frees, made, dead, inside = self.sizes, self.frees, self.made, self.dead, self.inside
        left = self.counts.copy()
        now = sum(sizes[tensor] for tensor in set(self.subgraph.inputs) if self.is_read(tensor))
        loads = []
        for number in order:
            now += made[number]
            loads.append(now + inside[number])
            now -= dead[number]
            for tensor in frees[number]:
                left[tensor] -= 1
                if not left[tensor]:
                    now -= sizes[tensor]
        return loads

    def peak(self, order: Sequence[int]) -> int:
        return max(self.loads(order), default=0)

    def needed_at(self, number: int) -> int:
        """Return the bytes that are needed at a node in every order: its results, what it reads, and what nodes that it
        waits for hand on to such as wait for it."""
        ahead, behind = {number}, {number}
        for other in range(number, -1, -1):
            if other in ahead:
                ahead |= self.before[other]
        for other in range(number + 1, len(self.before)):
            if not behind.isdisjoint(self.before[other]):
                behind.add(other)
        held = [
            size for tensor, size in enumerate(self.sizes)
            if size and self.makers.get(tensor, number) in ahead
            and (tensor in self.kept or not behind.isdisjoint(self.readers.get(tensor, ())))
        ]  # fmt: skip
        return self.inside[number] + self.dead[number] + sum(held)

    def is_read(self, tensor: int) -> bool:
        return tensor in self.readers or tensor in self.kept

    def buffers(self, order: Sequence[int]) -> list[Buffer]:
        """Return what is to be placed in the arena, for an order of the nodes."""
        place = [0] * len(order)
        for step, number in enumerate(order, 1):
            place[number] = step
        buffers = [Buffer(inside, place[node], place[node]) for node, inside in enumerate(self.inside) if inside]
        for tensor, size in enumerate(self.sizes):
            if size and (tensor in self.makers or self.is_read(tensor)):
                first = place[self.makers[tensor]] if tensor in self.makers else 0
                last = max([place[reader] for reader in self.readers.get(tensor, ())], default=first)
                buffers.append(Buffer(size, first, len(order) if tensor in self.kept else last))
        return buffers


@dataclass
class _Unit:
    """Nodes that run one after the other.

    reads: tensors that the first one reads. first: bytes of its results. rest: the most bytes that the others need,
    with what they hand on. out: bytes that are left of the last one's results."""

    nodes: list[int]
    reads: frozenset[int]
    first: int
    rest: int = 0
    out: int = 0
    before: set[int] = field(default_factory=set)


def _units(flow: _Flow) -> list[_Unit]:
    """Join each node with its only maker, if that hands on to nothing else. What runs in order stays alone."""
    units: list[_Unit] = []
    unit_of: list[int] = []
    inputs = frozenset(flow.subgraph.inputs)
    for number, operands in enumerate(flow.operands):
        made, out = flow.made[number] + flow.inside[number], flow.made[number] - flow.dead[number]
        maker = _only_maker(flow, number, inputs)
        if maker is None:
            reads = frozenset([tensor for tensor in operands if flow.sizes[tensor]])
            unit_of.append(len(units))
            units.append(_Unit([number], reads, made, 0, out, {unit_of[other] for other in flow.before[number]}))
            continue
        unit = units[unit_of[maker]]
        unit_of.append(unit_of[maker])
        unit.nodes.append(number)
        unit.rest, unit.out = max(unit.rest, unit.out + made), out
    return units


def _only_maker(flow: _Flow, number: int, inputs: frozenset[int]) -> int | None:
    before = flow.before[number]
    if len(before) != 1 or number in flow.pinned or not inputs.isdisjoint(flow.operands[number]):
        return None
    (maker,) = before
    if maker in flow.pinned:
        return None
    results = flow.subgraph.nodes[maker].results
    only = [number]
    for tensor in results:
        if tensor in flow.kept or flow.readers.get(tensor, only) != only:
            return None
    return maker


class _Window:
    """Units that stand next to each other, to be put in another order. A set of them is a number, with a bit for each.

    before: the units that each waits for. steps: of each by its bit, its index, bytes (`first`, `rest` and `out`), the
    tensors that nobody behind the window needs, as who reads them and their bytes, and the units that wait for it."""

    def __init__(self, flow: _Flow, units: Sequence[_Unit], order: Sequence[int], begin: int, end: int) -> None:
        self.numbers = order[begin:end]
        self.units = [units[number] for number in self.numbers]
        bits = {number: 1 << index for index, number in enumerate(self.numbers)}
        self.before = [sum(bits.get(other, 0) for other in unit.before) for unit in self.units]
        after: list[list[int]] = [[] for _ in self.units]
        for index, unit in enumerate(self.units):
            for other in unit.before:
                if other in bits:
                    after[bits[other].bit_length() - 1].append(index)
        later = flow.kept.union(*(units[number].reads for number in order[end:]))
        readers: dict[int, int] = {}
        for index, unit in enumerate(self.units):
            for tensor in unit.reads:
                readers[tensor] = readers.get(tensor, 0) | 1 << index
        dies = [
            [(readers[tensor], flow.sizes[tensor]) for tensor in unit.reads if tensor not in later]
            for unit in self.units
        ]
        self.steps = {
            1 << index: (index, unit.first, unit.rest, unit.out, dies[index], after[index])
            for index, unit in enumerate(self.units)
        }
        self.now = self._needed_before(flow, units, order[:begin], later | readers.keys())

    @staticmethod
    def _needed_before(flow: _Flow, units: Sequence[_Unit], done: Sequence[int], wanted: frozenset[int]) -> int:
        """Return the bytes of what is there when the window begins."""
        there = set(flow.subgraph.inputs)
        for number in done:
            there.update(flow.subgraph.nodes[units[number].nodes[-1]].results)
        return sum(flow.sizes[tensor] for tensor in there & wanted)

    def search(self, budget: int) -> list[int] | None:
        """Return the units in an order in which less than the budget is needed; None if none is found."""
        ready = sum(1 << index for index, before in enumerate(self.before) if not before)
        # The units that have run -> bytes that are needed now, units that may run next, what ran before, what ran last.
        states: dict[int, tuple[int, int, int, int]] = {0: (self.now, ready, 0, 0)}
        levels = []
        for _ in self.units:
            states = self._step(states, budget)
            if not states:
                return None
            if len(states) > _WIDTH:
                states = dict(sorted(states.items(), key=lambda item: (item[1][0], item[0]))[:_WIDTH])
            levels.append(states)
        (done,) = states
        found = []
        for level in reversed(levels):
            _, _, done, index = level[done]
            found.append(self.numbers[index])
        return found[::-1]

    def _step(self, states: dict[int, tuple[int, int, int, int]], budget: int) -> dict[int, tuple[int, int, int, int]]:
        """Run one unit more, each that may run."""
        made: dict[int, tuple[int, int, int, int]] = {}
        steps, before = self.steps, self.before
        for done, (now, ready, _, _) in states.items():
            own: dict[int, tuple[int, int, int, int]] = {}
            rest = ready
            while rest:
                bit = rest & -rest
                rest ^= bit
                reached = done | bit
                index, first, most, out, dies, after = steps[bit]
                if reached in made or now + first >= budget:
                    continue
                then = now
                for readers, size in dies:
                    if not readers & ~reached:
                        then -= size
                if then + most >= budget:
                    continue
                free = ready ^ bit
                for other in after:
                    if not before[other] & ~reached:
                        free |= 1 << other
                own[reached] = then + out, free, done, index
                if then + out <= now:
                    # As good as any: whatever comes next, it leaves no more than there was, and may free the rest.
                    own = {reached: own[reached]}
                    break
            made |= own
        return made
