"""Forms of ops that find places and take what stands there."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.targets.forms.shapes import known_shape
from fuseconv.tfl.builder import Builder


def gather_of_vector(tfl: Builder, op: Op) -> list[Value] | None:
    """GATHER(x, indices) -> RESHAPE(GATHER(x, RESHAPE(indices, [-1]))), also of a batch of one."""
    x, indices = op.operands[:2]
    shape, batches = known_shape(op.result), op.attrs.get("batch_dims", 0)
    if x is None or indices is None or indices.shape is None or shape is None:
        return None
    if any(size != 1 for size in indices.shape[:batches]) or batches < 0:
        return None
    if indices.is_const:
        indices = tfl.const(indices.data.astype(np.int32), types.INT32)  # type: ignore[union-attr]
    elif indices.dtype is not types.INT32:
        indices = tfl.cast(indices, out_data_type="INT32")
    if indices.rank != 1:
        count = int(np.prod(known_shape(indices) or [1], dtype=np.int64)) if indices.is_static else -1
        indices = tfl.reshape(indices, [count])
    elif indices is op.operands[1]:
        return None
    return [tfl.reshape(tfl.gather(x, indices, axis=op.attrs.get("axis", 0)), shape)]


def gather_of_truths(tfl: Builder, op: Op) -> list[Value] | None:
    """GATHER(x, indices) of bool -> CAST(GATHER(CAST(x) to float32, indices)) to bool."""
    x, *others = op.operands
    if x is None or x.dtype is not types.BOOL:
        return None
    taken = tfl.gather(tfl.cast(x, out_data_type="FLOAT32"), *others, **op.attrs)
    return [tfl.cast(taken, out_data_type="BOOL")]


_INDICES = {"GATHER": 1, "ONE_HOT": 0}


def places_of_32_bits(tfl: Builder, op: Op) -> list[Value] | None:
    """GATHER(x, CAST(i) to int64) -> GATHER(x, i), and ONE_HOT."""
    operands = list(op.operands)
    at = _INDICES[op.type]
    indices = operands[at]
    operands[at] = _narrowed(tfl, indices)
    return None if operands[at] in (None, indices) else tfl.op(op.type, tuple(operands), dict(op.attrs))


def _narrowed(tfl: Builder, value: Value | None) -> Value | None:
    """Return places as int32: what is of that type, or was before a CAST to int64. None of others."""
    made = None if value is None else value.op
    if value is None or value.dtype is types.INT32:
        return value
    if made is None or value.dtype is not types.INT64:
        return None
    x, *others = made.operands
    if made.type == "CAST":
        return x if x is not None and x.dtype is types.INT32 else None
    found = _narrowed(tfl, x) if made.type == "RESHAPE" else None
    return None if found is None else tfl.reshape(found, *others)


def top_one(tfl: Builder, op: Op) -> list[Value] | None:
    """ARG_MAX(x) -> RESHAPE(TOPK_V2(x, 1)[1]); ARG_MIN(x) -> that of NEG(x). Along another axis than the last, of
    TRANSPOSE(x)."""
    x, at = op.operands[:2]
    shape = known_shape(op.result)
    wide = types.FLOAT32 if op.type == "ARG_MIN" else None
    if x is None or x.shape is None or at is None or at.data is None or shape is None:
        return None
    if x.dtype is not types.FLOAT32 and (wide or x.dtype is not types.INT32):
        return None
    axis, rank = int(at.data.reshape(())) % len(x.shape), len(x.shape)
    if axis != rank - 1:
        x = tfl.transpose(x, [*(index for index in range(rank) if index != axis), axis])
    if op.type == "ARG_MIN":
        x = tfl.neg(x)
    places = tfl.reshape(tfl.topk_v2(x, 1)[1], shape)
    if op.result.dtype is not types.INT32:
        places = tfl.cast(places, out_data_type=op.result.dtype.name.upper())
    return [places]


def largest(tfl: Builder, op: Op) -> list[Value] | None:
    """TOPK_V2(x, 1) -> REDUCE_MAX(x), ARG_MAX(x)."""
    x, count = op.operands[:2]
    shape = known_shape(op.results[1])
    if x is None or count is None or count.data is None or int(count.data.reshape(())) != 1 or shape is None:
        return None
    top = tfl.reduce_max(x, [len(shape) - 1], keep_dims=True)
    places = tfl.arg_max(x, np.int32(len(shape) - 1), output_type="INT32")
    return [top, tfl.reshape(places, shape)]


def one_hot_of_vector(tfl: Builder, op: Op) -> list[Value] | None:
    """ONE_HOT(indices, axis=last) -> RESHAPE(ONE_HOT(RESHAPE(indices, [-1]), axis=-1))."""
    indices, *others = op.operands
    shape = known_shape(op.result)
    if indices is None or indices.shape is None or shape is None:
        return None
    axis = op.attrs.get("axis", 0)
    if axis not in (-1, len(indices.shape)) or (axis == -1 and len(indices.shape) == 1):
        return None
    flat = tfl.reshape(indices, [int(np.prod(shape[:-1], dtype=np.int64))])
    return [tfl.reshape(tfl.one_hot(flat, *others, axis=-1), shape)]


def equal_places(tfl: Builder, op: Op) -> list[Value] | None:
    """ONE_HOT(indices) -> SELECT_V2(EQUAL(RESHAPE(indices), [0, 1, ...]), on, off)."""
    wide, depth, on, off = op.operands
    indices = _narrowed(tfl, wide)
    shape = known_shape(op.result)
    if indices is None or depth is None or depth.data is None or shape is None:
        return None
    axis = op.attrs.get("axis", 0) % len(shape)
    row = [1 if index == axis else size for index, size in enumerate(shape)]
    numbers = np.arange(shape[axis], dtype=np.int32).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return [tfl.select_v2(tfl.equal(tfl.reshape(indices, row), numbers), on, off)]


FORMS = {
    "GATHER": (places_of_32_bits, gather_of_vector, gather_of_truths), "ARG_MAX": (top_one,), "ARG_MIN": (top_one,),
    "TOPK_V2": (largest,), "ONE_HOT": (places_of_32_bits, one_hot_of_vector, equal_places),
}  # fmt: skip
