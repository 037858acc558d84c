"""Casts, and ops that hand their operand on."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.ir.dims import Sym, is_static
from fuseconv.lower.rules import lowers, require
from fuseconv.lower.support.type_promotion import cast


@lowers(
    "Identity", "StopGradient", "PreventGradient", "Snapshot", "DeepCopy", "PlaceholderWithDefault",
    "GuaranteeConst", "DebugGradientIdentity", "XlaSharding",
)  # fmt: skip
def Identity(tfl, x, *, shape=None, sharding="", unspecified_dims=()):
    """The operand. Where XLA would place it does not matter."""
    return x


@lowers
def EnsureShape(tfl, x, *, shape=None):
    """The operand; RESHAPE where it tells the only unknown size, since that refuses another number of elements. No more
    of what it asserts is checked."""
    said = tfl.shape
    if x.shape is None or not is_static(said) or sum(isinstance(dim, Sym) for dim in x.shape) != 1:
        return x
    return tfl.reshape(x, list(said))


@lowers("CheckNumerics", "CheckNumericsV2")
def CheckNumerics(tfl, x):
    """The operand. That it is finite is not checked."""
    return x


@lowers
def IdentityN(tfl, *inputs):
    """The operands."""
    return list(inputs)


@lowers
def Cast(tfl, x, *, Truncate=False):
    """CAST. Floats that the integer type does not hold become what the runtime makes of them. uint64 is int64 of the
    same bits to and from other integers, which are its lowest bits."""
    require(not (Truncate and x.dtype.is_float and tfl.dtype.is_float), "CAST rounds, and cannot truncate a float")
    if x.dtype is tfl.dtype is types.UINT64:
        return x
    if x.dtype is types.UINT64 and tfl.dtype.is_integer:
        return cast(tfl, tfl.bitcast(x, results=[(types.INT64, x.shape)]), tfl.dtype)
    if tfl.dtype is types.UINT64 and (x.dtype.is_integer or x.dtype is types.BOOL):
        return tfl.bitcast(cast(tfl, x, types.INT64), results=[(types.UINT64, x.shape)])
    for dtype in (x.dtype, tfl.dtype):
        require(dtype is not types.UINT64 and dtype is not types.COMPLEX128, f"CAST has no kernel for {dtype}")
        require(dtype.tflite is not None and dtype is not types.STRING, f"CAST has no kernel for {dtype}")
    return cast(tfl, x, tfl.dtype)


@lowers
def Bitcast(tfl, x):
    """BITCAST."""
    return tfl.bitcast(x, results=[(tfl.dtype, tfl.shape)])
