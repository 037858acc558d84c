"""Copies of ops are known by the nodes that they come of, or by the weights that they share."""

from __future__ import annotations

from collections import Counter

import pytest

from fuseconv.ir.graph import Graph
from fuseconv.quantize.copies import kinds_of
from tests.tf.text_cases import module_of

_WEIGHTS = "float32[2,2] [1, 2, 3, 4], _"


def _steps(count: int, weights: str = _WEIGHTS, between: str = "") -> Graph:
    """Return a graph of steps h = f * h + g with f and g made of a product of h; each op comes of a node of its own."""
    steps = "".join(
        f"""%p{i}: float32[n,2] = tfl.FULLY_CONNECTED(%h{i}, {weights.format(i)})
        {between.format(i) or f"%q{i}: float32[n,2] = tfl.ABS(%p{i})"}
        %f{i}: float32[n,2] = tfl.LOGISTIC(%q{i})
        %g{i}: float32[n,2] = tfl.TANH(%q{i})
        %m{i}: float32[n,2] = tfl.MUL(%f{i}, %h{i})
        %h{i + 1}: float32[n,2] = tfl.ADD(%m{i}, %g{i})
        """ for i in range(count)
    )  # fmt: skip
    module, _ = module_of(f"""
    main {{
      input %h0: float32[n,2]
      {steps}%y: float32[n,2] = tfl.TANH(%h{count})
      return %y
    }}
    """)
    (graph,) = module.graphs()
    for op in graph.ops:
        op.sources = (op.result.name,)
    return graph


def _alike(graph: Graph) -> set[str]:
    """Return the letters of ops that have copies, all of which are of one letter."""
    kinds = kinds_of(graph)
    counts = Counter(kinds.values())
    copied = [op for op in graph.ops if counts[kinds[op]] > 1]
    assert len({(op.result.name[0], kinds[op]) for op in copied}) == len({kinds[op] for op in copied})
    return {op.result.name[0] for op in copied}


def test_steps_that_share_weights() -> None:
    graph = _steps(4)
    assert _alike(graph) == set("pqfgmh")
    counts = Counter(kinds_of(graph).values())
    assert sorted(counts.values()) == [1, *[4] * 6]  # what reads the last state is no part of a step


@pytest.mark.parametrize(("count", "weights", "between"), [
    (2, _WEIGHTS, ""),
    (4, "float32[2,2] [{}, 2, 3, 4], _", ""),
    # As layers that share weights, which have norms between them.
    (4, _WEIGHTS, "%q{0}: float32[n,2] = tfl.SOFTMAX(%p{0})"),
])  # fmt: skip
def test_what_is_no_loop(count: int, weights: str, between: str) -> None:
    assert not _alike(_steps(count, weights, between))


def test_weights_that_are_shared_side_by_side() -> None:
    """What is computed of several inputs alike sums up nothing."""
    products = "".join(f"%p{i}: float32[n,2] = tfl.FULLY_CONNECTED(%x{i}, {_WEIGHTS})\n" for i in range(4))
    module, _ = module_of(f"""
    main {{
      {"".join(f"input %x{i}: float32[n,2]{chr(10)}" for i in range(4))}{products}
      return %p0, %p1, %p2, %p3
    }}
    """)
    (graph,) = module.graphs()
    for op in graph.ops:
        op.sources = (op.result.name,)
    assert len(set(kinds_of(graph).values())) == 4


def test_ops_of_one_node() -> None:
    graph = _steps(4)
    for op in graph.ops:
        op.sources = (op.result.name.rstrip("0123456789"),)
    assert _alike(graph) == set("pqfgmh")
    assert set(kinds_of(graph).values()) == {(op.type, op.sources) for op in graph.ops}
