"""Name rows that are 1 where an index is: Cast(Equal(ExpandDims(i, -1), [0, 1, 2]), float32) -> OneHot(i, 3, 1, 0)."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value, constant
from fuseconv.ir.terms import either_way, op_of, operand_of
from fuseconv.tf.builder import TfBuilder
from fuseconv.tf.traits import RESHAPES

_MADE = (types.FLOAT32, types.INT32)


def one_hot(op: Op, tf: TfBuilder) -> list[Value] | None:
    """Name what `jax.nn.one_hot` spells out along the last dimension. Both have zeros for an index out of range."""
    test = op_of(op.operands[0], "tf.Equal")
    if test is None or op.result.dtype not in _MADE or len(test.result.uses) != 1:
        return None
    for x, numbers in either_way(test):
        index = operand_of(x, RESHAPES)
        if index is None or index.shape is None or index.dtype not in (types.INT32, types.INT64):
            continue
        data = numbers.data
        if data is None or data.ndim == 0 or x.shape != (*index.shape, 1):
            continue
        count = data.shape[-1]
        if data.size == count and np.array_equal(data.reshape(-1), np.arange(count)) and data.ndim <= len(x.shape):
            on, off = (constant(np.array(number, op.result.dtype.numpy), op.result.dtype) for number in (1, 0))
            operands = [index, tf.ints(count), on, off]
            return [tf.add("OneHot", operands, {"axis": -1}, op.result.dtype, (*index.shape, count))]
    return None
