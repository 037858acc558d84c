"""Forms of reductions, and of what is made of them."""

from __future__ import annotations

import math

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.targets.forms.shapes import known_shape
from fuseconv.tfl.builder import Builder
from fuseconv.tfl.traits import activation_of

_LEAST_NORM = np.float32(1e-6)  # that of L2_NORMALIZATION's kernel


def _axes(op: Op) -> tuple[Value, list[int]] | None:
    """Return what a reduction reads, and along which axes, if that is known."""
    x, axes = op.operands[:2]
    if x is None or x.shape is None or axes is None or axes.data is None:
        return None
    return x, [int(axis) % len(x.shape) for axis in axes.data.ravel()]


def kept_dimensions(tfl: Builder, op: Op) -> list[Value] | None:
    """MEAN(x) -> MEAN(x, keep_dims), which a FULLY_CONNECTED reads as it is; a RESHAPE for other readers."""
    found = _axes(op)
    if found is None or op.attrs.get("keep_dims") or not op.result.is_static:
        return None
    kept = tfl.op(op.type, (found[0], found[1]), {**op.attrs, "keep_dims": True})[0]
    rows = kept.shape is not None and op.result.shape is not None and kept.shape[-1:] == op.result.shape[-1:]
    if rows and all(map(flattens, op.result.uses)):
        return [kept]
    return [tfl.reshape(kept, known_shape(op.result))]


def flattens(op: Op) -> bool:
    """Return whether an op reads data of any shape as rows of the last dimension."""
    return op.kind == "tfl.FULLY_CONNECTED" and not op.attrs.get("keep_num_dims")


def mean_by_count(tfl: Builder, op: Op) -> list[Value] | None:
    """SUM(x) -> MUL(MEAN(x), count)."""
    found = _axes(op)
    if found is None or not found[0].is_static or op.result.dtype is not types.FLOAT32:
        return None
    x, axes = found
    count = math.prod(x.shape[axis] for axis in set(axes))  # type: ignore[index,misc]
    return [tfl.mul(tfl.mean(x, axes, keep_dims=bool(op.attrs.get("keep_dims"))), float(count))]


def by_logic(tfl: Builder, op: Op) -> list[Value] | None:
    """REDUCE_ANY(x) -> LOGICAL_NOT(REDUCE_ALL(LOGICAL_NOT(x))), and the other way round."""
    x, axes = op.operands[:2]
    other = {"REDUCE_ANY": "REDUCE_ALL", "REDUCE_ALL": "REDUCE_ANY"}[op.type]
    return [tfl.logical_not(tfl.op(other, (tfl.logical_not(x), axes), dict(op.attrs))[0])]


def by_numbers(tfl: Builder, op: Op) -> list[Value] | None:
    """REDUCE_ANY(x) -> GREATER(REDUCE_MAX(CAST(x)), 0.5); REDUCE_ALL(x) -> that of REDUCE_MIN."""
    x, axes = op.operands[:2]
    if x is None:
        return None
    numbers = tfl.cast(x, out_data_type="FLOAT32")
    extreme = {"REDUCE_ANY": "REDUCE_MAX", "REDUCE_ALL": "REDUCE_MIN"}[op.type]
    return [tfl.greater(tfl.op(extreme, (numbers, axes), dict(op.attrs))[0], 0.5)]


def product(tfl: Builder, op: Op) -> list[Value] | None:
    """REDUCE_PROD(x) along a short axis -> RESHAPE of the product of the parts of SPLIT(x)."""
    found, shape = _axes(op), known_shape(op.result)
    size = found[0].shape[found[1][0]] if found is not None and len(found[1]) == 1 else None  # type: ignore[index]
    if found is None or shape is None or not isinstance(size, int) or not 1 < size <= 16:
        return None
    first, *others = tfl.op("SPLIT", (found[1][0], found[0]), {"num_splits": size})
    for part in others:
        first = tfl.mul(first, part)
    return [tfl.reshape(first, shape)]


def log_softmax(tfl: Builder, op: Op) -> list[Value] | None:
    """LOG_SOFTMAX(x) -> y - LOG(SUM(EXP(y))), y = x - REDUCE_MAX(x)."""
    x = op.operands[0]
    if x is None or not x.rank or op.result.quantization:
        return None
    last = [x.rank - 1]
    y = tfl.sub(x, tfl.reduce_max(x, last, keep_dims=True))
    return [tfl.sub(y, tfl.log(tfl.sum_(tfl.exp(y), last, keep_dims=True)))]


def l2_normalization(tfl: Builder, op: Op) -> list[Value] | None:
    """L2_NORMALIZATION(x) -> DIV(x, MAXIMUM(SQRT(SUM(MUL(x, x))), 1e-6))."""
    x = op.operands[0]
    if x is None or not x.rank or op.result.quantization or activation_of(op) != "NONE":
        return None
    norm = tfl.sqrt(tfl.sum_(tfl.mul(x, x), [x.rank - 1], keep_dims=True))
    return [tfl.div(x, tfl.maximum(norm, _LEAST_NORM))]


FORMS = {
    "MEAN": (kept_dimensions,), "SUM": (mean_by_count,), "REDUCE_ANY": (by_numbers, by_logic),
    "REDUCE_ALL": (by_numbers, by_logic), "REDUCE_PROD": (product,), "LOG_SOFTMAX": (log_softmax,),
    "L2_NORMALIZATION": (l2_normalization,),
}  # fmt: skip
