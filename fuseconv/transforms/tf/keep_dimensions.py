"""Let reductions keep their dimensions, as size 1, where all that comes of them gets these dimensions back.

    Reshape(Rsqrt(AddV2(Mean(x), 1e-6)), [n, 1])  ->  Rsqrt(AddV2(Mean(x, keep_dims=True), 1e-6))
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Op, Value, detach, replace_uses
from fuseconv.ir.rewriter import erase_ops
from fuseconv.tf.operands import added_units, content_of
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import REDUCTIONS, RESHAPES

_ELEMENTWISE = frozenset(f"tf.{name}" for name in (*UNARY, *BINARY))


def keep_dimensions(graph: Graph) -> bool:
    """Let reductions keep their dimensions where all reshapes behind them put these back; return whether any does."""
    seen: set[Op] = set()
    dead: list[Op] = []
    for op in graph.ops:
        if op.kind in REDUCTIONS and op not in seen and not op.attrs.get("keep_dims") and op.result.uses:
            shape = kept_shape(op)
            if shape is not None and op.result.shape is not None:
                group = _Group(op.result.shape, shape, seen)
                if group.holds(op):
                    group.keep()
                    dead += group.reshapes
    _erase_chains(graph, dead)
    return bool(dead)


def kept_shape(op: Op) -> Shape | None:
    """Return the shape of a reduction's operand with 1 for each dimension that it reduces; None if it is not known."""
    value, axes = op.operands
    assert value is not None and axes is not None
    along = content_of(axes)
    if along is None or value.shape is None:
        return None
    reduced = {int(axis) % len(value.shape) for axis in np.reshape(along, -1)}
    return tuple(1 if axis in reduced else size for axis, size in enumerate(value.shape))


class _Group:
    """Reductions, and what is computed of them element by element: values of one shape, which are to have another.

    seen: ops that belong to a group, or to none."""

    def __init__(self, shape: Shape, kept: Shape, seen: set[Op]) -> None:
        self.shape, self.kept, self.seen = shape, kept, seen
        self.ops: dict[Op, None] = {}
        self.reshapes: dict[Op, Value] = {}  # what puts the dimensions back, and of which value

    def holds(self, first: Op) -> bool:
        """Collect the ops; return whether reshapes are all that reads them."""
        pending = [first]
        while pending:
            op = pending.pop()
            if op in self.seen:
                if op not in self.ops:
                    return False
                continue
            self.seen.add(op)
            if not self.takes(op):
                return False
            self.ops[op] = None
            if op.kind in _ELEMENTWISE:
                pending += [value.op for value in op.operands if value is not None and value.op is not None]
            for reader in op.result.uses:
                ends = self.ends(op.result, reader)
                self.reshapes.update(dict.fromkeys(ends, op.result))
                if not ends:
                    pending.append(reader)
        return bool(self.reshapes)

    def ends(self, value: Value, reader: Op) -> list[Op]:
        """Return the reshapes that put a value's dimensions back: a reader, or those behind it if it puts some back;
        none if anything else reads these."""
        if reader.kind not in RESHAPES or reader.operands[0] is not value or reader.result.shape is None:
            return []
        if reader.result.shape == self.kept:
            return [reader]
        if len(reader.result.shape) >= len(self.kept) or not added_units(self.shape, reader.result.shape):
            return []
        behind = [self.ends(reader.result, each) for each in reader.result.uses]
        return [end for ends in behind for end in ends] if all(behind) else []

    def takes(self, op: Op) -> bool:
        """Return whether an op may make a value of the group."""
        if len(op.results) != 1 or op.result.shape != self.shape:
            return False
        if op.kind in REDUCTIONS:
            return not op.attrs.get("keep_dims") and kept_shape(op) == self.kept
        return op.kind in _ELEMENTWISE and all(value is not None and _is_made(value) for value in op.operands)

    def keep(self) -> None:
        for op in self.ops:
            if op.kind in REDUCTIONS:
                op.attrs["keep_dims"] = True
            op.result.shape, op.result.content = self.kept, None
        for reshape, value in self.reshapes.items():
            replace_uses(reshape.result, value)


def _erase_chains(graph: Graph, ends: list[Op]) -> None:
    """Erase reshapes that nothing reads, and those before them: these tell of shapes that are gone."""
    dead: set[Op] = set()
    for end in ends:
        op: Op | None = end
        while op is not None and op.kind in RESHAPES and not op.result.uses and op not in dead:
            before = op.operands[0]
            detach(op)
            dead.add(op)
            op = before.op if before is not None else None
    erase_ops(graph, dead)


def _is_made(value: Value) -> bool:
    """Return whether a value is a scalar constant, or an op's result, which is then to be in the group."""
    return value.op is not None or (value.is_const and value.rank == 0)


__all__ = ["keep_dimensions", "kept_shape"]
