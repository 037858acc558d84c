"""The order of ops with side effects, as metadata of the file.

The runtime runs ops in the file's order, but a delegate that takes some of them moves others before or behind these. It
keeps the order of ops between which data flows, and of ops on variables and tables, loops and branches
(Subgraph::OpMightHaveSideEffect). Of custom ops it does not know that the order counts. A file may say so itself, by
edges between ops that stand instead of the order that the runtime assumes (ModelControlDependencies).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from fuseconv.ir import types
from fuseconv.ir.graph import STATEFUL, Graph, Op

CONTROL_DEPENDENCIES = "model_control_dependencies"
_VERSION = 1
_RUNS_FUNCTIONS = frozenset({"tfl.IF", "tfl.WHILE", "tfl.CALL_ONCE"})


def control_dependencies(graphs: Sequence[Graph]) -> bytes | None:
    """Return the metadata for the subgraphs of a file; None if the order that the runtime assumes serves.

    It is the version, then a list for each subgraph of pairs (from, to) of numbers of ops. Counts are varints, numbers
    of ops zigzag varints (converter/experimental/remat/metadata_util.cc)."""
    if not any(_acts(op) for graph in graphs for op in graph.ops):
        return None
    chains = [[index for index, op in enumerate(graph.ops) if _is_ordered(op)] for graph in graphs]
    if all(len(chain) < 2 for chain in chains):
        return None
    return bytes(_serialized(chains))


def _acts(op: Op) -> bool:
    """Return True for a custom op that has side effects."""
    return op.kind == "tfl.CUSTOM" and (STATEFUL in op.attrs or not op.results)


def _is_ordered(op: Op) -> bool:
    """Return True if the op may see or have side effects: each custom op may, beside one that has."""
    if op.kind == "tfl.CUSTOM" or op.kind in _RUNS_FUNCTIONS:
        return True
    return any(value is not None and value.dtype is types.RESOURCE for value in (*op.operands, *op.results))


def _serialized(chains: Sequence[Sequence[int]]) -> Iterator[int]:
    yield from _varint(_VERSION)
    yield from _varint(len(chains))
    for chain in chains:
        edges = list(itertools.pairwise(chain))
        yield from _varint(len(edges))
        for number in itertools.chain.from_iterable(edges):
            yield from _varint(2 * number)


def _varint(number: int) -> Iterator[int]:
    while number >= 128:
        yield number % 128 + 128
        number //= 128
    yield number
