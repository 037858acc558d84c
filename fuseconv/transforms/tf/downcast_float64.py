"""Downcast float64 -> float32, and complex128 -> complex64, in the whole model."""

from __future__ import annotations

from typing import Any

import numpy as np

from fuseconv.errors import UnsupportedError
from fuseconv.ir import types
from fuseconv.ir.graph import Graph, Module, Value
from fuseconv.ir.types import DType
from fuseconv.pass_manager import module_pass
from fuseconv.report.records import Report

_NARROW = {types.FLOAT64: types.FLOAT32, types.COMPLEX128: types.COMPLEX64}


@module_pass("downcast-float64")
def downcast_float64(module: Module, report: Report) -> bool:
    """Compute in float32 what the model computes in float64: x: float64 -> x: float32, complex128 -> complex64.

    This takes inputs, outputs, constants, variables, tables and the type attributes of ops. The report warns of it, and
    of constants that become infinite. Returns whether there was any.

    Raises UnsupportedError for ops that look at the bits of a float64."""
    pass_ = _Downcast()
    for graph in module.graphs():
        pass_.graph(graph)
    for variable in module.variables.values():
        variable.dtype, variable.data = _NARROW.get(variable.dtype, variable.dtype), pass_.array(variable.data)
    for table in module.tables.values():
        table.key_dtype = _NARROW.get(table.key_dtype, table.key_dtype)
        table.value_dtype = _NARROW.get(table.value_dtype, table.value_dtype)
        table.keys, table.values = pass_.array(table.keys), pass_.array(table.values)
    if pass_.bits:
        why = "it looks at the bits of a float64, which --downcast-float64 does away with"
        raise UnsupportedError("some operations need float64", [("Bitcast", pass_.bits, why)])
    if pass_.values:
        report.warnings.append(f"{pass_.values} tensors of float64 are computed in float32, as --downcast-float64 asks")
    if pass_.overflows:
        report.warnings.append(f"{pass_.overflows} constants of float64 are infinite in float32")
    return bool(pass_.values)


class _Downcast:
    """What was narrowed so far: how many values, how many constants overflowed, and the ops that look at bits."""

    def __init__(self) -> None:
        self.values = 0
        self.overflows = 0
        self.bits: list[str] = []
        self.seen: set[int] = set()

    def graph(self, graph: Graph) -> None:
        for value in graph.inputs:
            self.value(value)
        for op in graph.ops:
            operands = [operand for operand in op.operands if operand is not None]
            for value in (*operands, *op.results):
                self.value(value)
            if op.type == "Bitcast" and any(id(value) in self.seen for value in (*operands, *op.results)):
                self.bits.append(op.name)
            op.attrs = {name: self.attribute(value) for name, value in op.attrs.items()}
        for value in graph.outputs:
            self.value(value)

    def value(self, value: Value) -> None:
        if value.dtype not in _NARROW or id(value) in self.seen:
            return
        self.seen.add(id(value))
        self.values += 1
        value.dtype = _NARROW[value.dtype]
        value.data = self.array(value.data)

    def array(self, array: np.ndarray | None) -> np.ndarray | None:
        if array is None or array.dtype.kind == "O" or types.of_array(array) not in _NARROW:
            return array
        with np.errstate(over="ignore"):
            narrow = array.astype(_NARROW[types.of_array(array)].numpy)
        self.overflows += int((np.isfinite(array) & ~np.isfinite(narrow)).any())
        return narrow

    def attribute(self, value: Any) -> Any:
        if isinstance(value, DType):
            return _NARROW.get(value, value)
        if isinstance(value, np.ndarray):
            return self.array(value)
        return [self.attribute(item) for item in value] if isinstance(value, list) else value
