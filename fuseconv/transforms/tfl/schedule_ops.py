"""Order ops so that their activations take less memory.

A graph of ops has one order only where each reads what the one before it makes, as in networks of no branches. There is
nothing to look for then, nor where a single op needs as much as is needed at the peak. Ops that see or have side
effects keep their order. The rule by which bytes are counted is that of `tfl/arena.py`.
"""

from __future__ import annotations

import itertools

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Graph, Module
from fuseconv.ir.subgraphs import subgraphs
from fuseconv.pass_manager import module_pass
from fuseconv.tf.side_effects import bodies, is_repeatable
from fuseconv.tfl.arena import of_graphs
from fuseconv.transforms.tfl.memory_scheduler import lighter_order, peak_bytes


@module_pass("schedule-ops", requires=(TFL_ONLY,))
def schedule_ops(module: Module) -> bool:
    """Order ops so that fewer bytes are needed at once: a1, b1, a2, b2 -> a1, a2, b1, b2.

    Sizes that are not known count as 1. A graph stays as it is if no order is found that lowers its peak. So does one
    with recurrent states of a dynamic batch, which overlap with other tensors if one of dynamic size comes before
    them."""
    changed = False
    peaks: dict[Graph, int] = {}
    for graph in reversed(list(subgraphs(module))):
        changed |= not _is_chain(graph) and _schedule(graph, module, peaks)
    return changed


def _is_chain(graph: Graph) -> bool:
    """Return whether each op reads what the one before it makes."""
    return all(
        any(value is not None and value.op is before for value in op.operands)
        for before, op in itertools.pairwise(graph.ops)
    )


def _schedule(graph: Graph, module: Module, peaks: dict[Graph, int]) -> bool:
    if any(value is not None and value.variable and not value.is_static for op in graph.ops for value in op.operands):
        return False
    pinned = [number for number, op in enumerate(graph.ops) if not is_repeatable(op)]
    (subgraph,) = of_graphs([graph])
    order = lighter_order(subgraph, pinned, _inside(graph, module, peaks))
    if order is None:
        return False
    graph.ops = [graph.ops[number] for number in order]
    peaks.pop(graph, None)
    return True


def _inside(graph: Graph, module: Module, peaks: dict[Graph, int]) -> list[int]:
    """Return the bytes that the functions need which each op runs; nothing where there are none."""
    if not module.functions:
        return []
    return [max((_peak(body, module, peaks) for body, _ in bodies(op, module)), default=0) for op in graph.ops]


def _peak(graph: Graph, module: Module, peaks: dict[Graph, int]) -> int:
    if graph not in peaks:
        peaks[graph] = 0  # of a function that runs itself
        (subgraph,) = of_graphs([graph])
        peaks[graph] = peak_bytes(subgraph, _inside(graph, module, peaks))
    return peaks[graph]
