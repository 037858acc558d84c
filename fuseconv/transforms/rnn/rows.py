"""Find the ops that take the elements of a tensor along a dimension, one each, as a model that has unrolled a recurrent
layer does: Unpack(x), or x[0], x[1], x[2], or slices of size 1 that lose this dimension by a reshape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fuseconv.ir import types
from fuseconv.ir.dims import Dim
from fuseconv.ir.graph import Graph, Op, Value
from fuseconv.ir.slice_spec import WHOLE, Entry, Insert, Pick, SliceSpec, Take
from fuseconv.tf.traits import RESHAPES, SLICES

# Ops that give an element of a sequence, or several.
TAKES_ROWS = SLICES | {"tf.Unpack"}
# Of fewer no period can be told.
FEWEST_ROWS = 3


@dataclass(frozen=True)
class Rows:
    """All elements of a tensor along an axis, in their order. ops: those that do nothing but make them, of which the
    first reads the tensor."""

    axis: int
    elements: tuple[Value, ...]
    ops: tuple[Op, ...]

    @property
    def x(self) -> Value:
        x = self.ops[0].operands[0]
        assert x is not None
        return x


def rows_of(graph: Graph) -> Iterator[Rows]:
    """Yield the tensors of which a graph takes all elements along a dimension."""
    taken: dict[tuple[Value, int], dict[int, Op]] = {}
    for op in graph.ops:
        x = op.operands[0] if op.kind in TAKES_ROWS and op.operands else None
        if x is None or x.rank not in (2, 3) or not (x.dtype.is_float or x.dtype is types.BOOL):
            continue
        if op.kind == "tf.Unpack":
            if len(op.results) >= FEWEST_ROWS:
                yield Rows(op.attrs.get("axis", 0) % x.rank, tuple(op.results), (op,))
            continue
        for axis, place in _place(op, x):
            taken.setdefault((x, axis), {}).setdefault(place, op)
    for (x, axis), ops in taken.items():
        if len(ops) == x.shape[axis] >= FEWEST_ROWS:  # type: ignore[index, operator]
            found = [_element(ops[place], x, axis) for place in range(len(ops))]
            elements = tuple(element for element, _ in found if element is not None)
            if len(elements) == len(ops):
                yield Rows(axis, elements, tuple(op for _, made in found for op in made))


def has_rows(graph: Graph) -> bool:
    """Return whether a graph takes all elements of anything."""
    return next(rows_of(graph), None) is not None


def _place(op: Op, x: Value) -> Iterator[tuple[int, int]]:
    """Yield the axis of which a slice takes one element, and its place there; nothing for another slice."""
    spec = SliceSpec.of(op)
    entries = spec.unfold(x.rank) if spec is not None and x.rank is not None else None
    if entries is None or x.shape is None or len(entries) != len(x.shape):
        return
    cut = [axis for axis, (entry, size) in enumerate(zip(entries, x.shape)) if entry != WHOLE and not _all(entry, size)]
    size = x.shape[cut[0]] if len(cut) == 1 else None
    if not isinstance(size, int):
        return
    entry = entries[cut[0]]
    first = entry.index if isinstance(entry, Pick) else entry.begin or 0 if isinstance(entry, Take) else None
    last = entry.end if isinstance(entry, Take) and entry.end is not None else size
    if not isinstance(first, int) or not isinstance(last, int) or (isinstance(entry, Take) and entry.stride != 1):
        return
    first, last = (bound + size if bound < 0 else min(bound, size) for bound in (first, last))
    if 0 <= first < size and (isinstance(entry, Pick) or last == first + 1):
        yield cut[0], first


def _all(entry: Entry, size: Dim) -> bool:
    return not isinstance(entry, Insert) and entry.takes_all(size)


def _element(op: Op, x: Value, axis: int) -> tuple[Value | None, tuple[Op, ...]]:
    """Return the element that a slice takes, without its dimension, and the ops that make it."""
    shape = x.shape[:axis] + x.shape[axis + 1 :]  # type: ignore[index]
    if op.result.shape == shape:
        return op.result, (op,)
    made = next((r for r in op.result.uses if r.kind in RESHAPES and r.result.shape == shape), None)
    return (None, ()) if made is None else (made.result, (op, made))
