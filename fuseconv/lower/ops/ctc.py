"""Decoders of sequences of class scores."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.lower.rules import lowers, require
from fuseconv.lower.support.dynamic_shapes import iota, reshape, shape_of, static_dims
from fuseconv.lower.support.legalize_operands import elementwise, scalar
from fuseconv.lower.support.type_promotion import cast


@lowers
def CTCGreedyDecoder(tfl, inputs, sequence_length, *, merge_repeated=False, blank_index=-1):
    """ARG_MAX of each step; WHERE it is no blank, nor the step before's if repetitions are merged."""
    steps, batch, classes = shape_of(inputs, 3)
    static_dims((classes,), "the number of classes")
    blank = blank_index + classes if blank_index < 0 else blank_index
    require(inputs.dtype is types.FLOAT32, f"its scores are {inputs.dtype}, and TFLite decodes float32")
    require(steps != 0, "its input has no steps in time")
    inputs = tfl.transpose(inputs, [1, 0, 2])
    best = tfl.arg_max(inputs, tfl.ints(2), output_type="INT32")
    step = reshape(tfl, iota(tfl, steps, best), (1, steps), best)
    there = tfl.less(step, reshape(tfl, sequence_length, (batch, 1), sequence_length, best))
    kept = tfl.logical_and(there, tfl.not_equal(best, blank))
    if merge_repeated:
        behind = tfl.strided_slice(best, [0, 0], [0, -1], [1, 1], begin_mask=0b11, end_mask=0b01)
        before = tfl.padv2(behind, [[0, 0], [1, 0]], scalar(-1, types.INT32))
        kept = tfl.logical_and(kept, tfl.not_equal(best, before))
    where = tfl.where(kept)
    values = cast(tfl, tfl.gather_nd(best, where), types.INT64)
    counted = cast(tfl, kept, types.INT32)
    columns = tfl.gather_nd(tfl.cumsum(counted, tfl.const(1, types.INT32), exclusive=True), where)
    row = tfl.strided_slice(where, [0, 0], [0, 1], [1, 1], begin_mask=0b11, end_mask=0b01)
    indices = tfl.concatenation(row, tfl.expand_dims(cast(tfl, columns, types.INT64), 1), axis=1)
    longest = tfl.maximum(tfl.reduce_max(tfl.sum_(counted, [1]), [0]), 0)
    rows = tfl.strided_slice(tfl.shape_(best), [0], [1], [1])
    shape = cast(tfl, tfl.concatenation(rows, tfl.expand_dims(longest, 0), axis=0), types.INT64)
    highest = elementwise(tfl, "MUL", tfl.reduce_max(inputs, [2]), cast(tfl, there, inputs.dtype))
    return [indices, values, shape, tfl.neg(tfl.sum_(highest, [1], keep_dims=True))]
