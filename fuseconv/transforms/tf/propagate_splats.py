"""Propagate splats, tensors that hold one number everywhere: what reads them element by element reads the number.

Layers that are written for masks multiply by ones of the input's shape where there is no mask, and count the ones
(tf-keras' GroupNormalization). Gradients begin with ones, which dense layers multiply by constants: all rows are equal
then, and what reads them element by element reads one. The size of a batch that is not known keeps those from being
folded.
"""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.dims import Shape, product
from fuseconv.ir.graph import Graph, Module, Op, Value, constant, detach, replace_uses
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report
from fuseconv.tf.folders import evaluate
from fuseconv.tf.operands import Contradiction, UnknownShape, broadcast
from fuseconv.tf.shape_functions.elementwise import BINARY, GRADIENTS, UNARY
from fuseconv.tf.traits import FILLS, REPEATS, RESHAPES, SLICES

_MOVES = RESHAPES | REPEATS | SLICES | {"tf.Identity", "tf.Transpose"}
_ELEMENTWISE = frozenset(f"tf.{kind}" for kind in (*UNARY, *BINARY, *GRADIENTS, "SelectV2"))
_DENSE = frozenset({"tf.MatMul", "tf.BatchMatMul", "tf.BatchMatMulV2", "tf.BatchMatMulV3"})
_PADS = frozenset({"tf.Pad", "tf.PadV2"})
# Larger constants are not joined with rows.
_MOST_ELEMENTS = 1 << 16
_REDUCTIONS = frozenset({"tf.All", "tf.Any", "tf.Max", "tf.Mean", "tf.Min", "tf.Sum"})
# The operands of which a number changes nothing, and the number.
_NEUTRAL = {
    "tf.Add": ((0, 1), 0), "tf.AddV2": ((0, 1), 0), "tf.Div": ((1,), 1), "tf.LogicalAnd": ((0, 1), True),
    "tf.LogicalOr": ((0, 1), False), "tf.Mul": ((0, 1), 1), "tf.RealDiv": ((1,), 1), "tf.Sub": ((1,), 0),
}  # fmt: skip
# Ops, and the types of which TFLite's kernels take longer for a number than for a tensor that holds it. SelectV2
# is none of them, as what it chooses tells activations; `fill-broadcasts` sees to it, and to constants.
_SLOW = {
    "tf.FloorDiv": (types.INT32,), "tf.FloorMod": (types.FLOAT32,), "tf.Maximum": (types.INT32, types.INT64),
    "tf.Minimum": (types.INT32, types.INT64), "tf.SquaredDifference": (types.INT32,),
}  # fmt: skip


@module_pass("propagate-splats")
def propagate_splats(module: Module, report: Report) -> bool:
    """Replace tensors that hold one number everywhere by it: x * OnesLike(y) -> x.

    Likewise those of which all rows are one constant: x * MatMul(OnesLike(y), w) -> x * row. Requires inferred shapes.
    Returns whether any op was changed; dead ops stay."""
    changed = [_Numbers(report).walk(graph) for graph in module.graphs()]
    return any(changed)


