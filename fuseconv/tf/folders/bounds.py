"""Bounds of what numpy's folders make and move, known before they run: for runs of models that may be hostile."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from fuseconv.ir.graph import Op
from fuseconv.tf.shape_functions.elementwise import BINARY, UNARY
from fuseconv.tf.traits import RESHAPES, SELECTS, TAKES

# Products that are added up while another op moves a number.
PRODUCTS_PER_NUMBER = 32
# Ops whose result is as large as their operands broadcast together.
_ELEMENTWISE = SELECTS | {"tf.BiasAdd", *(f"tf.{name}" for name in (*UNARY, *BINARY))}
# Ops whose results are in all no larger than their operands.
_MOVES = RESHAPES | TAKES | {
    "tf.ConcatV2", "tf.Identity", "tf.OnesLike", "tf.Pack", "tf.ReverseV2", "tf.Shape", "tf.Transpose", "tf.Unpack",
    "tf.ZerosLike",
}  # fmt: skip


def numbers_of(op: Op) -> Callable[[Op, Sequence[np.ndarray]], float] | None:
    """Return what tells how many numbers a TF op moves or adds up, at most; None if that is not known of it. Of texts,
    whose length an op may double, no number is too large."""
    bound = _broadcast if op.kind in _ELEMENTWISE else _moved if op.kind in _MOVES else _OTHERS.get(op.kind)
    if bound is None:
        return None
    return lambda op, arrays: math.inf if any(array.dtype.hasobject for array in arrays) else bound(op, arrays)


def _broadcast(op: Op, operands: Sequence[np.ndarray]) -> float:
    shapes = {array.shape for array in operands}
    return math.prod(shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes))


def _moved(op: Op, operands: Sequence[np.ndarray]) -> float:
    return sum([array.size for array in operands])


def _gathered(op: Op, operands: Sequence[np.ndarray]) -> float:
    return operands[0].size * operands[1].size


def _filled(op: Op, operands: Sequence[np.ndarray]) -> float:
    return float(np.prod(operands[0], dtype=np.float64))


def _broadcast_to(op: Op, operands: Sequence[np.ndarray]) -> float:
    return float(np.prod(operands[1], dtype=np.float64))


def _repeated(op: Op, operands: Sequence[np.ndarray]) -> float:
    return operands[0].size * float(np.prod(operands[1], dtype=np.float64))


def _counted(op: Op, operands: Sequence[np.ndarray]) -> float:
    start, limit, delta = (float(operand.item()) for operand in operands)
    count = (limit - start) / delta if delta else math.inf
    return abs(count) + 1 if math.isfinite(count) else math.inf


def _cast(op: Op, operands: Sequence[np.ndarray]) -> float:
    return operands[0].nbytes


def _listed(op: Op, operands: Sequence[np.ndarray]) -> float:
    return operands[0].size * max(operands[0].ndim, 1)


def _multiplied(op: Op, operands: Sequence[np.ndarray]) -> float:
    x, y = operands
    columns = y.shape[0 if op.attrs.get("transpose_b") else 1]
    return x.size * columns / PRODUCTS_PER_NUMBER + x.size + y.size + max(x.shape) * columns


_OTHERS: dict[str, Callable[[Op, Sequence[np.ndarray]], float]] = {
    "tf.Bitcast": _cast,
    "tf.BroadcastTo": _broadcast_to,
    "tf.Fill": _filled,
    "tf.GatherV2": _gathered,
    "tf.MatMul": _multiplied,
    "tf.Range": _counted,
    "tf.Tile": _repeated,
    "tf.Where": _listed,
}
