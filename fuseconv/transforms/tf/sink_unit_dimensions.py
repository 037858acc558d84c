"""Sink dimensions of size 1 below ops that do not need them: f(ExpandDims(x)) -> ExpandDims(f(x)).

JAX adds such dimensions where it maps a function over a batch, groups the heads of an attention or gathers rows.
Without them a transposition is often none, and a softmax or a product of matrices has the form that fusions know.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np

from fuseconv.ir.dims import Shape, open_sizes
from fuseconv.ir.graph import Graph, Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.ir.slice_spec import SliceSpec
from fuseconv.pass_manager import module_pass
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import added_units, content_of
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import REDUCTIONS, RESHAPES

_ELEMENTWISE = frozenset(f"tf.{name}" for name in (*UNARY, *BINARY, "SelectV2"))


class _Core(NamedTuple):
    """A value without some dimensions of size 1, and where these stand: of ExpandDims(x, 1) x and {1}."""

    value: Value
    units: frozenset[int]


_Rule = Callable[["_Sinking", Op, TfBuilder], "_Core | None"]


@module_pass("sink-unit-dimensions")
def sink_unit_dimensions(module: Module) -> bool:
    """Compute without added dimensions of size 1: Mul(ExpandDims(x), 2) -> ExpandDims(Mul(x, 2)).

    Transpose(ExpandDims(x)) -> ExpandDims(x) where it moves no other dimension. Requires inferred shapes; dead ops
    stay. Returns whether anything changed."""
    changed = [_Sinking().run(graph) for graph in module.graphs()]
    return any(changed)


class _Sinking:
    """The walk over a graph. cores: of the values that are known to have dimensions of size 1 that they need not."""

    def __init__(self) -> None:
        self.cores: dict[Value, _Core] = {}

    def run(self, graph: Graph) -> bool:
        return rewrite_ops(graph, _RULES.keys(), self.rewrite)

    def rewrite(self, op: Op, out: list[Op]) -> list[Value] | None:
        """Rewrite an op on values with cores: f(ExpandDims(x)) -> ExpandDims(f(x)). A reshape that adds dimensions of
        size 1 stays, and its result has a core from then on."""
        if op.kind not in RESHAPES and self.cores.keys().isdisjoint(op.operands):
            return None
        shape = op.result.shape
        core = _RULES[op.kind](self, op, TfBuilder(out, op)) if shape is not None else None
        if core is None:
            return None
        assert shape is not None
        if op.kind in RESHAPES and core.units and core.value is op.operands[0]:
            self.cores[op.result] = core
            return None
        made = _restored(TfBuilder(out, op), core, shape)
        if core.units:
            self.cores[made] = core
        return [made]

    def reshape(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Look through a reshape that adds or drops dimensions of size 1."""
        x = op.operands[0]
        core = self.cores[x].value if x in self.cores else x
        assert core is not None
        units = added_units(core.shape, op.result.shape)  # type: ignore[arg-type]
        if units is None or (not units and x not in self.cores):
            return None
        return _Core(core, units)

    def elementwise(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Drop the dimensions of size 1 that no operand needs: Add(ExpandDims(x, 1), [[5]]) -> Add(x, [5])."""
        rank = len(op.result.shape)  # type: ignore[arg-type]
        return self.units_dropped(op, tf, self.droppable, rank) or self.units_dropped(op, tf, self.alike, 1)

    def units_dropped(
        self, op: Op, tf: TfBuilder, droppable: Callable[[Value], Collection[int]], most: int
    ) -> _Core | None:
        """Drop the dimensions of size 1, so many at most, that each operand may drop by itself, or lacks."""
        rank = len(op.result.shape)  # type: ignore[arg-type]
        units = {axis for axis, size in enumerate(op.result.shape or ()) if size == 1}
        for value in op.operands:
            assert value is not None
            if value.shape is None:
                return None
            offset = rank - len(value.shape)
            units &= {*range(offset), *(axis + offset for axis in droppable(value))}
        if not 0 < len(units) <= most:
            return None
        dropped = [
            (value, frozenset(axis - rank + len(value.shape) for axis in units if axis >= rank - len(value.shape)))
            for value in op.operands if value is not None and value.shape is not None
        ]  # fmt: skip
        if not any(value in self.cores and self.cores[value].units == axes for value, axes in dropped):
            return None
        operands = [self.without(value, axes, tf) for value, axes in dropped]
        shape = _without(op.result.shape, units)
        return _Core(tf.add(op.type, operands, dict(op.attrs), op.result.dtype, shape), frozenset(units))

    def droppable(self, value: Value) -> Collection[int]:
        """Return the dimensions of a value that it need not have."""
        if value.is_const:
            return [axis for axis, size in enumerate(value.shape or ()) if size == 1]
        return self.cores[value].units if value in self.cores else ()

    def alike(self, value: Value) -> Collection[int]:
        """Return the dimensions of a value of which it need not have one: each of [1, 1, 4], if [1, 4] will do."""
        core = self.cores.get(value)
        if core is None or len(core.units) != 1:
            return self.droppable(value)
        return [axis for axis in range(len(value.shape or ())) if _without(value.shape, {axis}) == core.value.shape]

    def without(self, value: Value, units: frozenset[int], tf: TfBuilder) -> Value:
        """Return a value without some of its dimensions."""
        if not units:
            return value
        if value.is_const:
            assert value.data is not None
            return constant(np.squeeze(value.data, tuple(units)), value.dtype, value.name)
        core = self.cores[value]
        if _without(value.shape, units) == core.value.shape:
            return core.value
        kept = [axis for axis in range(len(value.shape or ())) if axis not in units]
        again = frozenset(place for place, axis in enumerate(kept) if axis in core.units)
        return _restored(tf, _Core(core.value, again), _without(value.shape, units))

    def transpose(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Move the dimensions of the core alone; nothing, if these stay in their order."""
        order = content_of(op.operands[1])
        if order is None:
            return None
        core = self.cores[op.operands[0]]  # type: ignore[index]
        kept = [int(axis) for axis in np.reshape(order, -1) if int(axis) not in core.units]
        units = frozenset(place for place, axis in enumerate(np.reshape(order, -1)) if int(axis) in core.units)
        if kept == sorted(kept):
            return _Core(core.value, units)
        ranks = {axis: rank for rank, axis in enumerate(sorted(kept))}
        operands = [core.value, tf.ints([ranks[axis] for axis in kept])]
        shape = _without(op.result.shape, units)
        return _Core(tf.add("Transpose", operands, {}, op.result.dtype, shape), units)

    def reduction(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Reduce the dimensions of the core alone; over one of size 1 there is nothing to reduce."""
        x, along = op.operands[0], content_of(op.operands[1])
        if x not in self.cores or along is None:
            return None
        assert x is not None and x.shape is not None
        core, rank = self.cores[x], len(x.shape)
        axes = {int(axis) % rank for axis in np.reshape(along, -1)}
        keeps = bool(op.attrs.get("keep_dims"))
        left = [axis for axis in range(rank) if keeps or axis not in axes]
        units = frozenset(place for place, axis in enumerate(left) if axis in core.units)
        inner = [axis for axis in range(rank) if axis not in core.units]
        reduced = [inner.index(axis) for axis in sorted(axes - core.units)]
        if not reduced:
            return _Core(core.value, units)
        shape = _without(op.result.shape, units)
        made = tf.add(op.type, [core.value, tf.ints(reduced)], dict(op.attrs), op.result.dtype, shape)
        return _Core(made, units)

    def slice(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Slice the core, where the dimensions of size 1 are taken whole: ExpandDims(x, 0)[:, :4] -> x[:4]."""
        core, spec = self.cores[op.operands[0]], SliceSpec.of(op)  # type: ignore[index]
        takes = spec.takes() if spec is not None else None
        if takes is None or len(takes) != len(op.result.shape):  # type: ignore[arg-type]
            return None
        kept = tuple(take for axis, take in enumerate(takes) if axis not in core.units)
        bounds = [bound for take in kept for bound in (take.begin, take.end)]
        if not all(bound is None or isinstance(bound, int) for bound in bounds):
            return None
        if not all(takes[axis].takes_all(1) for axis in core.units):
            return None
        *operands, masks = SliceSpec(kept).operands()
        shape = _without(op.result.shape, core.units)
        ints = [tf.ints(each) for each in operands]  # type: ignore[arg-type]
        return _Core(tf.add("StridedSlice", [core.value, *ints], masks, op.result.dtype, shape), core.units)

    def join(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Join the cores, where all need the same dimensions of size 1 not; pack what is joined along such a one:
        ConcatV2(ExpandDims(x), ExpandDims(y)) -> Pack(x, y)."""
        *values, along = op.operands
        axis, rank = content_of(along), len(op.result.shape)  # type: ignore[arg-type]
        # Sizes and indices are known, and have fewer ops, as vectors that are joined.
        if axis is None or not op.result.dtype.is_float or not all(v is not None and v in self.cores for v in values):
            return None
        unit = int(axis) % rank
        shared = frozenset.intersection(*(self.cores[v].units for v in values))  # type: ignore[index]
        if unit in shared:
            parts = [self.without(v, frozenset({unit}), tf) for v in values if v is not None]
            return _Core(tf.add("Pack", parts, {"axis": unit}, op.result.dtype, op.result.shape), frozenset())
        if not shared:
            return None
        parts = [self.without(v, shared, tf) for v in values if v is not None]
        place = tf.ints(sum(other not in shared for other in range(unit)))
        shape = _without(op.result.shape, shared)
        return _Core(tf.add("ConcatV2", [*parts, place], dict(op.attrs), op.result.dtype, shape), shared)

    def product(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Multiply the rows of the core by a matrix: BatchMatMulV2(ExpandDims(x, 1), w) -> MatMul(x, w)."""
        x, weights = op.operands
        core = self.cores.get(x)  # type: ignore[arg-type]
        if core is None or weights is None or weights.rank != 2 or set(op.attrs) - {"adj_y"}:
            return None
        rank, inner = len(op.result.shape or ()), core.value.rank or 0
        if inner < 2 or rank - 1 in core.units:
            return None
        kind, flag = ("MatMul", "transpose_b") if inner == 2 else (op.type, "adj_y")
        attrs = {flag: True} if op.attrs.get("adj_y") else {}
        shape = _without(op.result.shape, core.units)
        return _Core(tf.add(kind, [core.value, weights], attrs, op.result.dtype, shape), core.units)

    def einsum(self, op: Op, tf: TfBuilder) -> _Core | None:
        """Drop the letters of dimensions of size 1."""
        sides = op.attrs.get("equation", "").replace(" ", "").split("->")
        if len(sides) != 2 or "." in sides[0]:
            return None
        terms, result = sides[0].split(","), sides[1]
        if any(len(set(term)) != len(term) for term in (*terms, result)):
            return None
        operands: list[Value] = []
        for place, (value, term) in enumerate(zip(op.operands, terms)):
            core = self.cores.get(value)  # type: ignore[arg-type]
            operands.append(value if core is None else core.value)  # type: ignore[arg-type]
            if core is not None:
                terms[place] = "".join(letter for axis, letter in enumerate(term) if axis not in core.units)
        left = "".join(letter for letter in result if any(letter in term for term in terms))
        if not left or not all(terms):
            return None
        units = frozenset(place for place, letter in enumerate(result) if letter not in left)
        equation = f"{','.join(terms)}->{left}"
        shape = _without(op.result.shape, units)
        return _Core(tf.add("Einsum", operands, {**op.attrs, "equation": equation}, op.result.dtype, shape), units)


def _without(shape: Shape | None, units: Collection[int]) -> Shape:
    """Return a shape without these dimensions."""
    return tuple(size for axis, size in enumerate(shape or ()) if axis not in units)


def _restored(tf: TfBuilder, core: _Core, shape: Shape) -> Value:
    """Return the value of a core with its dimensions of size 1, of this shape: core -> Reshape(core)."""
    if not core.units:
        return core.value
    sizes = open_sizes(shape)
    # Beside a size of 0, a -1 could be any.
    if -1 not in sizes or (sizes.count(-1) == 1 and 0 not in sizes):
        return tf.add("Reshape", [core.value, tf.ints(sizes)], {}, core.value.dtype, shape)
    made = core.value
    for axis in sorted(core.units):
        made = tf.ExpandDims(made, axis)
        made.shape = (*made.op.operands[0].shape[:axis], 1, *made.op.operands[0].shape[axis:])  # type: ignore
    return made


_RULES: dict[str, _Rule] = {
    **dict.fromkeys(_ELEMENTWISE, _Sinking.elementwise), **dict.fromkeys(RESHAPES, _Sinking.reshape),
    **dict.fromkeys(REDUCTIONS, _Sinking.reduction), "tf.ConcatV2": _Sinking.join, "tf.Einsum": _Sinking.einsum,
    "tf.BatchMatMulV2": _Sinking.product, "tf.StridedSlice": _Sinking.slice, "tf.Transpose": _Sinking.transpose,
}  # fmt: skip
