"""Calls of functions outside of StableHLO that are known by name, as JAX writes them for the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fuseconv.ir import types
from fuseconv.ir.graph import Value
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops import lapack
from fuseconv.load.stablehlo.ops.random import dynamic_bits
from fuseconv.load.stablehlo.ops.reductions import counts
from fuseconv.load.stablehlo.ops.registry import imports, takes
from fuseconv.load.stablehlo.ops.sorting import hold_top
from fuseconv.load.stablehlo.ops.windows import dynamic_windows
from fuseconv.load.stablehlo.scalar_function import sort_keys
from fuseconv.load.stablehlo.scope import RefusedError, Scope, ints, refuse_unless, tensor_type, text

# Calls that hand their operand on: where XLA places it says nothing of its value, nor does a mark by which litert-torch
# tells where a composite begins or ends.
_FORWARDED = frozenset(
    {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "mark_tensor"}
)
_NO_RESULT = frozenset({"shape_assertion"})
# Functions of one tensor, by the names of older writers.
_FUNCTIONS = {
    "mhlo.acos": "Acos", "mhlo.acosh": "Acosh", "mhlo.asin": "Asin", "mhlo.asinh": "Asinh", "mhlo.atan": "Atan",
    "mhlo.atanh": "Atanh", "mhlo.cosh": "Cosh", "mhlo.erf": "Erf", "mhlo.sinh": "Sinh", "mhlo.tan": "Tan",
}  # fmt: skip
# Calls whose first result is of the type of this operand.
OF_OPERAND = {**dict.fromkeys((*_FORWARDED, *_FUNCTIONS), 0), **lapack.OF_OPERAND}
_CONFIG = "mhlo.backend_config"
_SHAPE_OPERANDS = "indices_of_shape_operands"
_DYNAMIC_WINDOWS = "stablehlo.dynamic_reduce_window"
_DYNAMIC_BITS = "stablehlo.dynamic_rng_bit_generator"


@imports
def custom_call(tf: Scope, op: Operation, *operands: Value) -> Sequence[Value]:
    """Build what a call computes; assertions of shapes, which have no result, go."""
    target = text(op.attribute("call_target_name"))
    if target in _NO_RESULT and not op.results:
        return []
    if target in _FORWARDED and len(operands) == 1:
        return [tf.Identity(operands[0])]
    if target in _FUNCTIONS and len(operands) == 1:
        return [tf.add(_FUNCTIONS[target], operands, {}, operands[0].dtype)]
    if target == _DYNAMIC_WINDOWS:
        return dynamic_windows(tf, op, _called(tf, op), *operands)
    if target == _DYNAMIC_BITS and len(operands) == len(op.results) == 2:
        return dynamic_bits(tf, op, *operands)
    known = _CONFIGURED.get(target)
    refuse_unless(known, f"it calls '{target}', a function of XLA's or of the program's own")
    config = op.attribute(_CONFIG) if op.has(_CONFIG) else None
    refuse_unless(isinstance(config, dict), f"the call of '{target}' does not say how it computes")
    data, shapes = _shapes_apart(op, operands)
    if not takes(known, len(data) + 2):  # type: ignore[arg-type]
        raise DamagedError(f"'{target}' is called with {len(data)} operands")
    return known(tf, op, config, shapes, *data)  # type: ignore[misc]


def _shapes_apart(op: Operation, operands: Sequence[Value]) -> tuple[Sequence[Value], Sequence[Value]]:
    """Return the operands that are data, and those that are the shapes of results of unknown sizes, which come last."""
    if not op.has(_SHAPE_OPERANDS):
        return operands, ()
    places = ints(op.attribute(_SHAPE_OPERANDS))
    first = len(operands) - len(places)
    if places != list(range(first, len(operands))):
        raise DamagedError(f"a call of {len(operands)} operands has the shapes of its results at {places}")
    return operands[:first], operands[first:]


def _called(tf: Scope, op: Operation) -> Region:
    """Return the function that a call runs."""
    names = op.attribute("called_computations")
    if not isinstance(names, list) or not names:
        raise DamagedError("a call names no function that it runs")
    return tf.functions.region(text(names[0]))


def _nearly_top(
    tf: Scope, op: Operation, config: dict[str, Any], shapes: Sequence[Value], x: Value, places: Value, *_: Value
) -> list[Value]:
    """ApproxTopK -> TopKV2, which is exact: of the largest if the comparator says so, else of the least."""
    body = _called(tf, op)
    axis, count, rank = config.get("reduction_dim"), config.get("top_k"), tensor_type(op.operands[0]).rank
    keys = sort_keys(body, 2)
    first = keys[0] if keys is not None and len(keys) == 1 else None
    if first is None or first.operand != 0 or first.total:
        raise RefusedError("it compares not only the numbers")
    plain = axis == rank - 1 and isinstance(count, int) and config.get("aggregate_to_topk") is True
    refuse_unless(plain, "what is approximate is not the top of each row")
    hold_top(op, count)  # type: ignore[arg-type]
    refuse_unless(counts(op.operands[1], rank - 1), "what it orders beside numbers are not their places")
    least = not first.descending
    like = [Value(x.dtype, None), Value(types.INT32, None)]
    values, indices = tf.many("TopKV2", [tf.Neg(x) if least else x, tf.const(count)], {}, like)
    return [tf.Neg(values) if least else values, indices]


_CONFIGURED: dict[str, Callable[..., list[Value]]] = {"ApproxTopK": _nearly_top, **lapack.FUNCTIONS}
