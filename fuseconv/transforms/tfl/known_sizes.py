"""Let unknown sizes be the numbers that constants tell of them.

An op that a fusion builds keeps the size that was not known then, as that of a batch behind the loop of another layer.
Once the sizes that it is given are folded, they say what it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Sym, plain_names, substitute_dim
from fuseconv.ir.graph import Graph, Module, Value
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.pass_manager import module_pass

# Ops whose results have the sizes that an operand holds, and its place.
_SIZES = {"tfl.FILL": 0, "tfl.RESHAPE": 1, "tfl.BROADCAST_TO": 1}


@module_pass("known-sizes", requires=(TFL_ONLY,), kinds=_SIZES)
def known_sizes(module: Module) -> bool:
    """Replace sizes by numbers: FILL([1,8], 0): float32[n,8] -> float32[1,8], and n is 1 wherever else it stands.

    Sizes of inputs stay as they are declared."""
    graphs = list(module.graphs())
    told = [each for graph in graphs for each in _told(graph)]
    if not told:
        return False
    sizes: dict[str, int] = {}
    others = {name for graph in graphs for value in graph.inputs for name in _names(value)}
    for name, size in told:
        if sizes.setdefault(name, size) != size:
            others.add(name)  # copies of a function keep the names of its sizes
    for name in others & sizes.keys():
        del sizes[name]
    if not sizes:
        return False
    for graph in graphs:
        for value in (result for op in graph.ops for result in op.results):
            if value.shape is not None and not value.is_static:
                value.shape = tuple(substitute_dim(dim, sizes) for dim in value.shape)
    return True


def _names(value: Value) -> Iterator[str]:
    """Yield the unknown sizes of a tensor."""
    for dim in value.shape or ():
        if isinstance(dim, Sym):
            yield from dim.symbols()


def _told(graph: Graph) -> Iterator[tuple[str, int]]:
    """Yield the unknown sizes of results that a constant tells."""
    for op in ops_of_kinds(graph, _SIZES.keys()):
        place = _SIZES[op.kind]
        told = op.operands[place] if op.results and place < len(op.operands) else None
        if told is None or told.data is None or op.result.shape is None or op.result.is_static:
            continue
        for dim, size in zip(op.result.shape, told.data.reshape(-1).tolist()):
            names = plain_names(dim)
            if len(names) == 1 and size >= 0:  # of two, either may be the size
                yield from ((name, size) for name in names)
