"""Spread numbers for kernels that broadcast slowly: MAXIMUM(x: int32[64,64], 0) -> MAXIMUM(x, FILL([64,64], 0)).

LiteRT's kernels of these ops compute the place of each element if their operands have two shapes, and run over the
elements if they have one. Of 1,024 int32 `x + 0` takes 0.5 us in either case, MAXIMUM(x, 0) 1.8 us, and 0.5 us with
FILL; of 16,384 it is 24 and 2.2. Such are indices that are clipped to an image or a table, and what a mask sets to 0.
"""

from __future__ import annotations

import functools
import math

from fuseconv.facts import TFL_ONLY
from fuseconv.ir.dims import Shape
from fuseconv.ir.graph import Module, Op, Value, constant
from fuseconv.ir.rewriter import rewrite_ops
from fuseconv.pass_manager import module_pass
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import BROADCASTS_SLOWLY

_KINDS = frozenset(f"tfl.{kind}" for kind in BROADCASTS_SLOWLY)
# With fewer elements FILL takes as much as it saves. What an unknown size counts as: that of a batch may be 1.
_FEWEST, _UNKNOWN = 32, 4
# SELECT_V2 gains less; of more elements it takes as long as memory does.
_FEWEST_SELECTED, _MOST_SELECTED = 256, 1 << 17


@module_pass("fill-broadcasts", requires=(TFL_ONLY,), kinds=_KINDS)
def fill_broadcasts(module: Module) -> None:
    """Give all operands one shape: MAXIMUM(x: int32[n,64], 0) -> MAXIMUM(x, FILL(SHAPE(x), 0))."""

    for graph in module.graphs():
        rewrite_ops(graph, _KINDS, functools.partial(_spread, sizes={}))


def _spread(op: Op, out: list[Op], sizes: dict[Shape, Value]) -> None:
    """Fill a tensor with the number among the operands of an op, if the others have its result's shape. sizes: those of
    shapes that ops before have read."""
    numbers = [index for index, x in enumerate(op.operands) if x is not None and _is_number(x)]
    others = [x for index, x in enumerate(op.operands) if index not in numbers]
    shape = op.result.shape
    if len(numbers) != 1 or shape is None or not _pays(op.type, shape):
        return
    if any(x is None or x.shape != shape for x in others):
        return
    number: Value = op.operands[numbers[0]]  # type: ignore[assignment]
    if number.dtype in BROADCASTS_SLOWLY[op.type]:
        like = next(x for x in others if x is not None and x.dtype is number.dtype)
        op.set_operand(numbers[0], _filled(Builder(out, op.name, op.sources), number, like, sizes))


def _is_number(x: Value) -> bool:
    """Return whether a tensor has no dimensions, or is a constant of one element."""
    return x.shape == () or (x.data is not None and x.data.size == 1)


def _pays(kind: str, shape: Shape) -> bool:
    """Return whether so many elements are worth a FILL."""
    count = math.prod(size if isinstance(size, int) else _UNKNOWN for size in shape)
    if kind == "SELECT_V2":
        return _FEWEST_SELECTED <= count <= _MOST_SELECTED
    return count >= _FEWEST


def _filled(tfl: Builder, number: Value, like: Value, sizes: dict[Shape, Value]) -> Value:
    """Build a tensor of the shape of another that holds the number."""
    shape = like.shape
    assert shape is not None
    made = [(number.dtype, shape)]
    if number.data is not None:
        number = constant(number.data.reshape(()), number.dtype, number.name)
        if not like.is_static and not any(number.data.tobytes()):  # type: ignore[union-attr]
            return tfl.typed_op("ZEROS_LIKE", [like], made, {})[0]
    if shape not in sizes:
        sizes[shape] = tfl.ints(shape) if like.is_static else tfl.shape_(like)
    return tfl.typed_op("FILL", [sizes[shape], number], made, {})[0]
