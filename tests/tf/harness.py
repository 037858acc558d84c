"""Runs one TF op on given operands, in TensorFlow and as an op of the IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from fuseconv.ir import types
from fuseconv.ir.dims import Dim, Sym, symbol
from fuseconv.ir.graph import Op, Value, constant

# Two sizes of the batch: a size or an element that differs between them is a linear expression in it.
BATCHES = (5, 3)
BATCH = symbol("B")
# What `tf.raw_ops` calls otherwise than the op's definition.
_REDUCTIONS = ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
_RENAMED = {
    "ExpandDims": {"dim": "axis"}, "Select": {"t": "x", "e": "y"}, "Split": {"split_dim": "axis"},
    "SplitV": {"split_dim": "axis"}, "Squeeze": {"squeeze_dims": "axis"}, "Where": {"input": "condition"},
    **{op: {"reduction_indices": "axis"} for op in _REDUCTIONS},
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """An op with operands for any batch size, as in the op's definition (a list where it takes a list).

    attrs: the attributes that TensorFlow needs, those that state types and counts too.
    fresh: the result's shape depends on the operands' data. declined: the kernel leaves the case to TensorFlow.
    name: tells the case from others of the op.
    """

    op: str
    operands: Callable[..., Sequence[Any]]
    attrs: dict[str, Any]
    fresh: bool = False
    declined: bool = False
    name: str = ""
    _results: dict[int, list[np.ndarray]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def stateful(self) -> bool:
        return op_def_registry.get(self.op).is_stateful

    def __str__(self) -> str:
        attrs = "-".join(f"{key}={value}" for key, value in self.attrs.items())
        return "-".join(part for part in (self.op, self.name, attrs.replace(" ", "")) if part)

    def arrays(self, batch: int) -> list[np.ndarray]:
        """The operands, flat."""
        return [np.asarray(array) for array in tf.nest.flatten(list(self.operands(batch)))]

    def run(self, batch: int) -> list[np.ndarray]:
        """The results in TensorFlow, which computes them once."""
        if batch not in self._results:
            self._results[batch] = self._run(batch)
        return self._results[batch]

    def _run(self, batch: int) -> list[np.ndarray]:
        definition = op_def_registry.get(self.op)
        operands = self.operands(batch)
        assert len(operands) == len(definition.input_arg)
        names = _RENAMED.get(self.op, {})
        named = {names.get(arg.name, arg.name): operand for arg, operand in zip(definition.input_arg, operands)}
        attrs = {names.get(key, key): value for key, value in self.attrs.items()}
        made = getattr(tf.raw_ops, self.op)(**named, **attrs)
        return [_array(tensor) for tensor in tf.nest.flatten(made)]

    def kinds(self) -> set[str]:
        """The kinds of numpy's types that the results have, by the op's definition: TensorFlow does not run it."""
        definition = op_def_registry.get(self.op)
        given = dict(zip((arg.name for arg in definition.input_arg), self.operands(BATCHES[0])))
        types_ = {attr.name: attr.default_value.type or attr.default_value.list.type for attr in definition.attr}
        for arg in definition.input_arg:
            operands = [np.asarray(operand).dtype for operand in tf.nest.flatten(given[arg.name])]
            types_ |= {arg.type_list_attr: operands, arg.type_attr: operands[0] if operands else None}
        types_ |= self.attrs
        outputs = [arg for arg in definition.output_arg if self.attrs.get(arg.number_attr, 1)]
        made = [arg.type or types_[arg.type_attr or arg.type_list_attr] for arg in outputs]
        return {np.dtype(tf.as_dtype(dtype).as_numpy_dtype).kind for dtype in tf.nest.flatten(made)}

    def op_of(self, operands: Sequence[Value], results: Sequence[np.ndarray]) -> Op:
        """The op in the IR, with results of the types of these arrays and without shapes."""
        definition = op_def_registry.get(self.op)
        args = (*definition.input_arg, *definition.output_arg)
        structural = {name for arg in args for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
        attrs = {name: value for name, value in self.attrs.items() if name not in structural}
        op = Op(f"tf.{self.op}", operands, attrs, name=self.op)
        for result in results:
            op.add_result(types.of_array(result), None)
        return op

    def static(self, batch: int) -> Op:
        """The op on constants."""
        return self.op_of([constant(array) for array in self.arrays(batch)], self.run(batch))

    def symbolic(self) -> Op:
        """The op on operands with symbolic sizes and contents, constants where both batch sizes agree."""
        first, second = (self.arrays(batch) for batch in BATCHES)
        return self.op_of([_symbolic(a, b) for a, b in zip(first, second)], self.run(BATCHES[0]))


def _symbolic(a: np.ndarray, b: np.ndarray) -> Value:
    integer = a.dtype.kind in "iub"
    if (integer or a.ndim == 0) and a.shape == b.shape and np.array_equal(a, b):
        return constant(a)
    value = Value(types.of_array(a), tuple(_linear(m, n) for m, n in zip(a.shape, b.shape)))
    if integer and a.shape == b.shape:
        content = np.empty(a.size, object)
        content[:] = [_linear(int(m), int(n)) for m, n in zip(a.flat, b.flat)]
        value.content = content.reshape(a.shape)
    return value


def _linear(first: int, second: int) -> Dim:
    """The expression in the batch that has these values at the two batch sizes."""
    slope, rest = divmod(first - second, BATCHES[0] - BATCHES[1])
    assert not rest
    return BATCH * slope + (first - slope * BATCHES[0])


def at_batch(dim: Dim, batch: int) -> Dim:
    """The dimension at a batch size."""
    return dim.substitute({"B": batch}) if isinstance(dim, Sym) else dim


def _array(tensor: Any) -> np.ndarray:
    made = tensor.numpy()
    return np.array(made, object) if isinstance(made, bytes) else np.asarray(made)
