"""Comparison, logic and selection."""

from __future__ import annotations

from fuseconv.ir import types
from fuseconv.lower.rules import lowers, require
from fuseconv.lower.support.legalize_operands import build_legalized, elementwise, scalar, select

# TF ops, and the TFLite ops that compute the same.
_KERNELS = {
    "Greater": "GREATER", "GreaterEqual": "GREATER_EQUAL", "Less": "LESS", "LessEqual": "LESS_EQUAL",
    "LogicalAnd": "LOGICAL_AND", "LogicalNot": "LOGICAL_NOT", "LogicalOr": "LOGICAL_OR",
}  # fmt: skip


@lowers(*_KERNELS)
def OneKernel(tfl, *operands):
    """The op of the same name."""
    return elementwise(tfl, _KERNELS[tfl.source.type], *operands)


@lowers
def Equal(tfl, x, y, *, incompatible_shape_error=True):
    """EQUAL."""
    return _compared(tfl, "EQUAL", x, y, incompatible_shape_error)


@lowers
def NotEqual(tfl, x, y, *, incompatible_shape_error=True):
    """NOT_EQUAL."""
    return _compared(tfl, "NOT_EQUAL", x, y, incompatible_shape_error)


@lowers
def ApproximateEqual(tfl, x, y, *, tolerance=1e-5):
    """LESS of the absolute difference and the tolerance."""
    difference = elementwise(tfl, "ABS", elementwise(tfl, "SUB", x, y))
    return elementwise(tfl, "LESS", difference, tolerance)


@lowers
def Select(tfl, condition, t, e):
    """SELECT. The condition has the branches' shape, or their first dimension, or is a scalar."""
    return build_legalized(tfl, "SELECT", lambda x, y: tfl.select(condition, x, y), t, e)


@lowers
def SelectV2(tfl, condition, t, e):
    """SELECT_V2."""
    return select(tfl, condition, t, e)


@lowers
def Where(tfl, condition):
    """WHERE; of numbers that it lacks, where they are not 0."""
    require(condition.rank != 0, "WHERE takes no scalar")
    if condition.dtype is not types.BOOL:
        condition = _compared(tfl, "NOT_EQUAL", condition, scalar(0, condition.dtype), True)
    return tfl.where(condition)


def _compared(tfl, kind, x, y, incompatible_shape_error):
    # TensorFlow 1 compares tensors of shapes that do not broadcast to one truth value. Where that shows only when the
    # model runs, the kernel fails.
    known = x.shape is not None and y.shape is not None
    require(incompatible_shape_error or (known and _broadcast(x.shape, y.shape)), "shapes that do not broadcast")
    if x.dtype is types.COMPLEX64:
        real, imaginary = (elementwise(tfl, kind, part(x), part(y)) for part in (tfl.real, tfl.imag))
        return elementwise(tfl, "LOGICAL_AND" if kind == "EQUAL" else "LOGICAL_OR", real, imaginary)
    return elementwise(tfl, kind, x, y)


def _broadcast(a, b):
    pairs = zip(reversed(a), reversed(b))
    return all(m == n or 1 in (m, n) or not (isinstance(m, int) and isinstance(n, int)) for m, n in pairs)
