"""Vectorize superwords (SLP): isomorphic ops on the elements of a sequence become one op on all elements.

    %a = FULLY_CONNECTED(x[0], w); %b = FULLY_CONNECTED(x[1], w); PACK(%a, %b)
    ->  RESHAPE(FULLY_CONNECTED(RESHAPE(x, [2 * batch, n]), w), [2, batch, m])

The pass starts at a PACK and grows a tree from it toward the operands: at each node stand the ops of all steps, which
must be of one kind. The tree ends where its ops read elements 0, 1, ... of one sequence, or values that all share.

Keras' TimeDistributed writes a layer, or a whole model, once for each step, between two transposes of steps and batch,
which are not needed then. No delegate takes the slices.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, replace_uses
from fuseconv.ir.rewriter import Speculative, erase_ops
from fuseconv.ir.terms import op_of
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder, with_shape
from fuseconv.tfl.slice_rules import Part, needs
from fuseconv.transforms.tfl.bubble_up_slices import slice_part

# An element of the batch that ops are to keep apart from the others.
_ROW = Part(0, 0, 1)


class _Source(NamedTuple):
    """A sequence: a value, and the dimension of its steps; the batch is the other one of the first two."""

    value: Value
    axis: int


class _Tree:
    """The tree of isomorphic ops that makes the operands of a PACK, one op for each step at each node.

    ops: of each step, in lockstep. source: of what they read one element each. is_vectorizable: whether the steps are
    the same throughout."""

    def __init__(self, pack: Op) -> None:
        self.pack = pack
        self.axis = int(pack.attrs.get("axis", 0))
        self.ops: list[tuple[Op, ...]] = []
        self.source: _Source | None = None
        self.slices: dict[Op, None] = {}
        self.seen: set[tuple[Value, ...]] = set()
        self.is_vectorizable = self.axis in (0, 1) and self._grow(tuple(pack.operands)) and bool(self.ops)  # type: ignore[arg-type]

    def _grow(self, values: tuple[Value, ...]) -> bool:
        """Grow the tree by the ops that make these values, one for each step, and by what they read; return False if
        they differ."""
        if values in self.seen:
            return True
        self.seen.add(values)
        if self._is_sequence(values):
            return True
        ops = tuple(value.op for value in values if value.op is not None)
        first = ops[0] if ops else None
        if first is None or len(set(ops)) != len(values) or any(not _is_isomorphic(op, first) for op in ops):
            return False
        wanted = needs(first, _ROW) if first.result.shape else None
        if wanted is None:
            return False
        for index, part in enumerate(wanted):
            operands = tuple(op.operands[index] for op in ops)
            if part is None or operands[0] is None or operands[0].is_const:
                if not _is_uniform(operands) or not _broadcasts_to_rows(operands[0], part):
                    return False
            elif part != _ROW or None in operands or not self._grow(operands):  # type: ignore[arg-type]
                return False
        self.ops.append(ops)
        return True

    def _is_sequence(self, values: tuple[Value, ...]) -> bool:
        """Return whether these are the elements of a sequence, in their order."""
        elements = [_element(value) for value in values]
        source = elements[0][0] if elements[0] else None
        if source is None or source.axis != self.axis or self.source not in (None, source):
            return False
        steps = source.value.shape[source.axis]  # type: ignore[index]
        if steps != len(values) or elements != [(source, place) for place in range(len(values))]:
            return False
        self.source = source
        self.slices.update((value.op, None) for value in values if value.op is not None)
        return True

    @property
    def inner(self) -> set[Op]:
        return {op for ops in self.ops for op in ops}

    @property
    def is_private(self) -> bool:
        """Return whether nobody outside of the tree reads its values."""
        readers = self.inner | {self.pack}
        return all(reader in readers for op in self.inner for reader in op.result.uses)


@module_pass("slp-vectorize", requires=(TFL_ONLY,))
def slp_vectorize(module: Module) -> bool:
    """Compute equal ops of all steps at once: PACK(f(x[0]), f(x[1])) -> f(x). Returns whether any were."""
    changed = False
    for graph in module.graphs():
        for pack in [op for op in graph.ops if op.kind == "tfl.PACK" and len(op.operands) > 1]:
            tree = _Tree(pack)
            if tree.is_vectorizable and tree.source is not None and tree.is_private:
                with Speculative() as trial:
                    back = _vectorize(tree, trial.ops)
                    if back is not None:
                        trial.keep()
                        _replace(graph, tree, back, trial.ops)
                        changed = True
    return changed


def _vectorize(tree: _Tree, out: list[Op]) -> Value | None:
    """Build the ops on all steps in `out`; return what stands for the PACK, None if a shape cannot be written."""
    pack, source = tree.pack, tree.source
    assert source is not None and source.value.shape is not None
    count = len(pack.operands)
    tfl = Builder(out, pack.name, _sources(tree.slices))
    x, swapped = source.value, _before_swap(source)
    if swapped is not None:
        # The order of rows does not matter to the ops.
        x = swapped
    rows = _reshape(tfl, x, (x.shape[0] * x.shape[1], *x.shape[2:]))  # type: ignore[index]
    if rows is None:
        return None
    united = {value: rows for op in tree.slices for value in op.results}
    for ops in tree.ops:
        first = ops[0]
        shape = first.result.shape
        shape = (shape[0] * count, *shape[1:])  # type: ignore[index]
        operands = [united.get(value, value) if value is not None else None for value in first.operands]
        if first.type == "RESHAPE":
            sizes = Builder([]).static_shape(shape)
            if sizes is None:
                return None
            operands[1] = constant(np.array(sizes, np.int32))
        op = Op(first.kind, operands, dict(first.attrs), first.name, _sources(ops))
        united[first.result] = op.add_result(first.result.dtype, shape, first.result.name)
        out.append(op)
    tfl.sources = pack.sources
    last = united[pack.operands[0]]  # type: ignore[index]
    back = _reshape(tfl, last, (*x.shape[:2], *last.shape[1:]))  # type: ignore[index]
    if back is not None and swapped is not None:
        back = tfl.transpose(back, [1, 0, *range(2, len(back.shape))])  # type: ignore[arg-type]
    return back


def _replace(graph: Graph, tree: _Tree, back: Value, made: list[Op]) -> None:
    """Put the ops on all steps in the place of the PACK and of those on each step."""
    replace_uses(tree.pack.result, back)
    place = graph.ops.index(tree.pack)
    graph.ops[place:place] = made
    erase_ops(graph, {tree.pack, *tree.inner})
    erase_ops(graph, {op for op in tree.slices if not any(result.uses for result in op.results)})


def _element(value: Value) -> tuple[_Source, int] | None:
    """Return the sequence that a value is an element of, and its place there."""
    op = value.op
    x = op.operands[0] if op is not None and op.operands else None
    if op is None or x is None or not x.shape:
        return None
    if op.kind == "tfl.UNPACK":
        return _Source(x, int(op.attrs.get("axis", 0)) % len(x.shape)), value.index
    part = slice_part(op)
    if part is None or value.shape is None or len(value.shape) == len(x.shape):
        return None
    return _Source(x, part.axis), part.begin


def _before_swap(source: _Source) -> Value | None:
    """Return what the sequence was before steps and batch changed places."""
    op = op_of(source.value, "tfl.TRANSPOSE")
    if source.axis != 0 or op is None or op.operands[1] is None:
        return None
    perm = op.operands[1].data
    if perm is None or perm.tolist() != [1, 0, *range(2, len(perm))]:
        return None
    return op.operands[0]


def _is_isomorphic(op: Op, first: Op) -> bool:
    """Return whether the op has the kind, the attributes and the shape of the first, and makes one plain tensor."""
    plain = len(op.results) == 1 and op.result.content is None and op.result.quantization is None
    same = op.kind == first.kind and op.attrs == first.attrs and len(op.operands) == len(first.operands)
    return plain and same and not op.result.variable and op.result.shape == first.result.shape


def _is_uniform(values: tuple[Value | None, ...]) -> bool:
    """Return whether the values are one, or constants of the same elements."""
    first = values[0]
    for value in values[1:]:
        if value is not first:
            if value is None or first is None or value.data is None or first.data is None:
                return False
            if value.data is not first.data and not np.array_equal(value.data, first.data):
                return False
    return True


def _broadcasts_to_rows(value: Value | None, part: Part | None) -> bool:
    """Return whether what all steps read is broadcast to more rows too."""
    return part is None or value is None or not value.shape or value.shape[0] == 1


def _sources(ops: Iterable[Op]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for op in ops for name in op.sources))


def _reshape(tfl: Builder, value: Value, shape: Shape) -> Value | None:
    sizes = tfl.static_shape(shape)
    if sizes is None:
        return None
    return with_shape(tfl.reshape(value, sizes), shape)
