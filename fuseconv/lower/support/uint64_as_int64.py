"""uint64, for which TFLite has hardly a kernel, as int64 of the same bits. Where an op tells larger from smaller the
highest bit is turned, which keeps the order."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value, constant
from fuseconv.lower.rules import Lowering
from fuseconv.tfl.kernel_limits import TYPES
from fuseconv.tfl.traits import MOVES

_LEAST = np.iinfo(np.int64).min
# What makes the same bits of signed numbers as of unsigned ones.
_SIGNLESS = MOVES | {
    "ADD", "CUMSUM", "EQUAL", "FILL", "MUL", "NEG", "NOT_EQUAL", "PAD", "PADV2", "REDUCE_PROD", "SCATTER_ND", "SUB",
    "SUM",
}  # fmt: skip
_ORDERED = frozenset({
    "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "MAXIMUM", "MINIMUM", "REDUCE_MAX", "REDUCE_MIN",
})  # fmt: skip


def has_int64(kind: str, x: Value) -> bool:
    """Return whether an op of uint64 is computed on int64."""
    allowed = TYPES.get(kind, ())
    known = kind in _SIGNLESS or kind in _ORDERED
    return x.dtype is types.UINT64 and types.UINT64 not in allowed and types.INT64 in allowed and known


def as_int64(tfl: Lowering, kind: str, x: Value) -> Value:
    """Return uint64 as the int64 that an op is computed on."""
    if x.data is not None:
        bits = np.asarray(x.data, order="C").view(np.int64)
        return constant(bits ^ _LEAST if kind in _ORDERED else bits)
    return _turned(tfl, kind, tfl.bitcast(x, results=[(types.INT64, x.shape)]))


def as_uint64(tfl: Lowering, kind: str, y: Value) -> Value:
    """Return the uint64 that an op's int64 stands for."""
    return tfl.bitcast(_turned(tfl, kind, y), results=[(types.UINT64, y.shape)])


def _turned(tfl: Lowering, kind: str, x: Value) -> Value:
    return tfl.add(x, tfl.const(np.array(_LEAST))) if kind in _ORDERED else x
