"""Replace PACK of sizes that are read off shapes -> CONCATENATION of slices of the shapes: shapes that are known before
a run.

The runtime computes SHAPE, its slices and what CONCATENATION makes of them as it allocates tensors, but PACK only as it
runs. What is sized by a vector of PACK's (FILL, RESHAPE, TILE) is of dynamic size, and all ops behind are prepared in
the midst of a run. That costs time on each run, and gives wrong results. When a loop's body, or anything else, is
prepared in a run, XNNPACK may move the memory that its parts of the model share. It points the parts that ran before to
the new place, but leaves their inputs and outputs where they were in their last run. Where the runtime has moved these
too, the new place may be the old one of an input. Then a copy (RESHAPE, SPLIT, CONCATENATION) seems to copy a tensor to
itself, and is left out from then on.
"""

from __future__ import annotations

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.graph import Graph, Module, Op, Value
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder


@module_pass("pack-to-concat", requires=(TFL_ONLY,), kinds=("tfl.PACK",))
def pack_to_concat(module: Module) -> None:
    """Join sizes without PACK: PACK(SHAPE(x)[i], n) -> CONCATENATION(SHAPE(x)[i:i+1], [n])."""
    for graph in module.graphs():
        join_sizes(graph)


def join_sizes(graph: Graph) -> None:
    """Join what was packed of sizes and numbers. Ops that nothing reads are left."""
    rewrite_ops(graph, ("tfl.PACK",), lambda op, out: None if _sizes_state(op) else joined(op, out))


def joined(op: Op, out: list[Op]) -> list[Value] | None:
    """Return what PACK of sizes and numbers becomes; None if it packs something else."""
    places = [_place(value) for value in op.operands]
    known = all(place or value.is_const for place, value in zip(places, op.operands))  # type: ignore[union-attr]
    if not any(places) or not known:
        return None
    tfl = Builder(out, op.name, op.sources)
    parts = _merged(tfl, _parts(tfl, places, op.operands))  # type: ignore[arg-type]
    return [parts[0] if len(parts) == 1 else tfl.concatenation(*parts, axis=0)]


def _sizes_state(op: Op) -> bool:
    """Return whether a variable tensor is made, of which `presize_states` decides: behind a tensor of dynamic size it
    must be one, too."""
    return any(result.variable for reader in op.result.uses for result in reader.results)


def _place(value: Value | None) -> tuple[Value, int] | None:
    """Return the result of SHAPE, and the place in it, that a scalar is read from."""
    op = value.op if value is not None and value.rank == 0 else None
    spec = SliceSpec.of(op)
    picked = spec.picked() if spec is not None else None
    shape = op.operands[0] if op is not None and picked is not None else None
    if shape is None or op_of(shape, "tfl.SHAPE") is None or picked is None:
        return None
    if not isinstance(picked[1], int) or shape.shape is None or not isinstance(shape.shape[0], int):
        return None
    return shape, picked[1] % shape.shape[0]


def _parts(tfl: Builder, places: list[tuple[Value, int] | None], values: list[Value]) -> list[Value]:
    """Return the scalars as vectors: of one element each, and one of those that stand side by side in a shape."""
    parts: list[Value] = []
    index = 0
    while index < len(values):
        place, count = places[index], 1
        if place is None:
            number = values[index]
            assert number.data is not None
            parts.append(tfl.const(number.data.reshape(1), number.dtype))
        else:
            shape, first = place
            while index + count < len(values) and _is_at(places[index + count], shape, first + count):
                count += 1
            whole = count == shape.shape[0]  # type: ignore[index]
            parts.append(shape if whole else tfl.strided_slice(shape, [first], [first + count], [1]))
        index += count
    return parts


def _is_at(place: tuple[Value, int] | None, shape: Value, at: int) -> bool:
    """Return whether the place is in the same shape; it may be read more than once."""
    if place is None or place[1] != at or place[0].dtype is not shape.dtype:
        return False
    return place[0] is shape or place[0].op.operands[0] is shape.op.operands[0]  # type: ignore[union-attr]


def _merged(tfl: Builder, parts: list[Value]) -> list[Value]:
    """Return the vectors, of which neighbors that are constants are one."""
    merged: list[Value] = []
    for part in parts:
        if merged and part.is_const and merged[-1].is_const:
            merged[-1] = tfl.const(np.concatenate([merged[-1].data, part.data]), part.dtype)  # type: ignore[list-item]
        else:
            merged.append(part)
    return merged
