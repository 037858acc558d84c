"""The same bits as another type: uint64, for which TFLite has hardly a kernel, is computed as int64.

Sums, products and shifts to the left have the same bits in both; what is told apart by the sign is not computed so."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.scope import Scope


def as_bits(tf: Scope, x: Value, dtype: DType) -> Value:
    """Return the bits of x as a type of the same size: Bitcast(x), or what x is the Bitcast of."""
    if x.dtype is dtype:
        return x
    if x.data is not None:
        return tf.const(np.ascontiguousarray(x.data).view(dtype.numpy), dtype)
    source = x.op.operands[0] if x.op is not None and x.op.kind == "tf.Bitcast" else None
    return source if source is not None and source.dtype is dtype else tf.Bitcast(x, dtype=dtype)


def narrowed(tf: Scope, x: Value) -> Value:
    """Return uint64 as the int64 of the same bits; another type as it is."""
    return as_bits(tf, x, types.INT64) if x.dtype is types.UINT64 else x
