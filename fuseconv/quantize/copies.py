"""Which ops of a graph are copies of each other, as those of the steps of an unrolled loop are.

Steps that were unrolled here come of the same nodes of the model. Where a model itself unrolls a loop, as Python's
`for` does, each step has nodes of its own. Its ops are known by their products, which have the same weights in each
step, and by what they make of these.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.quantize import fake_quant
from fuseconv.tfl.integer import INT8
from fuseconv.tfl.traits import ELEMENTWISE

# Steps of an unrolled loop are more; what one node of a model becomes has seldom as many ops of a kind.
FEWEST_STEPS = 3
_PRODUCT = "FULLY_CONNECTED"
# So many numbers of weights tell of nearly all that they are others.
_SOME = 16


def kinds_of(graph: Graph) -> Mapping[Op, Hashable]:
    """Return the kind of each op: copies of an op have the same."""
    kinds: dict[Op, Hashable] = {op: (op.type, op.sources) for op in graph.ops}
    shared = _shared_products(graph)
    if not shared:
        return kinds
    levels = _levels(graph, shared)
    steps: dict[int, set[int]] = defaultdict(set)
    for op, group in shared.items():
        steps[group].add(levels[op])
    recurrent = [op for op, group in shared.items() if len(steps[group]) >= FEWEST_STEPS]
    if not recurrent or not _is_cell(graph, recurrent):
        return kinds
    counts = Counter(kinds.values())
    made = _signatures(graph, shared, levels)
    copies = Counter(made.values())
    return kinds | {
        op: ("step", kind) for op, kind in made.items()
        if counts[kinds[op]] < FEWEST_STEPS <= copies[kind]
    }  # fmt: skip


def _shared_products(graph: Graph) -> dict[Op, int]:
    """Return the products whose weights as many others have as a loop has steps, with a number for each such group."""
    alike: dict[Hashable, list[tuple[Op, np.ndarray]]] = defaultdict(list)
    for op in graph.ops:
        weights = op.operands[1] if op.type == _PRODUCT else None
        if weights is not None and weights.data is not None and weights.data.size:
            some = weights.data.reshape(-1)[:: max(1, weights.data.size // _SOME)]
            alike[weights.data.shape, some.tobytes()].append((op, weights.data))
    groups = [found for found in alike.values() if len(found) >= FEWEST_STEPS]
    return {
        op: number for number, found in enumerate(groups) for op, array in found if np.array_equal(array, found[0][1])
    }


def _levels(graph: Graph, shared: Mapping[Op, int]) -> dict[Op, int]:
    """Return for each op how many shared products, one made of the other, lead to it: later steps have more."""
    levels: dict[Op, int] = {}
    for op in graph.ops:
        makers = (value.op for value in op.operands if value is not None and value.op is not None)
        levels[op] = max((levels.get(maker, 0) for maker in makers), default=0) + (op in shared)
    return levels


def _is_cell(graph: Graph, recurrent: Sequence[Op]) -> bool:
    """Return whether from product to product numbers are computed one by one, as gates are. Layers that share weights
    have norms and attention between them."""
    reached: set[Value | None] = {value for op in recurrent for value in op.results}
    behind: list[Op] = []
    for op in graph.ops:
        if not reached.isdisjoint(op.operands):
            reached.update(op.results)
            behind.append(op)
    wanted: set[Value | None] = {value for op in recurrent for value in op.operands}
    for op in reversed(behind):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.operands)
            if not (op.type in ELEMENTWISE or op.type == _PRODUCT or INT8.moves(op) or op.kind == fake_quant.KIND):
                return False
    return True


def _signatures(graph: Graph, shared: Mapping[Op, int], levels: Mapping[Op, int]) -> dict[Op, Hashable]:
    """Return how each op of a step is made within that step; of shared products, which they are."""
    numbers: dict[Hashable, int] = {}
    found: dict[Op, Hashable] = {}

    def operand(value: Value | None, level: int) -> Hashable:
        maker = None if value is None else value.op
        if value is None or maker is None or levels.get(maker, 0) < level:
            return "const" if value is not None and value.is_const else "before"
        return found[maker], maker.results.index(value)

    for op in graph.ops:
        level = levels[op]
        how: Hashable = None
        if op in shared:
            how = op.type, shared[op]
        elif level:
            how = op.type, tuple(operand(value, level) for value in op.operands)
        if how is not None:
            found[op] = numbers.setdefault(how, len(numbers))
    return found
