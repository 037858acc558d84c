"""Resolve reducers of XLA's windows to names: XlaReduceWindow(computation=f) -> XlaReduceWindow(computation="Add")."""

from __future__ import annotations

from fuseconv.ir.graph import FuncRef, Graph, Module
from fuseconv.ir.rewriter import ops_of_kinds
from fuseconv.ir.terms import look_through
from fuseconv.pass_manager import module_pass
from fuseconv.tf.traits import FORWARDS

# The reduction that a function of two scalars is, if this op is all that it computes.
_REDUCERS = {"tf.AddV2": "Add", "tf.Add": "Add", "tf.Maximum": "Max", "tf.Minimum": "Min"}


@module_pass("resolve-xla-reducers", kinds=("tf.XlaReduceWindow",))
def resolve_xla_reducers(module: Module) -> bool:
    """Name the functions that reduce windows: XlaReduceWindow(computation=f) -> XlaReduceWindow(computation="Add")."""
    changed = False
    for graph in module.graphs():
        for op in ops_of_kinds(graph, ("tf.XlaReduceWindow",)):
            function = op.attrs.get("computation")
            if isinstance(function, FuncRef) and function.name in module.functions:
                name = _reducer(module.functions[function.name])
                if name is not None:
                    op.attrs["computation"] = name
                    changed = True
    return changed  # an attribute is no edit that the pass manager counts


def _reducer(graph: Graph) -> str | None:
    ops = [op for op in graph.ops if op.kind not in FORWARDS]
    if len(ops) != 1 or len(graph.inputs) != 2:
        return None
    (op,) = ops
    both = all(any(value is operand for operand in op.operands) for value in graph.inputs)
    return _REDUCERS.get(op.kind) if both and look_through(graph.outputs[0], FORWARDS).op is op else None
