"""Reductions -> Sum, Max, ..., by what their bodies compute."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation, Region, Var
from fuseconv.load.stablehlo.ops.folds import Windows, folded
from fuseconv.load.stablehlo.ops.registry import imports
from fuseconv.load.stablehlo.scalar_function import extreme_and_index
from fuseconv.load.stablehlo.scope import Scope, axes, ints, refuse_unless, tensor_type

_REDUCTIONS = {"add": "Sum", "multiply": "Prod", "maximum": "Max", "minimum": "Min", "and": "All", "or": "Any"}
_PAIRWISE = {
    "add": "AddV2", "multiply": "Mul", "maximum": "Maximum", "minimum": "Minimum", "and": "LogicalAnd",
    "or": "LogicalOr",
}  # fmt: skip

_OF_BITS = ("and", "or")


@imports
def reduce(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """reduce(x, init), add -> Sum(x), and AddV2 with init if that is not 0; of another body, the body of each element
    in turn."""
    count = len(operands) // 2
    dims = axes(op.attribute("dimensions"), tensor_type(op.operands[0]).rank)
    kinds = reducers(op.regions[0], count)
    if kinds and all(has_kernel(kind, x.dtype) for kind, x in zip(kinds, operands)):
        pairs = zip(kinds, operands[:count], operands[count:])
        return [_reduced(tf, kind, x, start, dims) for kind, x, start in pairs]
    if count == 2 and len(dims) == 1 and counts(op.operands[1], dims[0]):
        kind = extreme_and_index(op.regions[0])
        if kind:
            return _with_index(tf, op, kind, operands[0], dims[0])
    shape = tensor_type(op.operands[0]).shape
    known = all(shape[axis] is not None for axis in dims)
    refuse_unless(known, "what it reduces is of unknown size, and in a way that TFLite has no kernel for")
    windows = Windows.whole([size or 0 for size in shape], dims)
    made = folded(tf, op.regions[0], operands[:count], operands[count:], shape, windows)
    return [tf.Squeeze(value, squeeze_dims=dims) for value in made] if dims else made


def _with_index(tf: Scope, op: Operation, kind: str, x: Value, axis: int) -> list[Value]:
    """Return the largest or least of each row, and its index."""
    dtype = tensor_type(op.results[1]).dtype
    if x.dtype is types.BOOL:
        x = tf.Cast(x, dtype=types.INT32)
    index = tf.add(kind, [x, tf.const(axis)], {"output_type": types.INT32}, types.INT32)
    best = tf.add(kind.removeprefix("Arg"), [x, tf.const(axis)], {}, x.dtype)
    made = tensor_type(op.results[0]).dtype
    return [x if x.dtype is wanted else tf.Cast(x, dtype=wanted) for x, wanted in ((best, made), (index, dtype))]


def counts(var: Var, axis: int) -> bool:
    """Return whether a variable holds the places of elements along an axis."""
    op = var.op
    if op is None:
        return False
    if op.name in ("iota", "dynamic_iota"):
        return bool(op.attribute("iota_dimension") == axis)
    if op.name in ("broadcast_in_dim", "dynamic_broadcast_in_dim"):
        places = ints(op.attribute("broadcast_dimensions"))
        return axis in places and counts(op.operands[0], places.index(axis))
    return False


def _reduced(tf: Scope, kind: str, x: Value, start: Value, dims: list[int]) -> Value:
    kind = boolean_reducer(kind, x.dtype)
    made = tf.add(_REDUCTIONS[kind], [x, tf.ints(dims)], {}, x.dtype) if dims else x
    if start.is_const and is_identity(kind, start.data):
        return made
    return tf.add(_PAIRWISE[kind], [made, start], {}, x.dtype)


def has_kernel(kind: str, dtype: types.DType) -> bool:
    """Return whether TFLite joins many elements of a type by one op: neither the bits of integers nor factors that are
    complex."""
    if kind in _OF_BITS:
        return dtype is types.BOOL
    return kind != "multiply" or not dtype.is_complex


def boolean_reducer(kind: str, dtype: types.DType) -> str:
    """Return the reducer of booleans that one of numbers is: the sum is `or`, as of one bit."""
    if dtype is not types.BOOL:
        return kind
    return {"maximum": "or", "minimum": "and", "multiply": "and", "add": "or"}.get(kind, kind)


def reducers(region: Region, count: int) -> list[str]:
    """Return the op by which a body joins each pair of its arguments, one for each of `count` results; [] if it is
    another thing."""
    first, second = region.arguments[:count], region.arguments[count:]
    found = []
    for var, a, b in zip(region.returned, first, second):
        op = var.op
        if op is None or op.name not in _REDUCTIONS or {*op.operands} != {a, b}:
            return []
        found.append(op.name)
    return found if len(found) == count == len(second) else []


def is_identity(kind: str, start: Any) -> bool:
    """Return whether a number changes no other that it is joined with."""
    array = np.asarray(start)
    if array.size != 1:
        return False
    value = array.reshape(-1)[0]
    if kind in ("maximum", "minimum"):
        return bool(value == (lowest if kind == "maximum" else highest)(types.of_array(array)))
    return bool(value == {"add": 0, "multiply": 1, "and": True, "or": False}[kind])


def lowest(dtype: types.DType) -> float:
    """Return the identity of the maximum: minus infinity, or the least integer."""
    return -np.inf if dtype.is_float or dtype.is_complex else int(np.iinfo(dtype.numpy).min)


def highest(dtype: types.DType) -> float:
    """Return the identity of the minimum: infinity, or the largest integer."""
    return np.inf if dtype.is_float or dtype.is_complex else int(np.iinfo(dtype.numpy).max)
