"""Sorts by any lexicographic order of operands -> TopKV2, and gathers."""

from __future__ import annotations

from collections.abc import Sequence

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.elementwise import total_order
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scalar_function import sort_keys
from fuseconv.load.stablehlo.scope import Scope, number, refuse_unless, tensor_type


@imports
def sort(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """TopKV2 of all elements, of the negative ones if the least comes first. Its order of equal elements is that of
    their places, so it is stable; by several keys, rows are sorted by the last one first."""
    rank = tensor_type(op.operands[0]).rank
    axis = number(op.attribute("dimension"), rank)
    keys = sort_keys(op.regions[0], len(operands))
    refuse_unless(keys, "it sorts by something else than an order of its operands, one after the other")
    order = [*(other for other in range(rank) if other != axis), axis]
    rows = [tf.transpose(x, order) for x in operands]
    if len(operands) == 1 and not keys[0].total:  # type: ignore[index]
        return [_back(tf, _sorted(tf, rows[0], keys[0].descending)[0], order)]  # type: ignore[index]
    places: Value | None = None
    for key in reversed(keys or ()):
        by = rows[key.operand]
        if key.total and by.dtype.is_float:
            refuse_unless(by.dtype is types.FLOAT32, f"it sorts {by.dtype} so that -0 comes before 0")
            by = total_order(tf, by)
        by = by if places is None else _taken(tf, by, places, rank)
        step = _sorted(tf, by, key.descending)[1]
        places = step if places is None else _taken(tf, places, step, rank)
    return [_back(tf, _taken(tf, row, places, rank), order) for row in rows]  # type: ignore[arg-type]


def hold_top(op: Operation, count: int) -> None:
    """Raise DamagedError if an op does not make so many of the last dimension of its operand."""
    of, made = (tensor_type(vars[0]).shape if vars else () for vars in (op.operands, op.results))
    size = of[-1] if of else 0
    if len(of) != len(made) or not 0 <= count <= (count if size is None else size) or made[-1] not in (count, None):
        raise DamagedError(f"the top {count} of {size} elements are not {list(made)[-1:]}")


def _sorted(tf: Scope, x: Value, descending: bool) -> Sequence[Value]:
    """Return the elements of each row in order, and where they were."""
    made = x.dtype
    refuse_unless(not made.is_complex, "complex numbers have no order")
    if made is types.BOOL or made in (types.UINT8, types.INT8, types.INT16, types.UINT16):
        x = tf.Cast(x, dtype=types.INT32)
    turned = x if descending else _turned(tf, x)
    size = tf.size(x, -1)
    values, places = tf.many("TopKV2", [turned, size], {}, [x, size])
    values = values if descending else _turned(tf, values)
    return [values if made is values.dtype else tf.Cast(values, dtype=made), places]


def _turned(tf: Scope, x: Value) -> Value:
    """Return numbers in the opposite order: integers, some of which have no negative, have their bits inverted."""
    return tf.Neg(x) if x.dtype.is_float else tf.Invert(x)


def _taken(tf: Scope, x: Value, places: Value, rank: int) -> Value:
    batch = {"batch_dims": rank - 1} if rank > 1 else {}
    return tf.add("GatherV2", [x, places, tf.const(rank - 1)], batch, x.dtype)


def _back(tf: Scope, x: Value, order: list[int]) -> Value:
    return tf.transpose(x, [order.index(axis) for axis in range(len(order))])
