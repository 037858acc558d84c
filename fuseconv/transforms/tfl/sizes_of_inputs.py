"""Read each size off one tensor, an input where one has it: SHAPE(f(x))[i] -> SHAPE(x)[j].

So that one op reads the size of the batch for all, and nothing is kept for its shape alone.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Dim, Sym
from fuseconv.ir.graph import Graph, Module, Op, Value, replace_uses
from fuseconv.ir.slice_spec import Pick, SliceSpec, Take
from fuseconv.ir.terms import operand_of
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder


@module_pass("sizes-of-inputs", requires=(TFL_ONLY,))
def sizes_of_inputs(module: Module) -> None:
    """Read sizes off inputs: SHAPE(f(x))[i] -> SHAPE(x)[j], where size j of the input x is the same.

    A size that no input has is read off the first tensor that has it."""
    for graph in module.graphs():
        read_off_inputs(graph)


def read_off_inputs(graph: Graph) -> None:
    """Let elements of shapes be those of an input's shape, or the first shape's. Equal ones are left to merge.

    The shape of a vector is a vector of its size, which no slice need take: SHAPE(f(x))[0:1] -> SHAPE(lengths)."""
    # The last one that has a size counts.
    data = sorted([value for value in graph.inputs if not value.dtype.is_handle], key=lambda value: value.rank == 1)
    places: dict[Dim, tuple[Value, int]] = {
        dim: (value, axis) for value in data for axis, dim in enumerate(value.shape or ()) if isinstance(dim, Sym)
    }
    made: dict[Op, list[Op]] = {}
    for op in graph.ops:
        place = _place(op)
        size = place[0].shape[place[1]] if place is not None else None  # type: ignore[index]
        if place is None or not isinstance(size, Sym):
            continue
        value, axis = places.setdefault(size, place)
        if value is not place[0]:
            shape: Op = op.operands[0].op  # type: ignore[union-attr,assignment]
            tfl = Builder(made.setdefault(op, []), op.name, op.sources)
            dims = tfl.op("SHAPE", (value,), shape.attrs)[0]
            index = [np.array([number], np.int32) for number in (axis, axis + 1, 1)]
            masks = {} if op.result.rank else {"shrink_axis_mask": 1}
            whole = value.rank == 1 and op.result.rank == 1
            replace_uses(op.result, dims if whole else tfl.strided_slice(dims, *index, **masks))
    if made:
        graph.ops = [part for op in graph.ops for part in (*made.get(op, ()), op)]


def _place(op: Op) -> tuple[Value, int] | None:
    """Return the tensor and the axis of the size that a slice of a shape is, as a scalar or a vector of one element."""
    x = operand_of(op.operands[0], "tfl.SHAPE") if op.kind == "tfl.STRIDED_SLICE" else None
    spec = SliceSpec.of(op) if x is not None else None
    entries = spec.dimensions() if spec is not None else None
    if x is None or x.shape is None or entries is None or len(entries) != 1:
        return None
    taken = _element(entries[0], len(x.shape))
    return None if taken is None else (x, taken)


def _element(entry: Take | Pick, count: int) -> int | None:
    """Return which of so many elements is taken; None if it is not known, or not one."""
    bounds = (entry.index,) if isinstance(entry, Pick) else (entry.begin, entry.end)
    if not all(bound is None or isinstance(bound, int) for bound in bounds):
        return None
    if isinstance(entry, Pick):
        return entry.index % count
    begin, end, _ = slice(entry.begin, entry.end).indices(count)
    return begin if end == begin + 1 else None
