"""The same bits as another type: uint64 and uint32, for which TFLite has hardly a kernel, are computed as int64, int32.

Sums, products and shifts to the left have the same bits in both; what is told apart by the sign is not computed so."""

from __future__ import annotations

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.ir.types import DType
from fuseconv.load.stablehlo.scope import Scope

_SIGNED = {types.UINT32: types.INT32, types.UINT64: types.INT64}


def as_bits(tf: Scope, x: Value, dtype: DType) -> Value:
    """Return the bits of x as a type of the same size: Bitcast(x), or what x is the Bitcast of."""
    if x.dtype is dtype:
        return x
    if x.data is not None:
        return tf.const(np.asarray(x.data, order="C").view(dtype.numpy), dtype)
    source = x.op.operands[0] if x.op is not None and x.op.kind == "tf.Bitcast" else None
    return source if source is not None and source.dtype is dtype else tf.Bitcast(x, dtype=dtype)


def narrowed(tf: Scope, x: Value) -> Value:
    """Return uint64 and uint32 as the signed numbers of the same bits; another type as it is."""
    return as_bits(tf, x, _SIGNED.get(x.dtype, x.dtype))


def narrowed_together(tf: Scope, *values: Value) -> list[Value]:
    """Return values `narrowed` if kernels do not take them, or if some are bits of signed numbers already."""
    sources = [x.op.operands[0] for x in values if x.op is not None and x.op.kind == "tf.Bitcast"]
    needed = values[0].dtype is types.UINT64 or any(x is not None and x.dtype is types.INT32 for x in sources)
    return [narrowed(tf, x) for x in values] if needed else list(values)
