"""MatMul of one-hot rows with a table -> GATHER of its rows, and zeros where an index is outside of it.

    matmul(one_hot(x, n), table)  ->  gather([0, table, 0], clip(x, -1, n) + 1)

FULLY_CONNECTED would read the whole table for each row, transposed, so that a table which is read elsewhere too (the
language model's head, the codebook that was searched) would be written twice. Such a table gets no rows of zeros:

    select(x == clip(x), gather(table, clip(x)), 0), clip(x) = clip(x, 0, n - 1)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.fuse.match import Fusion, Match
from fuseconv.fuse.pattern import Constant, Term, pattern
from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.tfl.builder import Builder

# MatMul with a table of fewer rows takes less than to look them up.
_FEWEST_ROWS = 16


def _selects_rows(equation: Any) -> bool:
    """Return whether an equation is a product with a matrix: "btv,vd->btd"."""
    left, _, right = str(equation).replace(" ", "").partition("->")
    rows, _, table = left.partition(",")
    return len(table) == 2 and rows[-1:] == table[0] and right == rows[:-1] + table[1] and len(set(rows)) == len(rows)


def _rows(tf: Any, x: Any, depth: Constant) -> Term:
    return tf.OneHot(x, depth, 1.0, 0.0, shared=True)


@pattern
def product(tf: Any, x: Any, depth: Constant, table: Constant) -> Term:
    return tf["MatMul", "BatchMatMul", "BatchMatMulV2"](_rows(tf, x, depth), table)


@pattern
def transposed(tf: Any, x: Any, depth: Constant, table: Constant) -> Term:
    return tf.MatMul(_rows(tf, x, depth), table, transpose_b=True, name="turned")


@pattern
def reshaped(tf: Any, x: Any, depth: Constant, dims: Any, table: Constant) -> Term:
    return tf.MatMul(tf.Reshape(_rows(tf, x, depth), dims, name="flat"), table)


@pattern
def tensordot(tf: Any, x: Any, depth: Constant, order: Constant, dims: Any, table: Constant) -> Term:
    return tf.MatMul(tf.Reshape(tf.Transpose(_rows(tf, x, depth), order), dims, name="flat"), table)


@pattern
def einsum(tf: Any, x: Any, depth: Constant, table: Constant) -> Term:
    return tf.Einsum(_rows(tf, x, depth), table, equation=_selects_rows)


def check(m: Match) -> None:
    m.require(m.result.dtype is types.FLOAT32, "the table is not of float32")
    m.require(m.table.rank == 2, "the table is no matrix")
    m.require(m.order is None or (np.diff(m.order.data) == 1).all(), "the product transposes the rows that it selects")
    rows = m.table.shape[0 if m.turned is None else 1]
    m.require(
        m.depth.data.size == 1 and int(m.depth.data.reshape(())) == rows,
        "the table has not as many rows as there are classes",
    )
    m.require(np.isfinite(m.table.data).all(), "the table has numbers that are not finite")
    large = rows >= _FEWEST_ROWS or _is_shared(m)
    m.require(
        large or _is_index_below(m.x.op, rows), f"a table of {rows} rows is so small that MatMul is faster than GATHER"
    )


def rewrite(tfl: Builder, m: Match) -> Value:
    x = m.x if m.flat is None else tfl.reshape(m.x, [-1])
    table = m.table if m.turned is None else tfl.transpose(m.table, [1, 0])
    rows = table.shape[0]  # type: ignore[index]
    if _is_index_below(m.x.op, rows):
        return tfl.gather(table, x)
    if x.dtype not in (types.INT32, types.INT64):
        x = tfl.cast(x, out_data_type="INT32")
    if not _is_shared(m):
        place = tfl.maximum(tfl.minimum(x, tfl.const(rows, x.dtype)), tfl.const(-1, x.dtype))
        return tfl.gather(np.pad(table.data, ((1, 1), (0, 0))), tfl.add(place, tfl.const(1, x.dtype)))
    last = tfl.const(rows - 1, x.dtype)
    inside = tfl.maximum(tfl.minimum(x, last), tfl.const(0, x.dtype))
    return tfl.select_v2(tfl.expand_dims(tfl.equal(x, inside), -1), tfl.gather(table, inside), np.float32(0))


def _is_shared(m: Match) -> bool:
    """Return whether the table is read elsewhere."""
    made = m.result.op
    return m.constants is not None and made is not None and any(True for _ in m.constants.others(m.table, made))


def _is_index_below(op: Op | None, count: int) -> bool:
    """Return whether an op returns places in a dimension that is not larger."""
    if op is None or op.kind not in ("tf.ArgMax", "tf.ArgMin"):
        return False
    x, axis = op.operands
    if x is None or x.shape is None or axis is None or not axis.is_const:
        return False
    size = x.shape[int(axis.data.reshape(()))]  # type: ignore[union-attr]
    return isinstance(size, int) and size <= count


FUSIONS = [Fusion("one_hot_lookup", "GATHER", (tensordot, reshaped, transposed, product, einsum), rewrite, check)]
