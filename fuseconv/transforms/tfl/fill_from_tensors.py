"""Make tensors of one number from tensors at hand: FILL(sizes, 0): [6, n, 4], and x: [6, n, 4] -> ZEROS_LIKE(x).

Of a dynamic batch, the zeros that a loop begins with take their sizes from SHAPE, a slice and a CONCATENATION for each
shape. What the loop reads mostly has these sizes: zeros like it, a slice of those and a sum that broadcasts them are an
op each. The runtime knows the sizes of all these as early as those of FILL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fuseconv.facts import TFL_ONLY
from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Shape
from fuseconv.ir.graph import Graph, Module, Op, Value, replace_uses
from fuseconv.ir.rewriter import Speculative, has_kind
from fuseconv.ir.types import DType
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder

_KINDS = frozenset({"tfl.FILL"})
# What sizes are made with, and nothing else if nobody else reads it.
_SIZES = frozenset({"tfl.SHAPE", "tfl.STRIDED_SLICE", "tfl.SLICE", "tfl.GATHER", "tfl.CONCATENATION", "tfl.PACK"})
# Those of ZEROS_LIKE.
_TYPES = frozenset({types.FLOAT32, types.INT32, types.INT64})
# The ranks that STRIDED_SLICE takes, and a sum that broadcasts in every version of the runtime.
_MOST_SLICED, _MOST_ADDED = 5, 4
# Zeros are no reason for a large constant.
_MOST_ELEMENTS = 256
# STRIDED_SLICE copies row by row: more of them, of a known number, take longer than what sizes are made with.
_MOST_ROWS = 64
_WHOLE, _FIRST = -1, 0


@module_pass("fill-from-tensors", requires=(TFL_ONLY,), kinds=_KINDS)
def fill_from_tensors(module: Module) -> bool:
    """Make zeros of the sizes of a tensor at hand: FILL(CONCATENATION(SHAPE(x)[0:1], 4), 0), z: [n,4] -> ZEROS_LIKE(z).

    So it is with other numbers, and other shapes that a slice or a broadcast makes of such zeros; with all FILLs of a
    graph at once, if that takes fewer ops."""
    changed = False
    for graph in module.graphs():
        if has_kind(graph, _KINDS):
            with Speculative() as trial:
                if _Filling(graph, trial.ops).run():
                    trial.keep()
                    changed = True
    return changed


class _Filling:
    """The FILLs of a graph.

    at_hand: the last tensor before the op that is looked at, by type and shape.
    built: the ops that take the place of all FILLs. zeros: the zeros that they make, by type and shape.
    made: what stands for the result of each FILL."""

    def __init__(self, graph: Graph, built: list[Op]) -> None:
        self.graph = graph
        self.built = built
        self.at_hand: dict[tuple[DType, Shape], Value] = {}
        self.zeros: dict[tuple[DType, Shape], Value] = {}
        self.made: dict[Op, Value] = {}

    def run(self) -> bool:
        """Replace what can be, if that takes fewer ops; return whether it does."""
        ops = [*self.graph.ops, self.graph.terminator]
        fills = {op for op in self.graph.ops if _is_fill(op)}
        if not fills:
            return False
        number = {op: index for index, op in enumerate(ops)}
        due: dict[Op, list[Op]] = {}
        for fill in sorted(fills, key=number.__getitem__):
            due.setdefault(min(fill.result.uses, key=number.__getitem__, default=fill), []).append(fill)
        self._note(self.graph.inputs)
        out: list[Op] = []
        for op in ops:
            begin = len(self.built)
            # First those like a tensor at hand: others may be made of them.
            for fill in sorted(due.get(op, ()), key=lambda fill: not self._is_at_hand(fill.result)):
                self._fill(fill)
            out += [*self.built[begin:], op]
            if op not in fills:
                self._note(op.results)
        if len(self.built) >= len(_unread([*self.made])):
            return False
        for fill, value in self.made.items():
            replace_uses(fill.result, value)
        self.graph.ops = out[:-1]
        return True

    def _is_at_hand(self, value: Value) -> bool:
        return (value.dtype, value.shape) in self.at_hand

    def _note(self, values: Sequence[Value]) -> None:
        for value in values:
            if value.shape is not None and not value.is_static and not value.variable and value.quantization is None:
                self.at_hand[value.dtype, value.shape] = value

    def _fill(self, fill: Op) -> None:
        """Build what stands for a FILL, in the way that takes the fewest ops."""
        dtype, shape, number = fill.result.dtype, fill.result.shape, fill.operands[1].data.item()  # type: ignore[union-attr]
        assert shape is not None
        tfl = Builder(self.built, fill.name, fill.sources)
        zeros = self._zeros(tfl, dtype, shape)
        if zeros is None:
            for (other, have), made in self.zeros.items():
                spread = _spread(have, shape) if other is dtype else None
                if spread is not None:
                    self.made[fill] = _add(tfl, made, np.full(spread, number, dtype.numpy), shape)
                    return
            part = _sliced(tfl, self.at_hand, dtype, shape)
            if part is None:
                return
            zeros = self._like(tfl, part, shape)
        self.made[fill] = _add(tfl, zeros, np.array(number, dtype.numpy), shape) if number else zeros

    def _zeros(self, tfl: Builder, dtype: DType, shape: Shape) -> Value | None:
        """Return zeros that are made already, or that one op makes of such or of a tensor at hand."""
        key = dtype, shape
        if key not in self.zeros:
            if key in self.at_hand:
                return self._like(tfl, self.at_hand[key], shape)
            part = _sliced(tfl, self.zeros, dtype, shape)
            if part is None:
                return None
            self.zeros[key] = part
        return self.zeros[key]

    def _like(self, tfl: Builder, x: Value, shape: Shape) -> Value:
        (made,) = tfl.typed_op("ZEROS_LIKE", [x], [(x.dtype, shape)], {})
        self.zeros[x.dtype, shape] = made
        return made


def _is_fill(op: Op) -> bool:
    """Return whether an op fills a tensor of unknown sizes, no state, with a number that sums of zeros make."""
    if op.kind not in _KINDS or op.result.is_static or op.result.shape is None or op.result.dtype not in _TYPES:
        return False
    number = op.operands[1]
    if number is None or number.data is None or op.result.variable or op.result.quantization is not None:
        return False
    value = number.data.item()
    return math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)


def _sliced(tfl: Builder, values: dict[tuple[DType, Shape], Value], dtype: DType, shape: Shape) -> Value | None:
    """Return a slice of this type and shape of one of some values, the last of them if there are several."""
    for (other, have), value in reversed(values.items()):
        taken = _taken(have, shape) if other is dtype and len(have) <= _MOST_SLICED else None
        if taken is not None and _rows(have, taken) <= _MOST_ROWS:
            whole = sum(1 << axis for axis, size in enumerate(taken) if size == _WHOLE)
            first = sum(1 << axis for axis, size in enumerate(taken) if size == _FIRST)
            ends = [1 if size == _FIRST else max(size, 0) for size in taken]
            numbers = [np.array(each, np.int32) for each in ([0] * len(taken), ends, [1] * len(taken))]
            attrs = {"begin_mask": whole, "end_mask": whole, "shrink_axis_mask": first}
            attrs = {name: mask for name, mask in attrs.items() if mask}
            operands = [value, *map(tfl.const, numbers)]
            (made,) = tfl.typed_op("STRIDED_SLICE", operands, [(dtype, shape)], attrs)
            return made
    return None


def _rows(have: Shape, taken: list[int]) -> int:
    """Return how many pieces a slice copies for each unknown size."""
    sizes = [size if count == _WHOLE else count or 1 for size, count in zip(have, taken)]
    return math.prod(size for size in sizes[:-1] if isinstance(size, int))


def _add(tfl: Builder, zeros: Value, number: np.ndarray, shape: Shape) -> Value:
    (made,) = tfl.typed_op("ADD", [zeros, tfl.const(number, zeros.dtype)], [(zeros.dtype, shape)], {})
    return made


def _spread(have: Shape, want: Shape) -> list[int] | None:
    """Return the sizes of a small constant that broadcasts zeros of a shape to another; None if there is none."""
    if not len(have) <= len(want) <= _MOST_ADDED:
        return None
    spread = []
    for mine, size in zip((1,) * (len(want) - len(have)) + have, want):
        if mine == size:
            spread.append(1)
        elif mine == 1 and isinstance(size, int):
            spread.append(size)
        else:
            return None
    return spread if math.prod(spread) <= _MOST_ELEMENTS else None


def _taken(have: Sequence[Dim], want: Sequence[Dim]) -> list[int] | None:
    """Return how many of each dimension a slice takes to make one shape of another; None if none does. Of a dimension
    whose size is not known it takes all: there may be nothing in it."""
    if not have:
        return None if want else []
    size, rest = have[0], have[1:]
    wanted = want[0] if want else None
    count = _WHOLE if size == wanted else wanted if isinstance(size, int) and isinstance(wanted, int) else None
    if count is not None and (count == _WHOLE or 0 < count < size):  # type: ignore[operator]
        taken = _taken(rest, want[1:])
        if taken is not None:
            return [count, *taken]
    if not isinstance(size, int) or not size:
        return None
    taken = _taken(rest, want)
    return None if taken is None else [_FIRST, *taken]


def _unread(fills: Sequence[Op]) -> set[Op]:
    """Return the ops that nothing reads without these: they themselves, and what their sizes are made with."""
    unread = {*fills}
    pending = [*fills]
    while pending:
        for value in pending.pop().operands:
            maker = None if value is None else value.op
            if maker is None or maker in unread or maker.kind not in _SIZES:
                continue
            if all(reader in unread for result in maker.results for reader in result.uses):
                unread.add(maker)
                pending.append(maker)
    return unread
