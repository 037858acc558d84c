"""Read sizes off the graph's inputs, where these have them: SHAPE(f(x))[i] -> SHAPE(x)[j].

So that one op reads the size of the batch for all, and nothing is kept for its shape alone.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Graph, Module, Op, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder


@module_pass("sizes-of-inputs", requires=(TFL_ONLY,))
def sizes_of_inputs(module: Module) -> None:
    """Read sizes off inputs: SHAPE(f(x))[i] -> SHAPE(x)[j], where x is an input whose size j is the same."""
    for graph in module.graphs():
        read_off_inputs(graph)


def read_off_inputs(graph: Graph) -> None:
    """Let elements of shapes be those of an input's shape. Equal ones are left to merge."""
    data = [value for value in graph.inputs if not value.dtype.is_handle]
    places = {dim: (value, axis) for value in data for axis, dim in enumerate(value.shape or ())}
    made: dict[Op, list[Op]] = {}
    for op in graph.ops:
        size = _size_of(op)
        if size is None or size not in places:
            continue
        value, axis = places[size]
        shape: Op = op.operands[0].op  # type: ignore[union-attr,assignment]
        if shape.operands[0] is not value:
            tfl = Builder(made.setdefault(op, []), op.name, op.sources)
            dims = tfl.op("SHAPE", (value,), shape.attrs)[0]
            index = [np.array([number], np.int32) for number in (axis, axis + 1, 1)]
            replace_uses(op.result, tfl.strided_slice(dims, *index, shrink_axis_mask=1))
    if made:
        graph.ops = [part for op in graph.ops for part in (*made.get(op, ()), op)]


def _size_of(op: Op) -> Sym | None:
    """Return the unknown size that a slice of a shape is, as a scalar."""
    x = op.operands[0] if op.kind == "tfl.STRIDED_SLICE" else None
    if x is None or x.op is None or x.op.kind != "tfl.SHAPE" or op.result.content is None or op.result.rank != 0:
        return None
    size = op.result.content[()]
    return size if isinstance(size, Sym) else None
