"""Values of the results of TF ops whose operands are constants, computed with TensorFlow itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fuseconv.ir.graph import FuncRef, Op, Value
from fuseconv.ir.types import DType


def evaluate_with_tensorflow(op: Op, arrays: Sequence[np.ndarray]) -> list[np.ndarray] | None:
    """The results of a TF op on these operands, from TensorFlow's own CPU kernel. Imports TensorFlow.

    None for an op that is stateful (random numbers, variables, tables), that calls functions, that makes or takes
    handles, that TensorFlow does not know, or that it refuses to run on these operands.
    """
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(op.type) if op.dialect == "tf" else None
    run = getattr(tf.raw_ops, op.type, None)
    if definition is None or run is None or definition.is_stateful:
        return None
    values = [*op.results, *(v for v in op.operands if v is not None)]
    if any(v.dtype.is_handle or v.dtype.name.startswith("q") for v in values):
        return None
    arguments = _arguments(definition, op, arrays)
    if arguments is None:
        return None
    try:
        with tf.device("CPU"):
            made = run(**arguments)
    except tf.errors.OpError:
        return None
    tensors = tf.nest.flatten(made)
    results = [_array(tensor.numpy(), result) for tensor, result in zip(tensors, op.results)]
    if len(tensors) != len(op.results) or any(a.dtype != r.dtype.numpy for a, r in zip(results, op.results)):
        return None
    return results


def _arguments(definition: Any, op: Op, arrays: Sequence[np.ndarray]) -> dict[str, Any] | None:
    """The arguments of the op's function in `tf.raw_ops`. None if the operands do not fit its signature."""
    arguments: dict[str, Any] = {}
    rest = list(arrays)
    listed = [arg for arg in definition.input_arg if arg.number_attr or arg.type_list_attr]
    told = {name for arg in definition.input_arg for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
    spare = len(rest) - (len(definition.input_arg) - len(listed))
    if spare < 0 or (spare and not listed) or (listed and spare % len(listed)):
        return None
    for arg in definition.input_arg:
        if arg in listed:
            # Several lists (as DynamicStitch has) are of one length.
            count = spare // len(listed)
            arguments[arg.name], rest = rest[:count], rest[count:]
        else:
            arguments[arg.name] = rest.pop(0)
    structural = _result_attrs(definition, op.results)
    if structural is None:
        return None
    arguments |= {name: value for name, value in structural.items() if name not in told}
    known = {attr.name for attr in definition.attr}
    for name, value in op.attrs.items():
        if name in known and name not in told and name not in structural:
            if isinstance(value, FuncRef):
                return None
            arguments[name] = _attribute(value)
    return arguments


def _result_attrs(definition: Any, results: Sequence[Value]) -> dict[str, Any] | None:
    """The attributes that state the types and the number of results. None if they cannot be told apart."""
    attrs: dict[str, Any] = {}
    several = [arg for arg in definition.output_arg if arg.number_attr or arg.type_list_attr]
    if len(several) > 1:
        return None
    spare = len(results) - (len(definition.output_arg) - len(several))
    index = 0
    for arg in definition.output_arg:
        count = spare if arg in several else 1
        if index + count > len(results):
            return None
        own = results[index : index + count]
        index += count
        if arg.number_attr:
            attrs[arg.number_attr] = count
        if arg.type_list_attr:
            attrs[arg.type_list_attr] = [value.dtype.tf for value in own]
        elif arg.type_attr and own:
            attrs[arg.type_attr] = own[0].dtype.tf
    return attrs


def _attribute(value: Any) -> Any:
    if isinstance(value, DType):
        return value.tf
    if isinstance(value, (list, tuple)):
        return [_attribute(item) for item in value]
    return value


def _array(made: Any, result: Value) -> np.ndarray:
    """A tensor's array; strings as an object array, which TensorFlow gives as bare bytes where it is a scalar."""
    return np.array(made, object) if isinstance(made, bytes) else np.asarray(made)
