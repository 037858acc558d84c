"""Ranges that follow from those of operands, of ops that join tensors, or whose results grow with their operand or fall
with it: they need not be measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Op, Value
from fuseconv.quantize.affine import Range
from fuseconv.tfl.traits import LAYOUT_CHANGES, activation_of

# Each number of their operands is one of their results.
_JOINS = frozenset({*LAYOUT_CHANGES, "CONCATENATION", "DEPTH_TO_SPACE", "PACK", "REVERSE_V2", "SPACE_TO_DEPTH"})
# With one number.
_ARITHMETIC: dict[str, Callable[..., np.ndarray]] = {"ADD": np.add, "MUL": np.multiply, "SUB": np.subtract}


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > 0 else math.exp(x) / (1 + math.exp(x))


# Their kernels of integers have one scale, so that the last bit of what is computed here matters nowhere. Those of
# floats may make a number of NaN.
FUNCTIONS: dict[str, Callable[[float], float]] = {"LOGISTIC": _logistic, "TANH": math.tanh}


def origins(op: Op) -> list[Value]:
    """Return the operands whose ranges tell that of the result; none if it has to be measured."""
    operands = [value for value in op.operands if value is not None and value.dtype is types.FLOAT32]
    if activation_of(op) != "NONE":
        return []
    if op.type in _ARITHMETIC and any(map(_is_number, operands)):
        return [value for value in operands if not value.is_const]
    return operands if op.type in _JOINS or op.type in FUNCTIONS else []


def _is_number(value: Value) -> bool:
    """Return whether a constant is one number with which no infinite one makes NaN."""
    data = value.data
    return data is not None and data.size == 1 and bool(np.isfinite(data).all() and data.any())


def derived_range(op: Op | None, ranges: Mapping[Value, Range]) -> Range | None:
    """Return the range of the result of an op that has `origins`; None if these are empty, and have none."""
    assert op is not None
    found = [ranges[value] for value in origins(op) if value in ranges]
    if not found:
        return None
    least, largest = min(each.least for each in found), max(each.largest for each in found)
    if op.type in _JOINS:
        return Range(least, largest)
    ends = [_made(op, end) for end in (least, largest)]
    return Range(min(ends), max(ends))


def _made(op: Op, number: float) -> float:
    """Return what an op makes of a number."""
    if op.type in FUNCTIONS:
        return float(np.float32(FUNCTIONS[op.type](number)))
    arrays = [value.data for value in op.operands if value is not None]
    numbers = [np.float32(number) if array is None else array.ravel()[0] for array in arrays]
    with np.errstate(over="ignore"):
        return float(_ARITHMETIC[op.type](*numbers))
