"""Constant folding of TF ops with TensorFlow itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from fuseconv.ir.graph import FuncRef, Op, Value
from fuseconv.ir.types import DType
from fuseconv.tf.folders.pure_ops import PURE_OPS
from fuseconv.tf.folders.registry import TABLE
from fuseconv.tf.shape_functions import contradiction


def evaluate_with_tensorflow(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """Evaluate a TF op on these operands with TensorFlow's own CPU kernel. Imports TensorFlow.

    None for an op that may do more than compute (it is none of `PURE_OPS`, and has no numpy kernel), that calls
    functions, or that makes or takes handles. None as well if TensorFlow does not know the op, its operands contradict
    each other, or TensorFlow refuses to run it on them. The caller has seen to it that the results are of a size that
    the memory has room for.
    """
    if op.dialect != "tf" or (op.type not in PURE_OPS and op.type not in TABLE):
        return None
    import tensorflow as tf
    from tensorflow.python.eager import context, execute
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(op.type)
    if definition is None or definition.is_stateful or any(isinstance(a, FuncRef) for a in op.attrs.values()):
        return None
    values = [*op.results, *(operand for operand in op.operands if operand is not None)]
    if any(value.dtype.is_handle or value.dtype.name.startswith("q") for value in values):
        return None
    attrs = _attributes(definition, op)
    # Where operands do not fit together, some kernels end the process.
    if attrs is None or contradiction(op):
        return None
    try:
        with tf.device("CPU"):
            operands = [tf.constant(array) for array in arrays]
            made = execute.quick_execute(op.type, len(op.results), operands, tuple(attrs), context.context())
            # A tensor may have more dimensions than an array.
            results = [_array(tensor.numpy()) for tensor in made]
    except (tf.errors.OpError, NotImplementedError):
        return None
    if any(array.dtype != result.dtype.numpy for array, result in zip(results, op.results)):
        return None
    return results


def _attributes(definition: Any, op: Op) -> list[Any] | None:
    """Return all attributes, names and values in turn: the op's own, and the types and counts of its operands and
    results."""
    operands = [operand for operand in op.operands if operand is not None]
    attrs: dict[str, Any] = {}
    for args, values in ((definition.input_arg, operands), (definition.output_arg, op.results)):
        shared = _shared(args, values)
        if shared is None:
            return None
        for arg, own in shared:
            if arg.number_attr:
                attrs[arg.number_attr] = len(own)
            if arg.type_list_attr:
                attrs[arg.type_list_attr] = [value.dtype.tf for value in own]
            elif arg.type_attr and own:
                attrs[arg.type_attr] = own[0].dtype.tf
    known = {attr.name for attr in definition.attr}
    attrs |= {name: _attribute(value) for name, value in op.attrs.items() if name in known and name not in attrs}
    return [part for pair in attrs.items() for part in pair]


def _shared(args: Sequence[Any], values: Sequence[Value]) -> list[tuple[Any, list[Value]]] | None:
    """Return each argument of a definition with its values; lists (as DynamicStitch has two) are taken to be of one
    length."""
    lists = sum(1 for arg in args if arg.number_attr or arg.type_list_attr)
    spare = len(values) - (len(args) - lists)
    if spare < 0 or (spare % lists if lists else spare):
        return None
    rest: Iterator[Value] = iter(values)
    counts = [spare // lists if arg.number_attr or arg.type_list_attr else 1 for arg in args]
    return [(arg, [next(rest) for _ in range(count)]) for arg, count in zip(args, counts)]


def _attribute(value: Any) -> Any:
    if isinstance(value, DType):
        return value.tf
    if isinstance(value, str):
        return value.encode()
    return [_attribute(item) for item in value] if isinstance(value, (list, tuple)) else value


def _array(made: Any) -> np.ndarray:
    """Return a tensor's array; a scalar string, which TensorFlow gives as bare bytes, as an object array too."""
    return np.array(made, object) if isinstance(made, bytes) else np.asarray(made)
