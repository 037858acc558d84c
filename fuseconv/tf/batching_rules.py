"""Batching rules, as of a vmap: an op on one row of a tensor -> the same op on all rows at once.

A row is a tensor of shape s of which a loop sees one at a step; all rows stacked have the shape (steps, *s).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fuseconv.ir.dims import Sym
from fuseconv.ir.graph import Op, Value
from fuseconv.ir.op_table import OpTable
from fuseconv.ir.slice_spec import WHOLE, Masks, SliceSpec
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.operands import content_of
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import RESHAPES, TAKES

# Builds the stacked results from the stacked operands; invariants among the operands are given as they are.
Rule = Callable[["Batch"], "Value | list[Value]"]
_RULES: OpTable[Rule] = OpTable()
_batches = _RULES.declare
# What these take out or put together costs less at each step than a tensor more for the loop to read.
MOVES = RESHAPES | TAKES | {"tf.ConcatV2", "tf.Identity", "tf.Pack", "tf.Transpose", "tf.Unpack"}
# Integer divisors and indices may be wrong in rows that the loop never gets to.
_MAY_FAIL = frozenset({"Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"})


class CannotBatch(Exception):
    """Raised by a batching rule if the op has no batched form."""


class Batch:
    """The op to batch, with its operands, as a batching rule sees it.

    tf: the builder. x: the stacked operands, or invariants; stacked: which of them are rows."""

    def __init__(self, tf: TfBuilder, op: Op, rows: Mapping[Value, Value], outside: Callable[[Value], Value]) -> None:
        self.tf = tf
        self.op = op
        self.stacked = [value in rows for value in op.operands]
        self.x = [rows[v] if v in rows else outside(v) for v in op.operands if v is not None]
        if len(self.x) != len(op.operands):
            raise CannotBatch

    def rank(self, index: int) -> int:
        """Return the rank of an operand as the loop sees it."""
        value = self.op.operands[index]
        if value is None or value.shape is None:
            raise CannotBatch
        return len(value.shape)

    @property
    def result_rank(self) -> int:
        if self.op.result.shape is None:
            raise CannotBatch
        return len(self.op.result.shape)

    def require(self, condition: bool) -> None:
        if not condition:
            raise CannotBatch

    def require_rows(self, *indices: int) -> None:
        """Raise CannotBatch unless exactly these operands are rows."""
        self.require(self.stacked == [i in indices for i in range(len(self.stacked))])

    def number(self, index: int) -> int:
        """Return an operand that is a known integer."""
        known = content_of(self.op.operands[index])
        self.require(known is not None and known.size == 1 and not isinstance(known.reshape(-1)[0], Sym))
        return int(known.reshape(-1)[0])  # type: ignore[union-attr]

    def numbers(self, index: int) -> list[int]:
        """Return an operand that is a vector of known integers."""
        known = content_of(self.op.operands[index])
        self.require(known is not None and known.ndim == 1 and not any(isinstance(n, Sym) for n in known))
        return [int(n) for n in known]  # type: ignore[union-attr]

    def axis(self, axis: int) -> int:
        """Return an axis of a row as one of the stacked rows."""
        return axis + 1 if axis >= 0 else axis

    def same(self, *operands: Value, **attrs: object) -> Value:
        """Build the same op on these operands, with these attributes in place of its own."""
        made = self.tf.add(self.op.type, operands, {**self.op.attrs, **attrs}, self.op.result.dtype)
        return self.with_shape(made)

    def with_shape(self, made: Value) -> Value:
        """Note the shape of the only result."""
        steps = next(x.shape[0] for x, is_row in zip(self.x, self.stacked) if is_row and x.shape)
        if self.op.result.shape is not None:
            made.shape = (steps, *self.op.result.shape)
        return made

    def aligned(self, index: int) -> Value:
        """Return a stacked operand with unit dimensions inserted, so that it broadcasts with the other operands as its
        rows do."""
        x, rank = self.x[index], self.rank(index)
        if self.stacked[index]:
            for _ in range(self.result_rank - rank):
                x = self.tf.ExpandDims(x, 1)
        return x


def batched(
    tf: TfBuilder, op: Op, rows: Mapping[Value, Value], outside: Callable[[Value], Value]
) -> list[Value] | None:
    """Return the batched results of an op, whose row operands `rows` maps to stacked ones; None if it cannot be
    batched.

    tf: appends ops before the loop. outside: what an invariant operand is before the loop."""
    rule = _RULES.get(op.type)
    if rule is None or any(result.shape is None for result in op.results):
        return None
    count = len(tf.out)
    try:
        made = rule(Batch(tf, op, rows, outside))
    except CannotBatch:
        for unread in tf.out[count:]:
            unread.set_operands(())
        del tf.out[count:]
        return None
    return made if isinstance(made, list) else [made]


def is_safe(op: Op) -> bool:
    """Return True if the op fails on no operand of the right shape."""
    if op.type in _MAY_FAIL:
        return all(value is not None and (value.dtype.is_float or value.is_const) for value in op.operands)
    return op.type in _RULES or op.type in ("Fill", "Shape", "Pack", "Range", "ZerosLike", "OnesLike")


@_batches(*UNARY, "Identity", "OnesLike", "ZerosLike")
def unary(b: Batch) -> Value:
    return b.same(*b.x)


@_batches("LogSoftmax", "Softmax")
def last_axis(b: Batch) -> Value:
    b.require(b.rank(0) > 0)
    return b.same(*b.x)


@_batches(*BINARY, "AddN", "ClipByValue", "SelectV2")
def elementwise(b: Batch) -> Value:
    b.require(is_safe(b.op))
    return b.same(*(b.aligned(i) for i in range(len(b.x))))


@_batches()
def Select(b: Batch) -> Value:
    """Batch a Select: a vector condition selects whole elements of the first axis of the other operands; it does not
    broadcast."""
    b.require(b.rank(0) in (0, 1, b.result_rank))
    test, *others = (b.aligned(i) if i or b.rank(0) != 1 else b.x[0] for i in range(3))
    for axis in range(b.result_rank - 1 if b.rank(0) == 1 else 0):
        test = b.tf.ExpandDims(test, axis + 1 + b.stacked[0])
    return b.with_shape(b.tf.SelectV2(test, *others, dtype=b.op.result.dtype))


@_batches()
def BiasAdd(b: Batch) -> Value:
    b.require_rows(0)
    b.require(b.op.attrs.get("data_format", "NHWC") == "NHWC")
    return b.same(*b.x)


@_batches()
def MatMul(b: Batch) -> Value:
    b.require_rows(0)
    b.require(not b.op.attrs.get("transpose_a"))
    attrs = {"adj_y": True} if b.op.attrs.get("transpose_b") else {}
    return b.with_shape(b.tf.add("BatchMatMulV2", b.x, attrs, b.op.result.dtype))


@_batches("BatchMatMulV2", "BatchMatMulV3")
def batch_mat_mul(b: Batch) -> Value:
    if b.stacked == [True, False]:
        b.require(b.rank(1) == 2)
    else:
        b.require_rows(0, 1)
        b.require(b.rank(0) == b.rank(1))
    return b.same(*b.x)


@_batches()
def Einsum(b: Batch) -> Value:
    equation = str(b.op.attrs.get("equation", ""))
    left, arrow, right = equation.partition("->")
    b.require(bool(arrow) and "." not in equation)
    steps = next(letter for letter in "TSRQPONMLKJIHGFEDCBAtsrqponmlkjihgfedcba" if letter not in equation)
    terms = [steps + term if is_row else term for term, is_row in zip(left.split(","), b.stacked)]
    return b.same(*b.x, equation=f"{','.join(terms)}->{steps}{right}")


@_batches("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")
def reduction(b: Batch) -> Value:
    b.require_rows(0)
    known = content_of(b.op.operands[1])
    b.require(known is not None)
    axes = [int(n) for n in known.reshape(-1)]  # type: ignore[union-attr]
    return b.same(b.x[0], b.tf.ints([b.axis(axis) for axis in axes]))


@_batches("ArgMax", "ArgMin", "ExpandDims")
def along_axis(b: Batch) -> Value:
    b.require_rows(0)
    return b.same(b.x[0], b.tf.ints(b.axis(b.number(1))))


@_batches()
def ConcatV2(b: Batch) -> Value:
    b.require_rows(*range(len(b.x) - 1))
    return b.same(*b.x[:-1], b.tf.ints(b.axis(b.number(len(b.x) - 1))))


@_batches()
def Pack(b: Batch) -> Value:
    b.require_rows(*range(len(b.x)))
    return b.same(*b.x, axis=b.axis(int(b.op.attrs.get("axis", 0))))


@_batches()
def Squeeze(b: Batch) -> Value:
    axes = b.op.attrs.get("squeeze_dims") or ()
    b.require(bool(axes))
    return b.same(*b.x, squeeze_dims=[b.axis(int(axis)) for axis in axes])


@_batches()
def Transpose(b: Batch) -> Value:
    b.require_rows(0)
    return b.same(b.x[0], b.tf.ints([0, *(axis + 1 for axis in b.numbers(1))]))


@_batches()
def Tile(b: Batch) -> Value:
    b.require_rows(0)
    return b.same(b.x[0], b.tf.ints([1, *b.numbers(1)]))


@_batches()
def Reshape(b: Batch) -> Value:
    b.require_rows(0)
    steps = b.x[0].shape[0]  # type: ignore[index]
    shape = b.op.result.shape
    if shape is not None and sum(isinstance(dim, Sym) for dim in (steps, *shape)) < 2:
        dims = [-1 if isinstance(dim, Sym) else dim for dim in (steps, *shape)]
        return b.with_shape(b.tf.Reshape(b.x[0], dims))
    numbers = b.numbers(1)
    first = b.tf.Reshape(b.tf.size(b.x[0]), [1])
    return b.with_shape(b.tf.Reshape(b.x[0], b.tf.ConcatV2(first, numbers, 0)))


@_batches()
def StridedSlice(b: Batch) -> Value:
    b.require_rows(0)
    spec = SliceSpec.read([b.numbers(i) for i in (1, 2, 3)], Masks.of(b.op))
    *bounds, masks = SliceSpec((WHOLE, *spec.entries)).operands()
    return b.with_shape(b.tf.StridedSlice(b.x[0], *bounds, **masks))


@_batches()
def Slice(b: Batch) -> Value:
    b.require_rows(0)
    return b.same(b.x[0], b.tf.ints([0, *b.numbers(1)]), b.tf.ints([-1, *b.numbers(2)]))


@_batches()
def Split(b: Batch) -> list[Value]:
    b.require_rows(1)
    return _several(b, [b.tf.ints(b.axis(b.number(0))), b.x[1]], {})


@_batches()
def SplitV(b: Batch) -> list[Value]:
    b.require_rows(0)
    return _several(b, [b.x[0], b.x[1], b.tf.ints(b.axis(b.number(2)))], {})


@_batches()
def Unpack(b: Batch) -> list[Value]:
    return _several(b, b.x, {"axis": b.axis(int(b.op.attrs.get("axis", 0)))})


def _several(b: Batch, operands: list[Value], attrs: dict[str, object]) -> list[Value]:
    made = Op(f"tf.{b.op.type}", operands, {**b.op.attrs, **attrs}, b.tf.op.name, b.tf.op.sources)
    b.tf.out.append(made)
    steps = b.x[b.stacked.index(True)].shape[0]  # type: ignore[index]
    return [made.add_result(r.dtype, (steps, *r.shape)) for r in b.op.results if r.shape is not None]


@_batches("Conv1D", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "MaxPool", "AvgPool")
def windows(b: Batch) -> Value:
    """Fold the row dimension into the batch dimension of the op, and back."""
    b.require_rows(0)
    b.require(b.op.attrs.get("data_format", "NHWC") in ("NHWC", "NDHWC"))
    x, row, made = b.x[0], b.op.operands[0].shape, b.op.result.shape  # type: ignore[union-attr]
    b.require(row is not None and made is not None and not any(isinstance(dim, Sym) for dim in (*row[1:], *made[1:])))
    tf, inner, outer = b.tf, [int(n) for n in row[1:]], [int(n) for n in made[1:]]  # type: ignore[index,arg-type]
    flat = tf.Reshape(x, [-1, *inner])
    y = tf.add(b.op.type, [flat, *b.x[1:]], dict(b.op.attrs), b.op.result.dtype)
    lead = [-1 if isinstance(dim, Sym) else int(dim) for dim in x.shape[:2]]  # type: ignore[index]
    if lead.count(-1) < 2:
        return b.with_shape(tf.Reshape(y, [*lead, *outer]))
    sizes = tf.StridedSlice(tf.shape(x), [0], [2], [1])
    return b.with_shape(tf.Reshape(y, tf.ConcatV2(sizes, outer, 0)))


def row_read(op: Op) -> tuple[int | None, Value | None]:
    """Return (axis, index) of an op that reads one row of its first operand, with all other axes whole; (None, None)
    for any other op. The index is a scalar (of StridedSlice: one that is no constant)."""
    if op.kind == "tf.GatherV2" and not op.attrs.get("batch_dims"):
        at = content_of(op.operands[2])
        index = op.operands[1]
        if index is not None and index.rank == 0 and at is not None and not isinstance(at.reshape(-1)[0], Sym):
            axis, rank = int(at.reshape(-1)[0]), op.operands[0].rank if op.operands[0] is not None else None
            return (axis + rank if axis < 0 and rank else axis), index
    spec = SliceSpec.of(op)
    picked = spec.picked() if spec is not None else None
    return picked if picked is not None and isinstance(picked[1], Value) else (None, None)


def constant_axis_zero(op: Op) -> bool:
    """Return True for a GatherV2 that takes one row of its first operand: along axis 0, with a scalar index."""
    if op.kind != "tf.GatherV2" or op.attrs.get("batch_dims"):
        return False
    _, index, axis = op.operands
    at = content_of(axis)
    return index is not None and index.rank == 0 and at is not None and not np.any(at.reshape(-1) != 0)
