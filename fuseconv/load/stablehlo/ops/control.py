"""Calls of functions, and of composites: functions that say what they implement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.ir import budget, types
from fuseconv.ir.graph import FuncRef, Value, copy_graph
from fuseconv.load.stablehlo.bytecode import Operation, Region
from fuseconv.load.stablehlo.cursor import DamagedError
from fuseconv.load.stablehlo.ops.registry import TABLE, imports, takes
from fuseconv.load.stablehlo.ops.sorting import hold_top
from fuseconv.load.stablehlo.scope import Scope, refuse_unless, tensor_type, text

# Functions that JAX names "chlo.<name>", beside what they are made of.
_FUNCTIONS = {
    "acos": "Acos", "acosh": "Acosh", "asin": "Asin", "asinh": "Asinh", "atan": "Atan", "atanh": "Atanh",
    "cosh": "Cosh", "digamma": "Digamma", "erf": "Erf", "erf_inv": "Erfinv", "erfc": "Erfc", "lgamma": "Lgamma",
    "sinh": "Sinh", "square": "Square", "tan": "Tan",
}  # fmt: skip
_CHLO = "chlo."
# Ops of a `map`'s body: what they make of scalars, they make of each element of tensors.
_BY_ELEMENT = frozenset({
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "constant", "convert", "cosine", "divide",
    "exponential", "exponential_minus_one", "floor", "is_finite", "log", "log_plus_one", "logistic", "maximum",
    "minimum", "multiply", "negate", "not", "or", "power", "remainder", "round_nearest_even", "rsqrt", "select", "sign",
    "sine", "sqrt", "subtract", "tan", "tanh", "xor",
})  # fmt: skip
# What says which function is called.
_CALLEES = {"call": "callee", "composite": "decomposition"}
# Functions that call each other deeper than this are not taken for what is computed of elements.
_MOST_CALLS = 8


@imports
def call(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """call @f(x) -> PartitionedCall(x), or the body of a function that stands for the program itself: a call that the
    program has no name for."""
    name = text(op.attribute("callee"))
    expanded = None if op.place else tf.functions.expand(tf, name, operands)
    return tf.call(tf.functions.graph(name), operands) if expanded is None else expanded


@imports("map")
def mapped(tf: Scope, op: Operation, *operands: Value) -> list[Value]:
    """map(x, y) body -> the ops of the body, of whole tensors in place of each element."""
    (body,) = op.regions
    return by_element(tf, body, operands)


def by_element(tf: Scope, body: Region, operands: Sequence[Value], depth: int = 0) -> list[Value]:
    """Return what a function of scalars makes of each element of tensors."""
    if len(body.arguments) != len(operands):
        raise DamagedError("a map has a body for another number of elements")
    tf.values.update(zip(body.arguments, operands))
    for inner in body.ops[:-1]:
        budget.spend_results(1, tf.op.name)
        values = [tf.value(var) for var in inner.operands]
        if inner.name in _CALLEES:
            callee = tf.functions.module.functions.get(text(inner.attribute(_CALLEES[inner.name])))
            refuse_unless(callee is not None and depth < _MOST_CALLS, "it maps a function that is not there, or deep")
            made = by_element(tf, callee.regions[0], values, depth + 1)  # type: ignore[union-attr]
        else:
            made = [_of_elements(tf, inner, values)]
        if [value.dtype for value in made] != [tensor_type(var).dtype for var in inner.results]:
            raise DamagedError(f"{inner.name} makes another type than it says")
        tf.values.update(zip(inner.results, made))
    return [tf.value(var) for var in body.returned]


def _of_elements(tf: Scope, op: Operation, values: list[Value]) -> Value:
    refuse_unless(op.name in _BY_ELEMENT, f"it does {op.name} to elements")
    importer = TABLE[op.name]
    if not takes(importer, len(values)):
        raise DamagedError(f"{op.name} has {len(values)} operands")
    made = importer(tf, op, *values)
    if not isinstance(made, Value):
        raise DamagedError(f"{op.name} makes several results")
    return made


@imports
def composite(tf: Scope, op: Operation, *operands: Value) -> Sequence[Value]:
    """composite "f" @body(x) -> a call of @body, annotated as f; the op itself of what JAX names."""
    name, attrs = op.attribute("name"), op.attribute("composite_attributes")
    refuse_unless(isinstance(name, str) and isinstance(attrs, dict), "it has no name")
    known = _FUNCTIONS.get(name.removeprefix(_CHLO)) if name.startswith(_CHLO) else None
    if known is not None and len(operands) == 1 and operands[0].dtype is types.FLOAT32:
        return [tf.add(known, operands, {}, operands[0].dtype)]
    if name == f"{_CHLO}top_k" and attrs.get("largest", True) and isinstance(attrs.get("k"), int):
        hold_top(op, attrs["k"])
        values, indices = operands[0], Value(types.INT32, None)
        return tf.many("TopKV2", [values, tf.const(attrs["k"])], {}, [values, indices])
    body = tf.functions.graph(text(op.attribute("decomposition")))
    plain = {key: _plain(value) for key, value in attrs.items()}
    if None in plain.values():
        return tf.call(body, operands)  # a fusion could not know what the composite says
    said = FuncRef(name, plain)
    if body.attrs.setdefault("_implements", said) != said:
        body = copy_graph(body)
        body.name, body.attrs = tf.functions.unique(body.name), {**body.attrs, "_implements": said}
        tf.functions.add(body)
    return tf.call(body, operands)


def _plain(value: Any) -> Any:
    """Return an attribute as the annotations of functions have it: a number, a text or a list of them; None if it is
    something else."""
    if isinstance(value, np.ndarray) and value.ndim <= 1 and value.dtype.kind in "fiub":
        return value.tolist()
    if isinstance(value, list):
        return value if all(isinstance(each, bool | int | float | str) for each in value) else None
    return value if isinstance(value, bool | int | float | str) else None
