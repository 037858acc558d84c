"""The arena: bytes of activations by the rule of TFLite Micro's planner."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from fuseconv.tfl.arena import (
    Arena,
    Buffer,
    Node,
    Subgraph,
    arena,
    better_plan,
    of_graphs,
    planned_size,
    told_size,
)
from tests.tf.text_cases import module_of
from tests.work import count_calls


def _chain(sizes: list[int]) -> Subgraph:
    nodes = [Node([number], [number + 1]) for number in range(len(sizes) - 1)]
    return Subgraph([0], [len(sizes) - 1], nodes, sizes)


def test_a_chain_needs_two_neighbors_at_once() -> None:
    assert arena([_chain([16, 64, 32, 100])]) == Arena(144, 144, 0, 2)


def test_sizes_are_rounded_up() -> None:
    assert arena([_chain([1, 17])]) == Arena(48, 48, 0, 0)


@pytest.mark.parametrize(("buffers", "size"), [
    ([], 0),
    ([Buffer(32, 0, 1), Buffer(16, 2, 3)], 32),
    ([Buffer(32, 0, 1), Buffer(16, 1, 3)], 48),
    # The largest is placed first; of equal ones the last, which leaves a gap of 32 where 48 are wanted.
    ([Buffer(64, 0, 1), Buffer(32, 1, 2), Buffer(48, 2, 3)], 96),
    ([Buffer(64, 1, 1), Buffer(32, 0, 3), Buffer(32, 0, 1), Buffer(48, 2, 3)], 128),
    ([Buffer(10**9, 0, 10**6)], None),
])  # fmt: skip
def test_places(buffers: list[Buffer], size: int | None) -> None:
    assert planned_size(buffers) == size


def test_better_plans_hold_what_they_must() -> None:
    better = 0
    for seed in range(200):
        rng = random.Random(seed)
        nodes = [Node(sorted({made - 1, rng.randrange(max(0, made - 5), made)}), [made]) for made in range(1, 20)]
        subgraph = Subgraph([0], [19], nodes, [16 * rng.choice((0, 1, 2, 7)) for _ in range(20)])
        plan = better_plan([subgraph])
        own = arena([subgraph])
        assert own is not None and own.size is not None
        assert (own.size if plan is None else plan[0]) == own.peak  # no plan takes less
        if plan is None:
            continue
        better += 1
        size, (begins,) = plan
        assert own.peak <= size < own.size
        assert [begin < 0 for begin in begins] == [not size for size in subgraph.sizes]
        told = np.array([1, 1, 20, *begins], "<i4").tobytes()
        assert told_size([subgraph], told) == size and told_size([subgraph], told[:-4]) is None
        last = [max([made, *(19 if made == 19 else n for n, node in enumerate(nodes, 1) if made in node.operands)])
                for made in range(20)]  # fmt: skip
        for a, b in itertools.combinations(range(20), 2):
            if b <= last[a] and subgraph.sizes[a] and subgraph.sizes[b]:
                assert begins[a] + subgraph.sizes[a] <= begins[b] or begins[b] + subgraph.sizes[b] <= begins[a]
    assert better > 40


def test_outputs_stay_until_the_end_and_inputs_until_they_are_read() -> None:
    nodes = [Node([0], [1]), Node([0], [2]), Node([2], [3])]
    assert arena([Subgraph([0], [1, 3], nodes, [16, 16, 16, 16])]) == Arena(48, 48, 0, 1)


def test_what_a_subgraph_needs_comes_on_top_while_it_runs() -> None:
    main = Subgraph([0], [2], [Node([0], [1]), Node([1], [2], runs=[1, 2])], [16, 32, 32])
    condition, body = _chain([32, 16]), _chain([32, 160, 32])
    found = arena([main, condition, body])
    assert found == Arena(256, 256, 2, 0)


def test_subgraphs_that_nothing_runs_are_placed_all_at_once() -> None:
    assert arena([_chain([16, 16]), _chain([16, 160, 32])]) == Arena(208, 32, 0, 0)


def test_subgraphs_that_run_themselves_or_each_other_without_end() -> None:
    assert arena([Subgraph([0], [1], [Node([0], [1], runs=[0])], [16, 16])]) is None
    doubled = [Subgraph([0], [1], [Node([0], [1], runs=[n + 1, n + 1])], [16, 16]) for n in range(40)]
    assert arena([*doubled, _chain([16, 16])]) is None
    assert arena([]) is None and arena([Subgraph([0], [0], [], [16])]) is None


def test_graphs() -> None:
    module, _ = module_of("""
    main {
      input %x: float32[n,3]
      %h: float32[1,4] {'variable': True} = tfl.FILL(int32[2] [1, 4], float32[] 0.0)
      %s: int8[n,5] = tfl.CAST(%x)
      %y: float32[n,5] = tfl.WHILE(%s) {'cond_subgraph_index': @more, 'body_subgraph_index': @step}
      return %y
    }""", """
    step {
      input %x: float32[n,5]
      %y: float32[n,5] = tfl.EXP(%x)
      return %y
    }""", """
    more {
      input %x: float32[n,5]
      %y: bool[] = tfl.REDUCE_ANY(%x, int32[2] [0, 1])
      return %y
    }""")  # fmt: skip
    graphs = [module.signatures[0].graph, module.functions["more"], module.functions["step"]]
    main, more, step = of_graphs(graphs, module.functions)
    places = [tensor for node in main.nodes for tensor in (*node.operands, *node.results)]
    assert [0 if tensor < 0 else main.sizes[tensor] for tensor in places] == [
        0, 0, 0, 12, 5, 5, 20,
    ]  # fmt: skip
    assert [list(node.runs) for node in main.nodes] == [[], [], [1, 2]]
    assert (more.sizes, step.sizes) == ([20, 1], [20, 20])


def test_work_grows_with_the_number_of_ops() -> None:
    short, long = ([_chain([16, 48] * length)] for length in (200, 800))
    assert count_calls(lambda: arena(long)) < 4.2 * count_calls(lambda: arena(short))
