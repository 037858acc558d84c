"""Orders of nodes: none needs more than the one that is there, and small graphs get the best one."""

from __future__ import annotations

import itertools
import random

from fuseconv.tfl.arena import Arena, Node, Subgraph, arena
from fuseconv.transforms.tfl.memory_scheduler import lighter_order, peak_bytes
from tests.work import count_calls


def _random(seed: int, count: int) -> Subgraph:
    """Nodes that read one or two of the last tensors, one of which is the input; some are outputs."""
    rng = random.Random(seed)
    nodes = []
    for made in range(1, count + 1):
        read = [rng.randrange(max(0, made - 6), made) for _ in range(rng.choice((1, 1, 2)))]
        nodes.append(Node(read, [made]))
    sizes = [16 * rng.choice((1, 2, 5, 20)) for _ in range(count + 1)]
    return Subgraph([0], [count, rng.randrange(count)], nodes, sizes)


def _runs(subgraph: Subgraph, order: list[int]) -> bool:
    known = set(subgraph.inputs)
    for number in order:
        node = subgraph.nodes[number]
        if not known.issuperset(node.operands):
            return False
        known.update(node.results)
    return sorted(order) == list(range(len(subgraph.nodes)))


def _in(subgraph: Subgraph, order: list[int]) -> Subgraph:
    return subgraph._replace(nodes=[subgraph.nodes[number] for number in order])


def _arena(subgraph: Subgraph) -> Arena:
    found = arena([subgraph])
    assert found is not None
    return found


def test_orders_run_and_need_less() -> None:
    lighter = 0
    for seed in range(150):
        subgraph = _random(seed, 5 + seed % 40)
        order = lighter_order(subgraph)
        assert order == lighter_order(subgraph)
        if order is None:
            continue
        lighter += 1
        assert _runs(subgraph, order)
        before, after = _arena(subgraph), _arena(_in(subgraph, order))
        assert after.peak < before.peak and after.size is not None and before.size is not None
        assert after.size < before.size
    assert lighter > 60


def test_small_graphs_get_nearly_the_best_order() -> None:
    best, found = 0, 0
    for seed in range(40):
        subgraph = _random(seed, 6)
        orders = [list(order) for order in itertools.permutations(range(6)) if _runs(subgraph, list(order))]
        best += min(peak_bytes(_in(subgraph, order), ()) for order in orders)
        found += peak_bytes(_in(subgraph, lighter_order(subgraph) or list(range(6))), ())
    assert found < 1.01 * best


def test_pinned_nodes_keep_their_order() -> None:
    moved = 0
    for seed in range(40):
        subgraph = _random(seed, 30)
        pinned = list(range(0, 30, 4))
        order = lighter_order(subgraph, pinned)
        if order is not None:
            moved += 1
            assert _runs(subgraph, order) and [number for number in order if number % 4 == 0] == pinned
    assert moved > 10


def test_work_grows_with_the_number_of_nodes() -> None:
    short, long = (_random(1, count) for count in (400, 1600))
    assert count_calls(lambda: lighter_order(long)) < 6 * count_calls(lambda: lighter_order(short))


def _in_series(seed: int, most: int) -> Subgraph:
    """Blocks, each of which hands a single tensor on."""
    rng = random.Random(seed)
    nodes: list[Node] = []
    given = 0
    for _ in range(5):
        first = len(nodes) + 1
        for _ in range(rng.randrange(2, most)):
            pool = [given, *range(first, len(nodes) + 1)]
            nodes.append(Node(rng.sample(pool, min(len(pool), rng.choice((1, 1, 2)))), [len(nodes) + 1]))
        read = {tensor for node in nodes for tensor in node.operands}
        unread = [tensor for tensor in range(first, len(nodes) + 1) if tensor not in read]
        nodes.append(Node(unread, [given := len(nodes) + 1]))
    return Subgraph([0], [given], nodes, [16 * rng.choice((1, 2, 5, 20)) for _ in range(given + 1)])


def test_the_part_at_the_peak_decides() -> None:
    """A tensor without bytes from the first node to the last changes nothing, but that the whole is searched."""
    lighter, kept = 0, 0
    for seed in range(150):
        series = _in_series(seed, 8)
        first, *others, last = series.nodes
        extra = len(series.sizes)
        nodes = [Node(first.operands, [*first.results, extra]), *others, Node([*last.operands, extra], last.results)]
        joined = series._replace(nodes=nodes, sizes=[*series.sizes, 0])
        found = lighter_order(series) is not None
        assert found == (lighter_order(joined) is not None)
        lighter += found
        kept += not found and count_calls(lambda: lighter_order(series)) < count_calls(lambda: lighter_order(joined))  # noqa: B023
    assert lighter > 30 and kept > 30
