"""Type promotion: operands of a type that a kernel lacks are cast to one that holds all its values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.ir.types import DType
from fuseconv.lower.rules import Lowering, Unsupported

HALVES = (types.FLOAT16, types.BFLOAT16)

# For each type, those that hold all its values, the smallest first.
_WIDER = {
    types.BOOL: (types.UINT8, types.INT8, types.INT32, types.FLOAT32),
    types.INT8: (types.INT16, types.INT32, types.FLOAT32),
    types.UINT8: (types.INT16, types.INT32, types.FLOAT32),
    types.INT16: (types.INT32, types.FLOAT32),
    types.UINT16: (types.INT32, types.FLOAT32),
    types.UINT32: (types.INT64,),
    types.INT32: (types.INT64,),
    types.FLOAT16: (types.FLOAT32,),
    types.BFLOAT16: (types.FLOAT32,),
}


def cast(tfl: Lowering, x: Value, dtype: DType) -> Value:
    """Cast x to `dtype`; x itself if it is of that type."""
    if x.dtype is dtype:
        return x
    return tfl.cast(x, out_data_type=dtype.name.upper())


def promote(tfl: Lowering, x: Value, allowed: Collection[DType]) -> Value:
    """Cast x to the first type of `allowed` that holds its values exactly. Refuses the op if there is none."""
    for carrier in (x.dtype, *_WIDER.get(x.dtype, ())):
        if carrier in allowed:
            return cast(tfl, x, carrier)
    raise Unsupported(f"TFLite has no kernel for it on {x.dtype}, nor on a type that holds the same values")


def complex_from_parts(tfl: Lowering, real: Value, imaginary: Value) -> Value:
    """Return complex64 of real and imaginary parts: BITCAST of the packed pairs, since no kernel joins them."""
    if real.dtype is not types.FLOAT32:
        raise Unsupported(f"TFLite has no arithmetic of complex numbers of {real.dtype}")
    pairs = tfl.pack(real, imaginary, axis=len(real.shape or ()))
    return tfl.bitcast(pairs, results=[(types.COMPLEX64, real.shape)])


def conjugate(tfl: Lowering, x: Value) -> Value:
    """Return the conjugates of complex64 numbers."""
    return complex_from_parts(tfl, tfl.real(x), tfl.neg(tfl.imag(x)))


def build_on_complex_parts(tfl: Lowering, build: Callable[..., Any], *data: Value) -> Any:
    """Build `build(*data)`, an op that is linear, on the real and on the imaginary parts of complex operands."""
    real, imaginary = build(*map(tfl.real, data)), build(*map(tfl.imag, data))
    if isinstance(real, list):
        return [complex_from_parts(tfl, re, im) for re, im in zip(real, imaginary)]
    return complex_from_parts(tfl, real, imaginary)


def in_float32(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a rule whose kernels compute in float32 only: half-precision operands are cast to float32, results to
    the types of the op's results. Refuses the op if it computes in another type."""

    @functools.wraps(rule)
    def wrapped(tfl: Lowering, *operands: Value | None, **attrs: Any) -> Any:
        _require_float(tfl.dtype)
        made = rule(tfl, *[x and _float32(tfl, x) for x in operands], **attrs)
        results = list(made) if isinstance(made, (list, tuple)) else [made]
        return [r and cast(tfl, r, old.dtype) for r, old in zip(results, tfl.source.results)]

    return wrapped


def _float32(tfl: Lowering, x: Value) -> Value:
    if x.dtype is types.FLOAT32 or x.dtype.is_integer or x.dtype is types.BOOL:
        return x
    _require_float(x.dtype)
    return cast(tfl, x, types.FLOAT32)


def _require_float(dtype: DType) -> None:
    if dtype is not types.FLOAT32 and dtype not in HALVES:
        raise Unsupported(f"TFLite computes it in float32, not in {dtype}")