class _Numbers:
    """The values of a graph that hold one number everywhere, with that number as an array without dimensions; and those
    that repeat a constant along the dimensions that it lacks or has of size 1."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.known: dict[Value, np.ndarray] = {}

    def walk(self, graph: Graph) -> bool:
        """Let ops read numbers in place of tensors that hold them everywhere, and drop those that then change nothing.
        Return whether any op was changed."""
        changed = False
        kept: list[Op] = []
        for op in graph.ops:
            reads = not self.known.keys().isdisjoint(op.operands)
            number = self.made(op) if reads or op.kind in FILLS or op.kind in REPEATS else None
            if number is not None:
                self.known[op.result] = number
            elif op.kind in _ELEMENTWISE:
                changed |= reads and self.read(op)
                same = self.untouched(op)
                if same is not None:
                    replace_uses(op.result, same)
                    self.report.removed(op, "propagate-splats", "its other operands hold a number that changes nothing")
                    detach(op)
                    changed = True
                    continue
            kept.append(op)
        graph.ops = kept
        return changed

    def number(self, value: Value | None) -> np.ndarray | None:
        """Return what an operand holds everywhere, as an array of rank 0."""
        held = self.held(value)
        return held if held is not None and not held.ndim else None

    def held(self, value: Value | None) -> np.ndarray | None:
        """Return the constant that an operand is or repeats, as an array of rank 0 if it is one number."""
        data = None if value is None else value.data
        if data is None:
            return self.known.get(value)  # type: ignore[arg-type]
        return data.reshape(()) if data.size == 1 else data if data.size <= _MOST_ELEMENTS else None

    def made(self, op: Op) -> np.ndarray | None:
        """Return the number, or the constant that is repeated, that an op makes alone; None if it is not known."""
        if len(op.results) != 1 or op.result.dtype.numpy.kind not in "fiub":
            return None
        if op.kind == "tf.Fill":
            return self.number(op.operands[1])
        if op.kind in FILLS:
            return np.array(op.kind == "tf.OnesLike", op.result.dtype.numpy)
        if op.kind in _MOVES:
            return self.number(op.operands[0])
        arrays: list[np.ndarray | None] = []
        if op.kind in _REDUCTIONS:
            return self.reduced(op)
        if op.kind in _DENSE:
            arrays = self.multiplied(op)
        elif op.kind in _PADS:
            arrays = self.padded(op)
        elif op.kind in _ELEMENTWISE:
            arrays = [self.held(value) for value in op.operands]
        if not arrays or any(array is None for array in arrays):
            return None
        results = evaluate(op, arrays)  # type: ignore[arg-type]
        return None if results is None else results[0] if results[0].size > 1 else results[0].reshape(())

    def row(self, value: Value | None, rank: int) -> np.ndarray | None:
        """Return the constant that a tensor repeats, with all elements of its last dimension and at least this rank."""
        held = self.known.get(value)  # type: ignore[arg-type]
        if held is None or value is None or not value.shape or not isinstance(value.shape[-1], int):
            return None
        units = (1,) * (rank - max(held.ndim, 1))
        return np.broadcast_to(held, (*units, *held.shape[:-1], value.shape[-1]))

    def multiplied(self, op: Op) -> list[np.ndarray | None]:
        """Return operands that make the rows of a product which are all the same: MatMul(row, w)."""
        left, right = op.operands
        if op.attrs.get("transpose_a") or op.attrs.get("adj_x"):
            return []
        return [self.row(left, 2), None if right is None else right.data]

    def padded(self, op: Op) -> list[np.ndarray | None]:
        """Return operands that pad the last dimension alone, along which rows may hold anything."""
        others = [None if value is None else value.data for value in op.operands[1:]]
        if others[0] is None or others[0][:-1].any():
            return []
        return [self.row(op.operands[0], len(others[0])), *others]

    def reduced(self, op: Op) -> np.ndarray | None:
        data, axes = op.operands
        assert data is not None and axes is not None
        if data.shape is None or axes.data is None or self.number(data) is None:
            return None
        count = product([data.shape[int(axis)] for axis in axes.data.reshape(-1)])
        # What a reduction makes of nothing depends on its kind.
        if not isinstance(count, int) or count == 0:
            return None
        number = self.known[data]
        return _times(number, count) if op.type == "Sum" else number

    def read(self, op: Op) -> bool:
        """Set the number in the place of operands that the result has its shape without."""
        changed = False
        for index, value in enumerate(op.operands):
            number = self.known.get(value)  # type: ignore[arg-type]
            if number is None or value is None or value.shape == () or op.result.shape is None:
                continue
            if value.dtype in _SLOW.get(op.kind, ()) and not value.is_static:
                continue
            if _broadcast([v for place, v in enumerate(op.operands) if place != index]) == op.result.shape:
                op.set_operand(index, constant(number, value.dtype, value.name))
                changed = True
        return changed

    def untouched(self, op: Op) -> Value | None:
        """Return the operand that the op hands on."""
        same = None
        if op.kind == "tf.SelectV2":
            same = self.chosen(op)
        elif op.kind in _NEUTRAL:
            places, neutral = _NEUTRAL[op.kind]
            for place in places:
                value = op.operands[place]
                if self.number(value) == neutral or _holds(value, neutral):
                    same = op.operands[1 - place]
                    break
        return same if same is not None and same.shape is not None and same.shape == op.result.shape else None

    def chosen(self, op: Op) -> Value | None:
        """Return the operand of which a SelectV2 takes every element."""
        condition, *sides = op.operands
        number = self.number(condition)
        if number is None and condition is not None and condition.data is not None and condition.data.size:
            number = condition.data.min()
            if number != condition.data.max():
                return None
        return None if number is None else sides[0 if number else 1]


def _times(number: np.ndarray, count: int) -> np.ndarray | None:
    """Return the sum of so many equal numbers; None if integers of their type do not hold it."""
    whole = number.item() * count
    if number.dtype.kind in "iu" and not np.iinfo(number.dtype).min <= whole <= np.iinfo(number.dtype).max:
        return None
    with np.errstate(over="ignore"):  # the kernel's sum is infinite then, too
        return np.array(whole).astype(number.dtype)


def _holds(value: Value | None, number: int) -> bool:
    """Return whether a constant holds nothing but this number."""
    data = None if value is None else value.data
    if data is None or data.dtype.kind not in "fiub" or (data.size and data.item(0) != number):
        return False  # as of most constants
    return bool((data == number).all())


def _broadcast(values: list[Value | None]) -> Shape | None:
    try:
        return broadcast(*(value.shape for value in values if value is not None))
    except (Contradiction, UnknownShape):
        return None
